#include "websocket_handshake.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base64.h"
#include "sha1.h"

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

void websocket_key(const unsigned char nonce[WEBSOCKET_NONCE_SIZE], char out[WEBSOCKET_KEY_SIZE]) {
    base64_write(BASE64, nonce, WEBSOCKET_NONCE_SIZE, out);
}

void websocket_accept(const char key[WEBSOCKET_KEY_SIZE], char out[WEBSOCKET_ACCEPT_SIZE]) {
    char joined[WEBSOCKET_KEY_SIZE - 1 + sizeof guid];
    unsigned char hash[SHA1_SIZE];
    memcpy(joined, key, WEBSOCKET_KEY_SIZE - 1);
    memcpy(joined + WEBSOCKET_KEY_SIZE - 1, guid, sizeof guid);
    sha1(joined, sizeof joined - 1, hash);
    base64_write(BASE64, hash, sizeof hash, out);
}

size_t websocket_head_length(const char *bytes, size_t count) {
    for (size_t i = 0; count - i >= 4; i++) {
        const char *cr = memchr(bytes + i, '\r', count - i - 3);
        if (!cr)
            return 0;
        i = (size_t)(cr - bytes);
        if (memcmp(cr, "\r\n\r\n", 4) == 0)
            return i + 4;
    }
    return 0;
}

/* ---- words of a header ---- */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* word: in small letters. */
static bool is_word(const char *text, size_t length, const char *word) {
    for (size_t i = 0; i < length; i++)
        if (word[i] == 0 || lower(text[i]) != word[i])
            return false;
    return word[length] == 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *length) {
    while (*length > 0 && is_space(**text)) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && is_space((*text)[*length - 1]))
        (*length)--;
}

/* Whether a list with commas between its members has the word. */
static bool has_word(const char *list, size_t length, const char *word) {
    const char *end = list + length;
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *member = list;
        size_t count = (size_t)((comma ? comma : end) - list);
        trim(&member, &count);
        if (is_word(member, count, word))
            return true;
        list = comma ? comma + 1 : end;
    }
    return false;
}

/* ---- server ---- */

