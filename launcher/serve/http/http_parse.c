/* Requests out of bytes, with llhttp in its strict mode. */
#include "http_connection.h"

#include <string.h>

#include "caseless.h"

static int refuse(struct http_connection *connection, int status, const char *text) {
    connection->reject = status;
    connection->reject_text = text;
    return HPE_USER;
}

/* Everything that is no body counts, also what is behind it or between its pieces. */
static int count_bytes(struct http_connection *connection, size_t length) {
    connection->header_bytes += length;
    if (connection->header_bytes > HTTP_HEADER_MOST)
        return refuse(connection, 431, "the headers are too large");
    return 0;
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
    connection->headers_done = connection->whole = connection->bad_header = false;
    connection->header_bytes = connection->name_length = connection->parameter_count = 0;
    http_forget_body(connection);
    memset(connection->headers, 0, sizeof connection->headers);
    buffer_clear(&connection->text, 4096);
    buffer_add_char(&connection->text, 0); /* so that no place is 0 */
    connection->path = 1;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t length) {
    struct http_connection *connection = parser->data;
    buffer_add(&connection->text, at, length);
    return count_bytes(connection, length);
}

static int on_url_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    buffer_add_char(&connection->text, 0);
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t length) {
    struct http_connection *connection = parser->data;
    size_t room = sizeof connection->name - connection->name_length;
    memcpy(connection->name + connection->name_length, at, length < room ? length : room);
    connection->name_length += length < room ? length : room;
    return count_bytes(connection, length + 4);
}

static int on_field_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    connection->value = connection->text.length;
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t length) {
    struct http_connection *connection = parser->data;
    if (!connection->headers_done)
        buffer_add(&connection->text, at, length);
    return count_bytes(connection, length);
}

static bool is_parameter(const struct http_connection *connection) {
    return connection->name_length > 10 && connection->name_length < sizeof connection->name &&
           caseless_equal_n(connection->name, "mcp-param-", 10);
}

static void keep_parameter(struct http_connection *connection) {
    struct http_parameter_at *at;
    if (connection->parameter_count == HTTP_PARAMETERS_MOST) {
        connection->bad_header = true;
        return;
    }
    at = &connection->parameters[connection->parameter_count++];
    at->value = (uint32_t)connection->value;
    at->name = (uint32_t)connection->text.length;
    buffer_add(&connection->text, connection->name + 10, connection->name_length - 10);
    buffer_add_char(&connection->text, 0);
}

/* A header that must be there once and is there twice means two things to two readers. */
static void keep_header(struct http_connection *connection, enum http_header header) {
    uint32_t *place = &connection->headers[header];
    struct buffer *text = &connection->text;
    if (*place == 0) {
        *place = (uint32_t)connection->value;
    } else if (header == HTTP_ACCEPT) { /* a list, of which this is a further part */
        size_t length = text->length - connection->value;
        char *first = text->data + *place, both[512];
        int made = snprintf(both, sizeof both, "%s, %.*s", first, (int)length,
                            text->data + connection->value);
        text->length = connection->value;
        *place = (uint32_t)text->length;
        buffer_add(text, both, made < (int)sizeof both ? (size_t)made + 1 : sizeof both);
    } else {
        connection->bad_header = true;
    }
}

/* llhttp leaves blanks at the end of a value. */
static void end_value(struct http_connection *connection) {
    struct buffer *text = &connection->text;
    while (text->length > connection->value &&
           (text->data[text->length - 1] == ' ' || text->data[text->length - 1] == '\t'))
        text->length--;
    if (memchr(text->data + connection->value, 0, text->length - connection->value))
        connection->bad_header = true;
    buffer_add_char(text, 0);
}

static int on_value_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    enum http_header header = http_header_of(connection->name, connection->name_length);
    if (!connection->headers_done && !connection->text.failed) {
        end_value(connection);
        if (header != HTTP_HEADER_COUNT)
            keep_header(connection, header);
        else if (is_parameter(connection))
            keep_parameter(connection);
        else
            connection->text.length = connection->value;
    }
    connection->name_length = 0;
    return 0;
}

static int on_extension(llhttp_t *parser, const char *at, size_t length) {
    (void)at;
    return count_bytes(parser->data, length + 1);
}

static const char *header(const struct http_connection *connection, enum http_header which) {
    uint32_t place = connection->headers[which];
    return place ? connection->text.data + place : NULL;
}

/* Whether we may hear this request at all. */
static int check_sender(struct http_connection *connection) {
    const struct http_server *server = connection->server;
    const char *host = header(connection, HTTP_HOST), *origin = header(connection, HTTP_ORIGIN);
    if (!host || connection->bad_header)
        return refuse(connection, 400, "a header is missing, there twice, or not valid");
    if (!http_host_is_ours(host, server->port))
        return refuse(connection, 403, "this Host is not where this server is");
    if (origin && !http_origin_is_ours(origin, host, server->port))
        return refuse(connection, 403, "pages of this Origin may not use this server");
    if (server->token && connection->parser.method != HTTP_OPTIONS &&
        !http_token_matches(header(connection, HTTP_AUTHORIZATION), server->token))
        return refuse(connection, 401, "this server wants a bearer token (TETHER_HTTP_TOKEN)");
    return 0;
}

static int check_size(struct http_connection *connection) {
    if (connection->parser.content_length > HTTP_BODY_MOST)
        return refuse(connection, 413, "the body is too large");
    return 0;
}

