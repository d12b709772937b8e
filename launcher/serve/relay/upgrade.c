#include "upgrade.h"

#include <string.h>

#include "base64.h"
#include "protocol/http_head.h"
#include "serve/http/http_check.h"

struct request {
    struct http_text method, target, host, authorization;
    unsigned hosts, authorizations, keys, versions; /* how often they came */
    bool has_origin, has_body, upgrade, connection, key_is_valid, version_is_known;
    char key[WEBSOCKET_KEY_SIZE];
};

/* ---- reading ---- */

static bool read_start(struct request *request, const struct http_text *line) {
    static const char version[] = " HTTP/1.1";
    size_t tail = sizeof version - 1;
    const char *blank = memchr(line->at, ' ', line->length);
    if (!blank || line->length <= tail ||
        memcmp(line->at + line->length - tail, version, tail) != 0 ||
        blank + 1 >= line->at + line->length - tail)
        return false;
    request->method = (struct http_text){line->at, (size_t)(blank - line->at)};
    request->target =
        (struct http_text){blank + 1, line->length - request->method.length - 1 - tail};
    return !memchr(request->target.at, ' ', request->target.length);
}

/* Sixteen bytes in base64, in their only spelling. */
static bool is_key(const struct http_text *text) {
    if (text->length != WEBSOCKET_KEY_SIZE - 1 || text->at[22] != '=' || text->at[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (base64_digit(BASE64, text->at[i]) < 0)
            return false;
    return strchr("AQgw", text->at[21]);
}

static void take_field(struct request *request, const struct http_text *name,
                       const struct http_text *value) {
    if (http_text_is(name, "host")) {
        request->host = *value;
        request->hosts++;
    } else if (http_text_is(name, "authorization")) {
        request->authorization = *value;
        request->authorizations++;
    } else if (http_text_is(name, "origin")) {
        request->has_origin = true;
    } else if (http_text_is(name, "transfer-encoding")) {
        request->has_body = true;
    } else if (http_text_is(name, "content-length")) {
        request->has_body |= !http_text_is(value, "0");
    } else if (http_text_is(name, "upgrade")) {
        request->upgrade |= http_text_has(value, "websocket");
    } else if (http_text_is(name, "connection")) {
        request->connection |= http_text_has(value, "upgrade");
    } else if (http_text_is(name, "sec-websocket-version")) {
        request->versions++;
        request->version_is_known = http_text_is(value, "13");
    } else if (http_text_is(name, "sec-websocket-key")) {
        request->keys++;
        request->key_is_valid = is_key(value);
        if (request->key_is_valid)
            memcpy(request->key, value->at, value->length);
    }
}

static bool read_request(struct request *request, const char *bytes, size_t length) {
    struct http_text head = {bytes, length}, line, name, value;
    if (!http_head_line(&head, &line) || !read_start(request, &line))
        return false;
    while (http_head_goes_on(&head)) {
        if (!http_head_field(&head, &name, &value))
            return false;
        take_field(request, &name, &value);
    }
    return request->hosts == 1 && request->authorizations <= 1;
}

/* ---- judging ---- */

/* A copy for those who judge whole texts; false if it is too long. */
static bool copy_text(const struct http_text *text, char *out, size_t size) {
    if (text->length >= size)
        return false;
    if (text->length > 0)
        memcpy(out, text->at, text->length);
    out[text->length] = 0;
    return true;
}

static bool is_our_host(const struct http_text *given, uint16_t port) {
    char host[64];
    return copy_text(given, host, sizeof host) && http_host_is_ours(host, port);
}

static bool is_token(const struct http_text *given, const char *token) {
    char authorization[512];
    return copy_text(given, authorization, sizeof authorization) &&
           http_token_matches(authorization, token);
}

static bool is_exactly(const struct http_text *text, const char *value) {
    return text->length == strlen(value) && memcmp(text->at, value, text->length) == 0;
}

static int refuse(int status, const char *reason, const char **why) {
    *why = reason;
    return status;
}

static int check_upgrade(const struct request *request, const char **why) {
    if (!request->upgrade)
        return refuse(426, "only WebSockets are served here", why);
    if (!request->connection)
        return refuse(400, "the header Connection does not say Upgrade", why);
    if (request->versions != 1)
        return refuse(400, "the header Sec-WebSocket-Version must come once", why);
    if (!request->version_is_known)
        return refuse(426, "only version 13 of the WebSocket protocol is served here", why);
    if (request->keys != 1 || !request->key_is_valid)
        return refuse(400, "the header Sec-WebSocket-Key must come once, with 16 bytes in base64",
                      why);
    return 101;
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
    if (!is_exactly(&request.target, "/editor"))
        return refuse(404, "there is nothing but /editor here", why);
    if (!is_exactly(&request.method, "GET"))
        return refuse(405, "a WebSocket is opened with GET", why);
    if (request.has_body)
        return refuse(400, "a WebSocket is opened without a body", why);
    status = check_upgrade(&request, why);
    if (status != 101)
        return status;
    if (!is_token(&request.authorization, token))
        return refuse(401, "the token is missing or not the one of this server", why);
    websocket_accept(request.key, accept);
    return 101;
}
