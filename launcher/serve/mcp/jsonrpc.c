#include "jsonrpc.h"

#include <string.h>

static bool complain(struct rpc_message *message, int code, const char *complaint) {
    message->code = code;
    message->complaint = complaint;
    return false;
}

bool rpc_is_id(const json_t *id) {
    return json_is_integer(id) || json_is_real(id) ||
           (json_is_string(id) && json_string_length(id) <= RPC_ID_MOST);
}

static bool read_response(struct rpc_message *message) {
    message->kind = RPC_RESPONSE;
    message->result = json_object_get(message->root, "result");
    message->error = json_object_get(message->root, "error");
    if (!message->id || (message->result != NULL) == (message->error != NULL))
        return complain(message, RPC_INVALID_REQUEST, "neither a request nor a response");
    if (message->error && (!json_is_object(message->error) ||
                           !json_is_integer(json_object_get(message->error, "code"))))
        return complain(message, RPC_INVALID_REQUEST, "an error has a code and a message");
    return true;
}

static bool read_request(struct rpc_message *message) {
    message->kind = message->id ? RPC_REQUEST : RPC_NOTIFICATION;
    message->params = json_object_get(message->root, "params");
    message->method = rpc_text(message->root, "method");
    if (!message->method)
        return complain(message, RPC_INVALID_REQUEST, "the method must be text");
    if (message->params && !json_is_object(message->params))
        return complain(message, RPC_INVALID_PARAMS, "params must be an object");
    return true;
}

static bool read_object(struct rpc_message *message) {
    json_t *id = json_object_get(message->root, "id");
    const char *version = rpc_text(message->root, "jsonrpc");
    if (id && rpc_is_id(id))
        message->id = id;
    if (!version || strcmp(version, "2.0") != 0)
        return complain(message, RPC_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    if (id && !message->id)
        return complain(message, RPC_INVALID_REQUEST, "an id is a number or a short text");
    return json_object_get(message->root, "method") ? read_request(message)
                                                    : read_response(message);
}

/* Before anything is made of it: making takes memory, and goes as deep as the text does. */
static bool check_text(struct rpc_message *message, const char *text, size_t length,
                       size_t values_most) {
    struct scan scan;
    if (scan_message(&scan, text, length) < 0)
        return complain(message, RPC_PARSE_ERROR, "this is not valid JSON in UTF-8");
    if (scan.depth > RPC_DEPTH_MOST)
        return complain(message, RPC_PARSE_ERROR, "this JSON is nested too deeply");
    message->is_too_large = scan.values > values_most;
    if (message->is_too_large)
        return complain(message, RPC_INVALID_REQUEST, "this JSON has too many values");
    message->written = scan.spans[SCAN_PARAMS];
    return true;
}

bool rpc_parse(struct rpc_message *message, const char *text, size_t length, size_t values_most) {
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    *message = (struct rpc_message){.root = NULL};
    if (!check_text(message, text, length, values_most))
        return false;
    message->root = json_loadb(text, length, flags, NULL);
    if (!message->root)
        return complain(message, RPC_PARSE_ERROR, "this is not valid JSON in UTF-8");
    if (json_is_array(message->root))
        return complain(message, RPC_INVALID_REQUEST, "batches are not supported");
    if (!json_is_object(message->root))
        return complain(message, RPC_INVALID_REQUEST, "a message is an object");
    return read_object(message);
}

void rpc_finish(struct rpc_message *message) {
    json_decref(message->root);
    *message = (struct rpc_message){.root = NULL};
}

/* ---- writing ---- */

static int take(const char *text, size_t size, void *out) {
    buffer_add(out, text, size);
    return 0;
}

void rpc_add_json(struct buffer *out, const json_t *value) {
    if (json_dump_callback(value, take, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        out->failed = true;
}

void rpc_add_value(struct buffer *out, const json_t *value) {
    if (json_is_integer(value))
        buffer_add_number(out, json_integer_value(value));
    else if (value)
        rpc_add_json(out, value);
    else
        buffer_add_literal(out, "null");
}

static void add_head(struct buffer *out, const json_t *id) {
    buffer_add_literal(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    rpc_add_value(out, id);
}

void rpc_add_result_begin(struct buffer *out, const json_t *id) {
    add_head(out, id);
    buffer_add_literal(out, ",\"result\":");
}

void rpc_add_result(struct buffer *out, const json_t *id, json_t *result) {
    rpc_add_result_begin(out, id);
    rpc_add_json(out, result);
    buffer_add_char(out, '}');
    json_decref(result);
}

void rpc_add_error(struct buffer *out, const json_t *id, int code, const char *text,
                   const json_t *data) {
    add_head(out, id);
    buffer_format(out, ",\"error\":{\"code\":%d,\"message\":", code);
    buffer_add_json(out, text);
    if (data) {
        buffer_add_literal(out, ",\"data\":");
        rpc_add_json(out, data);
    }
    buffer_add_literal(out, "}}");
}

void rpc_add_request_begin(struct buffer *out, int64_t number, const char *method) {
    buffer_add_literal(out, "{\"jsonrpc\":\"2.0\",");
    if (number) {
        buffer_add_literal(out, "\"id\":");
        buffer_add_number(out, number);
        buffer_add_char(out, ',');
    }
    buffer_add_literal(out, "\"method\":\"");
    buffer_add_text(out, method);
    buffer_add_literal(out, "\",\"params\":");
}

void rpc_add_notification(struct buffer *out, const char *method, json_t *params) {
    buffer_format(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (params) {
        buffer_add_literal(out, ",\"params\":");
        rpc_add_json(out, params);
    }
    buffer_add_char(out, '}');
    json_decref(params);
}

const char *rpc_text(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}
