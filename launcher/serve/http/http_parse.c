/* Requests out of bytes: llhttp finds where head and body end, http_head reads the head. */
#include "http_connection.h"

#include <string.h>

#include "caseless.h"
#include "protocol/http_head.h"

enum { HEAD_MOST = HTTP_HEADER_MOST + 1024 }; /* with the space in it that does not count */

static const char too_large[] = "the headers are too large";

/* What was wrong first, counts. */
static int refuse(struct http_connection *connection, int status, const char *text) {
    if (connection->reject == 0) {
        connection->reject = status;
        connection->reject_text = text;
    }
    return HPE_USER;
}

/* Keeps the server's sum right. */
static void count_body(struct http_connection *connection) {
    connection->server->bodies += connection->body.length - connection->body_counted;
    connection->body_counted = connection->body.length;
}

void http_forget_body(struct http_connection *connection) {
    connection->body_at = NULL;
    connection->body_length = 0;
    buffer_clear(&connection->body, 4096);
    count_body(connection);
}

static int on_begin(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    connection->begun = true;
    return 0;
}

/* Everything that is no body counts: the head, and what is behind the body or between its pieces.
 */
static int on_extra(llhttp_t *parser, const char *at, size_t length) {
    struct http_connection *connection = parser->data;
    (void)at;
    if (connection->headers_done)
        connection->request.head_bytes += length + 4;
    if (connection->request.head_bytes > HTTP_HEADER_MOST)
        return refuse(connection, 431, too_large);
    return 0;
}

/* ---- the head ---- */

/* The parser judges the head as it comes, but passes over much that others would take for something
 * else. So it is kept, and read strictly when it is whole. */
static void keep_head(struct http_connection *connection, const char *data, size_t length) {
    struct buffer *head = &connection->head;
    size_t room = HEAD_MOST + 1 - head->length;
    while (head->length == 0 && length > 0 && (*data == '\r' || *data == '\n')) {
        data++;
        length--;
    }
    buffer_add(head, data, length < room ? length : room);
}

static char *terminate(struct buffer *head, const struct http_text *text) {
    char *start = head->data + (text->at - head->data);
    start[text->length] = 0;
    return start;
}

static bool read_start(struct http_request *request, struct buffer *head,
                       const struct http_text *line) {
    const char *end = line->at + line->length, *blank = memchr(line->at, ' ', line->length), *next;
    struct http_text path;
    char *start;
    if (!blank)
        return false;
    path.at = blank + 1;
    next = memchr(path.at, ' ', (size_t)(end - path.at));
    if (!next || next == path.at || memchr(next + 1, ' ', (size_t)(end - next - 1)))
        return false;
    path.length = (size_t)(next - path.at);
    start = terminate(head, &path);
    start[strcspn(start, "#")] = 0;
    request->path = start;
    request->query = strchr(start, '?');
    if (request->query)
        start[request->query++ - start] = 0;
    request->head_bytes = path.length;
    return true;
}

/* This is a further part of a list. There is room for more than most have. */
static bool add_to_list(struct buffer *head, const char **list, const char *more) {
    const char *both = head->data + head->length;
    if (strlen(*list) + strlen(more) + 4 > head->capacity - head->length)
        return false;
    buffer_format(head, "%s, %s", *list, more);
    buffer_add_char(head, 0);
    *list = both;
    return true;
}

static bool keep_parameter(struct http_request *request, const char *name, const char *value) {
    if (!caseless_equal_n(name, "mcp-param-", 10) || !name[10])
        return true;
    if (request->parameter_count == HTTP_PARAMETERS_MOST)
        return false;
    request->parameters[request->parameter_count++] = (struct http_parameter){name + 10, value};
    return true;
}

/* False for a header that must be there once and is there twice: it means two things to two
 * readers. */
static bool keep_field(struct http_request *request, struct buffer *head,
                       const struct http_text *name, const struct http_text *value) {
    enum http_header header = http_header_of(name->at, name->length);
    bool is_list = header == HTTP_ACCEPT || header == HTTP_CONNECTION || header == HTTP_UPGRADE;
    const char *text = terminate(head, value), **place;
    request->head_bytes += name->length + value->length + 4;
    if (header == HTTP_HEADER_COUNT)
        return keep_parameter(request, terminate(head, name), text);
    place = &request->headers[header];
    if (*place)
        return is_list && add_to_list(head, place, text);
    *place = text;
    return true;
}

bool http_read_head(struct http_request *request, struct buffer *head, size_t length) {
    struct http_text left = {head->data, length}, line, name, value;
    if (!http_head_line(&left, &line) || !read_start(request, head, &line))
        return false;
    while (http_head_goes_on(&left))
        if (!http_head_field(&left, &name, &value) || !keep_field(request, head, &name, &value))
            return false;
    return request->headers[HTTP_HOST];
}

/* Whether we may hear this request at all. */
static int check_sender(struct http_connection *connection) {
    const struct http_server *server = connection->server;
    const char *const *headers = connection->request.headers;
    const char *host = headers[HTTP_HOST], *origin = headers[HTTP_ORIGIN];
    if (!http_host_is_ours(host, server->port))
        return refuse(connection, 403, "this Host is not where this server is");
    if (origin && !http_origin_is_ours(origin, host, server->port))
        return refuse(connection, 403, "pages of this Origin may not use this server");
    if (server->token && connection->parser.method != HTTP_OPTIONS &&
        !http_token_matches(headers[HTTP_AUTHORIZATION], server->token))
        return refuse(connection, 401, "this server wants a bearer token (TETHER_HTTP_TOKEN)");
    return 0;
}

