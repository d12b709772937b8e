#include "upgrade.h"

#include <string.h>

#include "base64.h"
#include "protocol/http_head.h"
#include "serve/http/http.h"

static int refuse(int status, const char *reason, const char **why) {
    *why = reason;
    return status;
}

static bool ends_with(const struct http_text *line, const char *end) {
    size_t length = strlen(end);
    return line->length >= length && memcmp(line->at + line->length - length, end, length) == 0;
}

static bool lists(const char *header, const char *word) {
    const struct http_text list = {header, header ? strlen(header) : 0};
    return http_text_has(&list, word);
}

/* Sixteen bytes in base64, in their only spelling. */
static bool is_key(const char *text) {
    if (!text || strlen(text) != WEBSOCKET_KEY_SIZE - 1 || text[22] != '=' || text[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (base64_digit(BASE64, text[i]) < 0)
            return false;
    return strchr("AQgw", text[21]);
}

static int check_upgrade(const char *const *headers, const char **why) {
    if (!lists(headers[HTTP_UPGRADE], "websocket"))
        return refuse(426, "only WebSockets are served here", why);
    if (!lists(headers[HTTP_CONNECTION], "upgrade"))
        return refuse(400, "the header Connection does not say Upgrade", why);
    if (!headers[HTTP_WEBSOCKET_VERSION])
        return refuse(400, "the header Sec-WebSocket-Version must come once", why);
    if (strcmp(headers[HTTP_WEBSOCKET_VERSION], "13") != 0)
        return refuse(426, "only version 13 of the WebSocket protocol is served here", why);
    if (!is_key(headers[HTTP_WEBSOCKET_KEY]))
        return refuse(400, "the header Sec-WebSocket-Key must come once, with 16 bytes in base64",
                      why);
    return 101;
}

static int check_headers(const struct http_text *start, const char *const *headers, uint16_t port,
                         const char *token, const char **why) {
    const char *length = headers[HTTP_CONTENT_LENGTH];
    int status;
    if (!http_host_is_ours(headers[HTTP_HOST], port))
        return refuse(403, "the host must be the loopback and this port", why);
    if (headers[HTTP_ORIGIN])
        return refuse(403, "web pages do not get in here", why);
    if (!ends_with(start, " /editor HTTP/1.1"))
        return refuse(404, "there is nothing but /editor here", why);
    if (strncmp(start->at, "GET ", 4) != 0)
        return refuse(405, "a WebSocket is opened with GET", why);
    if (headers[HTTP_TRANSFER_ENCODING] || (length && strcmp(length, "0") != 0))
        return refuse(400, "a WebSocket is opened without a body", why);
    status = check_upgrade(headers, why);
    if (status == 101 && !http_token_matches(headers[HTTP_AUTHORIZATION], token))
        return refuse(401, "the token is missing or not the one of this server", why);
    return status;
}

int editor_request_check(const char *head, size_t length, uint16_t port, const char *token,
                         char accept[WEBSOCKET_ACCEPT_SIZE], const char **why) {
    struct http_text left = {head, length}, start;
    struct http_request request = {.path = NULL};
    struct buffer copy = {0};
    int status;
    buffer_add(&copy, head, length);
    if (buffer_reserve(&copy, length) && http_read_head(&request, &copy, length) &&
        http_head_line(&left, &start) && ends_with(&start, " HTTP/1.1"))
        status = check_headers(&start, request.headers, port, token, why);
    else
        status = refuse(400, "this is no proper request of HTTP/1.1", why);
    if (status == 101)
        websocket_accept(request.headers[HTTP_WEBSOCKET_KEY], accept);
    buffer_finish(&copy);
    return status;
}
