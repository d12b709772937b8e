#include "stateless_check.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "caseless.h"
#include "mcp.h"
#include "utf8.h"

static int mismatch(struct error *err, const char *header, const char *value, const char *body) {
    if (!value)
        return error_set(err, MCP_HEADER_MISMATCH, "Header mismatch: %s is missing", header);
    return error_set(err, MCP_HEADER_MISMATCH, "Header mismatch: %s does not match the body (%.*s)",
                     header, (int)utf8_cut(body, 100), body);
}

static bool is_printable(const char *value) {
    for (; *value; value++)
        if ((*value < ' ' && *value != '\t') || *value > '~')
            return false;
    return true;
}

/* Whether a header value stands for this text: as it is, or in the form =?base64?…?=. */
static bool modern_value_matches(const char *header, const char *text) {
    static const char head[] = "=?base64?", tail[] = "?=";
    size_t length = strlen(header), around = sizeof head - 1 + sizeof tail - 1;
    struct buffer decoded = {0};
    bool same;
    if (!is_printable(header))
        return false;
    if (length < around || strncmp(header, head, sizeof head - 1) != 0 ||
        strcmp(header + length - (sizeof tail - 1), tail) != 0)
        return strcmp(header, text) == 0;
    same = base64_decode(&decoded, BASE64, header + sizeof head - 1, length - around) &&
           !decoded.failed && decoded.length == strlen(text) &&
           (decoded.length == 0 || memcmp(decoded.data, text, decoded.length) == 0);
    buffer_finish(&decoded);
    return same;
}

/* What Mcp-Name repeats, for the methods that have it. */
static const char *name_of(const struct rpc_message *message) {
    if (strcmp(message->method, "tools/call") == 0 || strcmp(message->method, "prompts/get") == 0)
        return rpc_text(message->params, "name");
    if (strcmp(message->method, "resources/read") == 0)
        return rpc_text(message->params, "uri");
    return NULL;
}

static int check_meta(const json_t *meta, struct error *err) {
    if (!json_is_object(meta))
        return error_set(err, RPC_INVALID_PARAMS, "params must have \"_meta\"");
    if (!rpc_text(meta, META_VERSION))
        return error_set(err, RPC_INVALID_PARAMS, "_meta must have \"" META_VERSION "\"");
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return error_set(err, RPC_INVALID_PARAMS, "_meta must have \"" META_CAPABILITIES "\"");
    return 0;
}

int modern_check(const struct http_request *http, const struct rpc_message *message,
                 const json_t *meta, struct error *err) {
    const char *said_version = http->headers[HTTP_PROTOCOL_VERSION];
    const char *said_method = http->headers[HTTP_MCP_METHOD];
    const char *said_name = http->headers[HTTP_MCP_NAME];
    const char *version = rpc_text(meta, META_VERSION), *name;
    int code = check_meta(meta, err);
    if (code != 0)
        return code;
    if (!said_version || strcmp(said_version, version) != 0)
        return mismatch(err, "MCP-Protocol-Version", said_version, version);
    if (strcmp(version, MCP_MODERN) != 0)
        return error_set(err, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version");
    if (!said_method || strcmp(said_method, message->method) != 0)
        return mismatch(err, "Mcp-Method", said_method, message->method);
    name = name_of(message);
    if (name && (!said_name || !modern_value_matches(said_name, name)))
        return mismatch(err, "Mcp-Name", said_name, name);
    return 0;
}

/* ---- x-mcp-header ---- */

enum { SCHEMA_DEPTH_MOST = 16 };

static const char *given_value(const struct http_request *http, const char *name) {
    for (size_t i = 0; i < http->parameter_count; i++)
        if (caseless_equal(http->parameters[i].name, name))
            return http->parameters[i].value;
    return NULL;
}

static bool is_same_number(const char *header, json_int_t number) {
    char *end;
    double value = strtod(header, &end);
    return end != header && *end == 0 && is_printable(header) && value == (double)number;
}

static bool value_is_repeated(const char *header, const json_t *value) {
    if (json_is_string(value))
        return strlen(json_string_value(value)) == json_string_length(value) &&
               modern_value_matches(header, json_string_value(value));
    if (json_is_integer(value))
        return is_same_number(header, json_integer_value(value));
    return json_is_boolean(value) && strcmp(header, json_is_true(value) ? "true" : "false") == 0;
}

static int check_one(const struct http_request *http, const char *name, const json_t *value,
                     struct error *err) {
    const char *header = given_value(http, name);
    char full[96];
    bool absent = !value || json_is_null(value);
    if (absent ? !header : header && value_is_repeated(header, value))
        return 0;
    snprintf(full, sizeof full, "Mcp-Param-%.*s", (int)utf8_cut(name, 60), name);
    return mismatch(err, full, header, "the argument of the tool");
}

/* Only what chains of "properties" lead to can have a header. */
static int check_level(const struct http_request *http, const json_t *schema,
                       const json_t *arguments, int depth, struct error *err) {
    const char *key;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), key, property) {
        const char *name = rpc_text(property, "x-mcp-header");
        const json_t *value = json_object_get(arguments, key);
        int code = name ? check_one(http, name, value, err) : 0;
        if (code == 0 && depth > 0)
            code = check_level(http, property, value, depth - 1, err);
        if (code != 0)
            return code;
    }
    return 0;
}

int modern_check_parameters(const struct http_request *http, const json_t *schema,
                            const json_t *arguments, struct error *err) {
    return check_level(http, schema, arguments, SCHEMA_DEPTH_MOST, err);
}