static int on_headers(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    const char *expect = header(connection, HTTP_EXPECT);
    const char *coding = header(connection, HTTP_TRANSFER_ENCODING);
    connection->headers_done = true;
    parser->upgrade = 0; /* we know nothing to change over to */
    if (connection->text.failed)
        return refuse(connection, 500, "out of memory");
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(connection, 505, "HTTP/1.1 is spoken here");
    if (check_sender(connection) != 0 || check_size(connection) != 0)
        return HPE_USER;
    if (coding && !caseless_equal(coding, "chunked")) /* the parser only looks at the last one */
        return refuse(connection, 501, "of transfer codings only chunked is known");
    if (expect && !caseless_equal(expect, "100-continue"))
        return refuse(connection, 417, "this expectation is not known");
    if (expect)
        buffer_add_literal(http_output(connection), "HTTP/1.1 100 Continue\r\n\r\n");
    return 0;
}

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
        if (connection->body_at)
            buffer_add(&connection->body, connection->body_at, connection->body_length);
        connection->body_at = NULL;
        buffer_add(&connection->body, at, length);
    }
    connection->body_length += length;
    return 0;
}

static int on_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    connection->whole = true;
    connection->keep_alive =
        parser->http_minor > 0 && llhttp_should_keep_alive(parser) && !connection->server->draining;
    return HPE_PAUSED;
}

void http_parse_settings(llhttp_settings_t *settings) {
    llhttp_settings_init(settings);
    settings->on_message_begin = on_begin;
    settings->on_url = on_url;
    settings->on_url_complete = on_url_complete;
    settings->on_header_field = on_field;
    settings->on_header_field_complete = on_field_complete;
    settings->on_header_value = on_value;
    settings->on_header_value_complete = on_value_complete;
    settings->on_chunk_extension_name = on_extension;
    settings->on_chunk_extension_value = on_extension;
    settings->on_headers_complete = on_headers;
    settings->on_body = on_body;
    settings->on_message_complete = on_complete;
}

void http_parse_init(struct http_connection *connection) {
    llhttp_init(&connection->parser, HTTP_REQUEST, &connection->server->settings);
    connection->parser.data = connection;
}

/* The bytes that were read are about to be used for something else. */
static void keep_body(struct http_connection *connection) {
    if (!connection->body_at || connection->whole)
        return;
    buffer_add(&connection->body, connection->body_at, connection->body_length);
    connection->body_at = NULL;
}

/* The parser takes a bare CR or LF for the end of a line, and a line that begins with a blank for
 * part of the one before; others do not. Until the empty line that ends the headers, we want CR and
 * LF together, and no such lines. */
static bool lines_are_strict(struct http_connection *connection, const char *data, size_t length) {
    enum http_line line = connection->line;
    for (size_t i = 0; i < length && line != HTTP_LINES_OVER; i++) {
        char c = data[i];
        if (line == HTTP_LINE_CR || line == HTTP_LINE_LAST_CR || line == HTTP_LINE_FIRST_CR) {
            if (c != '\n')
                return false;
            line = line == HTTP_LINE_CR        ? HTTP_LINE_START
                   : line == HTTP_LINE_LAST_CR ? HTTP_LINES_OVER
                                               : HTTP_LINE_FIRST;
        } else if (c == '\r') {
            line = line == HTTP_LINE_START   ? HTTP_LINE_LAST_CR
                   : line == HTTP_LINE_FIRST ? HTTP_LINE_FIRST_CR
                                             : HTTP_LINE_CR;
        } else if (c == '\n' || (line == HTTP_LINE_START && (c == ' ' || c == '\t'))) {
            return false;
        } else {
            line = HTTP_LINE_INSIDE;
        }
    }
    connection->line = line;
    return true;
}

size_t http_parse(struct http_connection *connection, const char *data, size_t length) {
    llhttp_t *parser = &connection->parser;
    llhttp_errno_t error;
    size_t used = length;
    if (connection->line == HTTP_LINE_FIRST) { /* the request before is over, and so is its body */
        connection->body_at = NULL;
        connection->body_length = 0;
    }
    if (!lines_are_strict(connection, data, length)) {
        refuse(connection, 400, "lines of headers end with CR LF and begin with a name");
        return length;
    }
    connection->input_end = data + length;
    if (!check_chunk_end(connection, data)) {
        refuse(connection, 400, wrong_chunk);
        return length;
    }
    error = llhttp_execute(parser, data, length);
    if (error == HPE_PAUSED) {
        used = (size_t)(llhttp_get_error_pos(parser) - data);
        llhttp_resume(parser);
        connection->line = HTTP_LINE_FIRST;
    } else if (error != HPE_OK && connection->reject == 0) {
        connection->reject = 400;
        connection->reject_text = llhttp_get_error_reason(parser);
        if (!connection->reject_text || !connection->reject_text[0])
            connection->reject_text = "this is no HTTP request";
    }
    keep_body(connection);
    count_body(connection);
    if (connection->body.failed && connection->reject == 0)
        refuse(connection, 500, "out of memory");
    if (connection->server->bodies > HTTP_BODIES_MOST && !connection->whole &&
        connection->body.length > 0 && connection->reject == 0)
        refuse(connection, 503, "too many large requests at once; try again in a moment");
    return used;
}

void http_parse_result(const struct http_connection *connection, struct http_request *request) {
    char *path = connection->text.data + connection->path;
    path[strcspn(path, "?#")] = 0;
    request->method = connection->parser.method;
    request->path = path;
    for (int i = 0; i < HTTP_HEADER_COUNT; i++)
        request->headers[i] = header(connection, (enum http_header)i);
    request->parameter_count = connection->parameter_count;
    for (size_t i = 0; i < connection->parameter_count; i++) {
        request->parameters[i].name = connection->text.data + connection->parameters[i].name;
        request->parameters[i].value = connection->text.data + connection->parameters[i].value;
    }
    request->body = connection->body_at ? connection->body_at : connection->body.data;
    request->length = connection->body_length;
}