/* Sixteen bytes in base64, in their only spelling. */
static bool is_key(const char *text, size_t length) {
    if (length != WEBSOCKET_KEY_SIZE - 1 || text[22] != '=' || text[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (base64_digit(BASE64, text[i]) < 0)
            return false;
    return text[21] == 'A' || text[21] == 'Q' || text[21] == 'g' || text[21] == 'w';
}

void websocket_upgrade_header(struct websocket_upgrade *upgrade, const char *name,
                              size_t name_length, const char *value, size_t value_length) {
    if (is_word(name, name_length, "upgrade")) {
        upgrade->upgrade |= has_word(value, value_length, "websocket");
    } else if (is_word(name, name_length, "connection")) {
        upgrade->connection |= has_word(value, value_length, "upgrade");
    } else if (is_word(name, name_length, "sec-websocket-version")) {
        upgrade->versions++;
        upgrade->version_is_known = is_word(value, value_length, "13");
    } else if (is_word(name, name_length, "sec-websocket-key")) {
        upgrade->keys++;
        upgrade->key_is_valid = is_key(value, value_length);
        if (upgrade->key_is_valid)
            memcpy(upgrade->key, value, value_length);
    }
}

int websocket_upgrade_check(const struct websocket_upgrade *upgrade, const char **why) {
    *why = NULL;
    if (!upgrade->upgrade) {
        *why = "only WebSockets are served here";
        return 426;
    }
    if (!upgrade->connection)
        *why = "the header Connection does not say Upgrade";
    else if (upgrade->versions == 1 && !upgrade->version_is_known) {
        *why = "only version 13 of the WebSocket protocol is served here";
        return 426;
    } else if (upgrade->versions != 1)
        *why = "the header Sec-WebSocket-Version must come once";
    else if (upgrade->keys != 1 || !upgrade->key_is_valid)
        *why = "the header Sec-WebSocket-Key must come once, with 16 bytes in base64";
    return *why ? 400 : 101;
}

/* ---- client ---- */

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

/* A line without its CR LF. */
struct line {
    const char *text;
    size_t length;
};

/* Cuts off the first line. False if it has control characters, a stray CR or LF among them. */
static bool next_line(const char **text, size_t *left, struct line *line) {
    const char *cr = memchr(*text, '\r', *left);
    if (!cr || (size_t)(cr - *text) + 2 > *left || cr[1] != '\n')
        return false;
    *line = (struct line){.text = *text, .length = (size_t)(cr - *text)};
    *left -= line->length + 2;
    *text = cr + 2;
    for (size_t i = 0; i < line->length; i++) {
        unsigned char c = (unsigned char)line->text[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 101 …" → 101; 0 if it is nothing of the kind. */
static int read_status(const struct line *line) {
    static const char version[] = "HTTP/1.1 ";
    const char *digits = line->text + sizeof version - 1;
    if (line->length < sizeof version - 1 + 3 ||
        memcmp(line->text, version, sizeof version - 1) != 0)
        return 0;
    if (!is_digit(digits[0]) || !is_digit(digits[1]) || !is_digit(digits[2]) ||
        (line->length > sizeof version - 1 + 3 && digits[3] != ' '))
        return 0;
    return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0';
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", text[i]))
            return false;
    return length > 0;
}

struct handshake_answer {
    unsigned upgrades, connections, accepts;
    bool fits; /* each of them says what it must, and nothing was given that was not asked for */
};

static bool read_header(const struct line *line, const char *accept,
                        struct handshake_answer *answer) {
    const char *colon = memchr(line->text, ':', line->length);
    const char *value;
    size_t name, length;
    if (!colon || !is_name(line->text, (size_t)(colon - line->text)))
        return false;
    value = colon + 1;
    name = (size_t)(colon - line->text);
    length = line->length - name - 1;
    trim(&value, &length);
    if (is_word(line->text, name, "upgrade")) {
        answer->upgrades++;
        answer->fits &= is_word(value, length, "websocket");
    } else if (is_word(line->text, name, "connection")) {
        answer->connections++;
        answer->fits &= has_word(value, length, "upgrade");
    } else if (is_word(line->text, name, "sec-websocket-accept")) {
        answer->accepts++;
        answer->fits &= length == strlen(accept) && memcmp(value, accept, length) == 0;
    } else if (is_word(line->text, name, "sec-websocket-extensions") ||
               is_word(line->text, name, "sec-websocket-protocol")) {
        answer->fits = false;
    }
    return true;
}

static int refused(int status, const struct line *line, struct error *err) {
    int length = (int)line->length - 9, shown = length < 80 ? length : 80;
    bool is_ours = status == 401 || status == 403;
    return error_set(err, is_ours ? UV_EACCES : UV_ECONNREFUSED, "the server answers \"%.*s\"%s",
                     shown, line->text + 9,
                     is_ours ? ": the token is not that of the server that runs now, or it is not "
                               "our own"
                             : "");
}

int websocket_response(const char *head, size_t length, const char *key, struct error *err) {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    struct handshake_answer answer = {.fits = true};
    struct line line;
    int status = next_line(&head, &length, &line) ? read_status(&line) : 0;
    if (status == 0)
        return error_set(err, UV_EPROTO, "what answers there does not speak HTTP");
    if (status != 101)
        return refused(status, &line, err);
    websocket_accept(key, accept);
    while (length > 2)
        if (!next_line(&head, &length, &line) || !read_header(&line, accept, &answer))
            return error_set(err, UV_EPROTO, "the server's answer has a broken header");
    if (!answer.fits || answer.upgrades != 1 || answer.connections != 1 || answer.accepts != 1)
        return error_set(err, UV_EPROTO,
                         "the server's answer is not for this WebSocket: is it a cache, or "
                         "another program?");
    return 0;
}