static int on_headers(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    struct buffer *head = &connection->head;
    size_t length = http_head_length(head->data, head->length);
    const char *expect, *coding;
    connection->headers_done = true;
    connection->request.method = parser->method;
    parser->upgrade = 0; /* we know nothing to change over to */
    if (length == 0 && head->length > HEAD_MOST)
        return refuse(connection, 431, too_large);
    if (!buffer_reserve(head, head->length))
        return refuse(connection, 500, "out of memory");
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(connection, 505, "HTTP/1.1 is spoken here");
    if (!http_read_head(&connection->request, head, length))
        return refuse(connection, 400, "a header is missing, there twice, or not valid");
    if (connection->request.head_bytes > HTTP_HEADER_MOST)
        return refuse(connection, 431, too_large);
    if (check_sender(connection) != 0)
        return HPE_USER;
    if (parser->content_length > HTTP_BODY_MOST)
        return refuse(connection, 413, "the body is too large");
    coding = connection->request.headers[HTTP_TRANSFER_ENCODING];
    if (coding && !caseless_equal(coding, "chunked")) /* the parser only looks at the last one */
        return refuse(connection, 501, "of transfer codings only chunked is known");
    expect = connection->request.headers[HTTP_EXPECT];
    if (expect && !caseless_equal(expect, "100-continue"))
        return refuse(connection, 417, "this expectation is not known");
    if (expect)
        buffer_add_literal(http_output(connection), "HTTP/1.1 100 Continue\r\n\r\n");
    return 0;
}

/* ---- the body ---- */

/* What is behind the data of a chunk: the parser passes over any two bytes there, which would be
 * another place where two readers see two things. False: it is not the end of a line. */
static bool check_chunk_end(struct http_connection *connection, const char *at) {
    while (connection->chunk_end > 0 && at < connection->input_end) {
        if (*at++ != (connection->chunk_end == 2 ? '\r' : '\n'))
            return false;
        connection->chunk_end--;
    }
    return true;
}

static const char wrong_chunk[] = "a chunk is not as long as it says";

/* What has come of the body so far is not, or will not be, where it came. */
static void keep_body(struct http_connection *connection) {
    if (connection->body_at)
        buffer_add(&connection->body, connection->body_at, connection->body_length);
    connection->body_at = NULL;
}

/* A body that comes in one piece is left where it is. */
static int on_body(llhttp_t *parser, const char *at, size_t length) {
    struct http_connection *connection = parser->data;
    if ((parser->flags & F_CHUNKED) && parser->content_length == 0) {
        connection->chunk_end = 2;
        if (!check_chunk_end(connection, at + length))
            return refuse(connection, 400, wrong_chunk);
    }
    if (connection->body_length + length > HTTP_BODY_MOST)
        return refuse(connection, 413, "the body is too large");
    if (connection->body_length == 0) {
        connection->body_at = at;
    } else {
        keep_body(connection);
        buffer_add(&connection->body, at, length);
    }
    connection->body_length += length;
    return 0;
}

static int on_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    connection->begun = false;
    connection->whole = true;
    connection->request.body = connection->body_at ? connection->body_at : connection->body.data;
    connection->request.length = connection->body_length;
    connection->keep_alive =
        parser->http_minor > 0 && llhttp_should_keep_alive(parser) && !connection->server->draining;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_header_field = on_extra,
    .on_header_value = on_extra,
    .on_chunk_extension_name = on_extra,
    .on_chunk_extension_value = on_extra,
    .on_headers_complete = on_headers,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

void http_parse_init(struct http_connection *connection) {
    llhttp_init(&connection->parser, HTTP_REQUEST, &settings);
    connection->parser.data = connection;
}

static void begin(struct http_connection *connection) {
    connection->headers_done = connection->whole = false;
    connection->request = (struct http_request){.path = NULL};
    buffer_clear(&connection->head, 4096);
    http_forget_body(connection);
}

size_t http_parse(struct http_connection *connection, const char *data, size_t length) {
    llhttp_t *parser = &connection->parser;
    llhttp_errno_t error;
    size_t used = length;
    if (!connection->begun)
        begin(connection);
    if (!connection->headers_done)
        keep_head(connection, data, length);
    connection->input_end = data + length;
    if (!check_chunk_end(connection, data)) {
        refuse(connection, 400, wrong_chunk);
        return length;
    }
    error = llhttp_execute(parser, data, length);
    if (error == HPE_PAUSED) {
        used = (size_t)(llhttp_get_error_pos(parser) - data);
        llhttp_resume(parser);
    } else if (error != HPE_OK) {
        const char *reason = llhttp_get_error_reason(parser);
        refuse(connection, 400, reason && reason[0] ? reason : "this is no HTTP request");
    }
    if (!connection->headers_done && connection->head.length > HEAD_MOST)
        refuse(connection, 431, too_large);
    if (!connection->whole)
        keep_body(connection);
    count_body(connection);
    if (connection->body.failed)
        refuse(connection, 500, "out of memory");
    if (connection->server->bodies > HTTP_BODIES_MOST && !connection->whole &&
        connection->body.length > 0)
        refuse(connection, 503, "too many large requests at once; try again in a moment");
    return used;
}
