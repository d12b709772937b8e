#include "upgrade.h"

#include <llhttp.h>
#include <string.h>

#include "serve/http/http_check.h"

static const char target[] = "/editor";

struct text {
    const char *at;
    size_t length;
};

struct request {
    llhttp_t parser; /* first: a callback gets it and means the request */
    struct text target, name, value;
    struct websocket_upgrade upgrade;
    struct text host, authorization;
    unsigned hosts, authorizations;
    bool has_origin, complete;
};

/* ---- reading ---- */

/* The head is fed in one piece, so that what belongs together lies together. */
static int extend(struct text *text, const char *at, size_t length) {
    if (text->length == 0)
        text->at = at;
    text->length = (size_t)(at - text->at) + length;
    return 0;
}

static struct request *request_of(llhttp_t *parser) {
    return parser->data;
}

static int on_url(llhttp_t *parser, const char *at, size_t length) {
    return extend(&request_of(parser)->target, at, length);
}

static int on_name(llhttp_t *parser, const char *at, size_t length) {
    return extend(&request_of(parser)->name, at, length);
}

static int on_value(llhttp_t *parser, const char *at, size_t length) {
    return extend(&request_of(parser)->value, at, length);
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* begin: in small letters. */
static bool begins(const struct text *text, const char *begin) {
    for (size_t i = 0; begin[i]; i++)
        if (i == text->length || lower(text->at[i]) != begin[i])
            return false;
    return true;
}

static bool is_named(const struct text *text, const char *name) {
    return text->length == strlen(name) && begins(text, name);
}

static int on_header(llhttp_t *parser) {
    struct request *request = request_of(parser);
    struct text *name = &request->name, *value = &request->value;
    if (name->length == 0 || memchr(name->at, ' ', name->length)) /* the parser may allow it */
        return HPE_USER;
    while (value->length > 0 && strchr(" \t", value->at[value->length - 1]))
        value->length--;
    if (is_named(name, "host")) {
        request->host = *value;
        request->hosts++;
    } else if (is_named(name, "authorization")) {
        request->authorization = *value;
        request->authorizations++;
    } else if (is_named(name, "origin")) {
        request->has_origin = true;
    } else if (value->length > 0) {
        websocket_upgrade_header(&request->upgrade, name->at, name->length, value->at,
                                 value->length);
    }
    *name = *value = (struct text){0};
    return 0;
}

static int on_headers(llhttp_t *parser) {
    request_of(parser)->complete = true;
    return 2; /* no body; what follows is not HTTP */
}

/* The parser is generous with blanks and line ends; a client of ours gives it no reason to. */
static bool has_plain_start(const struct request *request, const char *head, size_t length) {
    static const char version[] = " HTTP/1.1\r\n";
    const char *end = request->target.at + request->target.length;
    if (request->parser.method == HTTP_GET && request->target.at != head + strlen("GET "))
        return false;
    return (size_t)(head + length - end) >= strlen(version) &&
           memcmp(end, version, strlen(version)) == 0;
}

/* Continued lines are of old; a reader that takes them and one that does not see different headers.
 */
static bool has_continued_line(const char *head, size_t length) {
    for (size_t i = 0; i + 1 < length; i++)
        if (head[i] == '\n' && (head[i + 1] == ' ' || head[i + 1] == '\t'))
            return true;
    return false;
}

static bool read_request(struct request *request, const char *head, size_t length) {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_name;
    settings.on_header_value = on_value;
    settings.on_header_value_complete = on_header;
    settings.on_headers_complete = on_headers;
    llhttp_init(&request->parser, HTTP_REQUEST, &settings);
    request->parser.data = request;
    return !has_continued_line(head, length) &&
           llhttp_execute(&request->parser, head, length) == HPE_PAUSED_UPGRADE &&
           request->complete && has_plain_start(request, head, length) && request->hosts == 1 &&
           request->authorizations <= 1;
}

/* ---- judging ---- */

/* A copy for those who judge whole texts; false if it has no such form. */
static bool copy_text(const struct text *text, char *out, size_t size) {
    if (text->length >= size || (text->length > 0 && memchr(text->at, 0, text->length)))
        return false;
    if (text->length > 0)
        memcpy(out, text->at, text->length);
    out[text->length] = 0;
    return true;
}

static bool is_our_host(const struct text *given, uint16_t port) {
    char host[64];
    return copy_text(given, host, sizeof host) && http_host_is_ours(host, port);
}

static bool is_token(const struct text *given, const char *token) {
    char authorization[512];
    return copy_text(given, authorization, sizeof authorization) &&
           http_token_matches(authorization, token);
}

static bool has_body(const llhttp_t *parser) {
    return parser->content_length > 0 || parser->flags & (F_CHUNKED | F_TRANSFER_ENCODING);
}

static int refuse(int status, const char *reason, const char **why) {
    *why = reason;
    return status;
}

int editor_request_check(const char *head, size_t length, uint16_t port, const char *token,
                         char accept[WEBSOCKET_ACCEPT_SIZE], const char **why) {
    struct request request;
    int status;
    memset(&request, 0, sizeof request);
    if (!read_request(&request, head, length))
        return refuse(400, "this is no proper request of HTTP/1.1", why);
    if (!is_our_host(&request.host, port))
        return refuse(403, "the host must be the loopback and this port", why);
    if (request.has_origin)
        return refuse(403, "web pages do not get in here", why);
    if (request.target.length != sizeof target - 1 ||
        memcmp(request.target.at, target, sizeof target - 1) != 0)
        return refuse(404, "there is nothing but /editor here", why);
    if (request.parser.method != HTTP_GET)
        return refuse(405, "a WebSocket is opened with GET", why);
    if (has_body(&request.parser))
        return refuse(400, "a WebSocket is opened without a body", why);
    status = websocket_upgrade_check(&request.upgrade, why);
    if (status != 101)
        return status;
    if (!is_token(&request.authorization, token))
        return refuse(401, "the token is missing or not the one of this server", why);
    websocket_accept(request.upgrade.key, accept);
    return 101;
}

const char *editor_status_text(int status) {
    switch (status) {
    case 101:
        return "Switching Protocols";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 426:
        return "Upgrade Required";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Bad Request";
    }
}
