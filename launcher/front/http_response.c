#include "http_response.h"

#include <string.h>

#include <uv.h>

#include "caseless.h"

static int stop(struct http_response *answer, int code) {
    answer->code = code;
    return HPE_USER;
}

/* ---- headers ---- */

static int keep(struct http_response *answer, struct buffer *part, const char *at, size_t length) {
    answer->header_bytes += length;
    if (answer->header_bytes > ANSWER_HEADERS_MAX)
        return stop(answer, UV_EMSGSIZE);
    buffer_add(part, at, length);
    return part->failed ? stop(answer, UV_ENOMEM) : 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t length) {
    struct http_response *answer = parser->data;
    return keep(answer, &answer->name, at, length);
}

static int on_value(llhttp_t *parser, const char *at, size_t length) {
    struct http_response *answer = parser->data;
    return keep(answer, &answer->value, at, length);
}

static int on_value_complete(llhttp_t *parser) {
    static const char stream[] = "text/event-stream";
    struct http_response *answer = parser->data;
    const char *name = answer->name.data, *value = answer->value.data ? answer->value.data : "";
    if (caseless_equal(name, "content-type"))
        answer->is_stream = caseless_equal_n(value, stream, sizeof stream - 1);
    else if (caseless_equal(name, "mcp-session-id") && strlen(value) < sizeof answer->session)
        memcpy(answer->session, value, strlen(value) + 1);
    buffer_clear(&answer->name, BUFFER_KEPT);
    buffer_clear(&answer->value, BUFFER_KEPT);
    return 0;
}

static int on_headers_complete(llhttp_t *parser) {
    struct http_response *answer = parser->data;
    if (parser->status_code < 100 || parser->status_code == 101)
        return stop(answer, UV_EPROTO); /* no status, and one that nobody asked for */
    if (parser->status_code < 200) {
        answer->is_stream = false;
        answer->session[0] = 0;
        return 1; /* the answer proper is still to come; this has no body, whatever it says */
    }
    answer->status = parser->status_code;
    answer->is_stream = answer->is_stream && answer->status < 300;
    return 0;
}

/* ---- the body ---- */

static int on_body(llhttp_t *parser, const char *at, size_t length) {
    struct http_response *answer = parser->data;
    int rc;
    if (answer->is_stream) {
        rc = sse_feed(&answer->sse, at, length, ANSWER_MESSAGE_MAX, answer->message,
                      answer->context);
        return rc < 0 ? stop(answer, rc) : 0;
    }
    if (length > ANSWER_MESSAGE_MAX - answer->body.length)
        return stop(answer, UV_EMSGSIZE);
    buffer_add(&answer->body, at, length);
    return answer->body.failed ? stop(answer, UV_ENOMEM) : 0;
}

static int on_message_complete(llhttp_t *parser) {
    struct http_response *answer = parser->data;
    if (parser->status_code < 200)
        return 0;
    answer->is_complete = true;
    answer->keeps = llhttp_should_keep_alive(parser) != 0;
    return HPE_PAUSED;
}

/* ---- the whole ---- */

static const llhttp_settings_t settings = {
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void http_response_init(struct http_response *answer, sse_fn message, void *context) {
    memset(answer, 0, sizeof *answer);
    answer->message = message;
    answer->context = context;
    llhttp_init(&answer->parser, HTTP_RESPONSE, &settings);
    answer->parser.data = answer;
}

int http_response_feed(struct http_response *answer, const char *bytes, size_t count) {
    llhttp_errno_t rc;
    if (answer->code < 0)
        return answer->code;
    if (answer->is_complete)
        return count > 0 ? answer->code = UV_EPROTO : 0;
    rc = llhttp_execute(&answer->parser, bytes, count);
    if (rc == HPE_PAUSED && answer->is_complete) {
        const char *end = llhttp_get_error_pos(&answer->parser);
        if (end && end < bytes + count)
            answer->keeps = false; /* nobody asked for more */
        return 0;
    }
    if (rc != HPE_OK && answer->code == 0)
        answer->code = UV_EPROTO;
    return answer->code;
}

void http_response_end(struct http_response *answer) {
    if (answer->code == 0 && !answer->is_complete)
        llhttp_finish(&answer->parser);
    if (answer->code == 0 && !answer->is_complete)
        answer->code = UV_ECONNRESET;
    answer->keeps = false;
}

void http_response_finish(struct http_response *answer) {
    buffer_finish(&answer->name);
    buffer_finish(&answer->value);
    buffer_finish(&answer->body);
    sse_finish(&answer->sse);
}
