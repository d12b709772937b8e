#include "websocket_handshake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base64.h"
#include "sha.h"

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

void websocket_key(const unsigned char nonce[WEBSOCKET_NONCE_SIZE], char out[WEBSOCKET_KEY_SIZE]) {
    base64_write(BASE64, nonce, WEBSOCKET_NONCE_SIZE, out);
}

void websocket_accept(const char key[WEBSOCKET_KEY_SIZE], char out[WEBSOCKET_ACCEPT_SIZE]) {
    struct sha hash;
    uint8_t digest[SHA1_SIZE];
    sha1_init(&hash);
    sha_add(&hash, key, WEBSOCKET_KEY_SIZE - 1);
    sha_add(&hash, guid, sizeof guid - 1);
    sha_end(&hash, digest, sizeof digest);
    base64_write(BASE64, digest, sizeof digest, out);
}

static bool is_printable(const char *text) {
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

size_t websocket_request(char *out, size_t size, uint16_t port, const char *path, const char *token,
                         const char *key) {
    bool has_token = token && token[0];
    int length;
    if (path[0] != '/' || !is_printable(path) || (has_token && !is_printable(token)))
        return 0;
    length = snprintf(out, size,
                      "GET %s HTTP/1.1\r\n"
                      "Host: 127.0.0.1:%u\r\n"
                      "Upgrade: websocket\r\n"
                      "Connection: Upgrade\r\n"
                      "Sec-WebSocket-Key: %s\r\n"
                      "Sec-WebSocket-Version: 13\r\n"
                      "%s%s%s"
                      "\r\n",
                      path, (unsigned)port, key, has_token ? "Authorization: Bearer " : "",
                      has_token ? token : "", has_token ? "\r\n" : "");
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* "HTTP/1.1 101 …" → 101; 0 if it is nothing of the kind. */
static int read_status(const struct http_text *line) {
    static const char version[] = "HTTP/1.1 ";
    const char *digits = line->at + sizeof version - 1;
    size_t most = sizeof version - 1 + 3;
    if (line->length < most || memcmp(line->at, version, sizeof version - 1) != 0 ||
        strspn(digits, "0123456789") != 3 || (line->length > most && digits[3] != ' '))
        return 0;
    return (int)strtol(digits, NULL, 10);
}

struct handshake_answer {
    unsigned upgrades, connections, accepts;
    bool fits; /* each of them says what it must, and nothing was given that was not asked for */
};

static void take_field(struct handshake_answer *answer, const struct http_text *name,
                       const struct http_text *value, const char *accept) {
    if (http_text_is(name, "upgrade")) {
        answer->upgrades++;
        answer->fits &= http_text_is(value, "websocket");
    } else if (http_text_is(name, "connection")) {
        answer->connections++;
        answer->fits &= http_text_has(value, "upgrade");
    } else if (http_text_is(name, "sec-websocket-accept")) {
        answer->accepts++;
        answer->fits &=
            value->length == strlen(accept) && memcmp(value->at, accept, value->length) == 0;
    } else if (http_text_is(name, "sec-websocket-extensions") ||
               http_text_is(name, "sec-websocket-protocol")) {
        answer->fits = false;
    }
}

static int refused(int status, const struct http_text *line, struct error *err) {
    int length = (int)line->length - 9, shown = length < 80 ? length : 80;
    bool is_ours = status == 401 || status == 403;
    return error_set(err, is_ours ? UV_EACCES : UV_ECONNREFUSED, "the server answers \"%.*s\"%s",
                     shown, line->at + 9,
                     is_ours ? ": the token is not that of the server that runs now, or it is not "
                               "our own"
                             : "");
}

int websocket_response(const char *head, size_t length, const char *key, struct error *err) {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    struct handshake_answer answer = {.fits = true};
    struct http_text left = {head, length}, line, name, value;
    int status = http_head_line(&left, &line) ? read_status(&line) : 0;
    if (status == 0)
        return error_set(err, UV_EPROTO, "what answers there does not speak HTTP");
    if (status != 101)
        return refused(status, &line, err);
    websocket_accept(key, accept);
    while (http_head_goes_on(&left)) {
        if (!http_head_field(&left, &name, &value))
            return error_set(err, UV_EPROTO, "the server's answer has a broken header");
        take_field(&answer, &name, &value, accept);
    }
    if (!answer.fits || answer.upgrades != 1 || answer.connections != 1 || answer.accepts != 1)
        return error_set(err, UV_EPROTO,
                         "the server's answer is not for this WebSocket: is it a cache, or "
                         "another program?");
    return 0;
}
