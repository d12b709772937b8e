/* Whatever comes as a handshake: a server lets in nobody without its token and with an origin, and
 * a client believes only the answer to its own key. The first byte chooses the side. */
#include "fuzz.h"
#include "serve/relay/upgrade.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

const char *const fuzz_words[] = {
    "GET /editor HTTP/1.1\r\n",
    "Host: 127.0.0.1:9500\r\n",
    "Host: [::1]\r\n",
    "Upgrade: websocket\r\n",
    "Connection: Upgrade\r\n",
    "Sec-WebSocket-Version: 13\r\n",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    "Authorization: Bearer c0ffee\r\n",
    "Origin: null\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
    "\r\n",
    "\r\n\r\n",
    " ",
    ",",
    ":",
    "\t",
    "keep-alive",
    NULL,
};

/* Whether the word is there, in any case of its letters. */
static bool has(const char *bytes, size_t count, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= count; i++) {
        size_t same = 0;
        while (same < length && (bytes[i + same] == word[same] ||
                                 ((bytes[i + same] ^ word[same]) == 32 && word[same] >= 'A')))
            same++;
        if (same == length)
            return true;
    }
    return false;
}

static void check_request(const char *head, size_t length) {
    char accept[WEBSOCKET_ACCEPT_SIZE] = "";
    const char *why = NULL;
    int status = editor_request_check(head, length, 9500, "c0ffee", accept, &why);
    FUZZ_CHECK((status == 101) == (why == NULL));
    FUZZ_CHECK(status == 101 || status == 400 || status == 401 || status == 403 || status == 404 ||
               status == 405 || status == 426);
    if (status != 101)
        return;
    FUZZ_CHECK(strlen(accept) == WEBSOCKET_ACCEPT_SIZE - 1);
    FUZZ_CHECK(length > 22 && memcmp(head, "GET /editor HTTP/1.1\r\n", 22) == 0);
    FUZZ_CHECK(has(head, length, "c0ffee"));
    FUZZ_CHECK(has(head, length, "websocket"));
    FUZZ_CHECK(!has(head, length, "\r\norigin:"));
}

static void check_response(const char *head, size_t length) {
    struct error err = {0, ""};
    int rc = websocket_response(head, length, "dGhlIHNhbXBsZSBub25jZQ==", &err);
    FUZZ_CHECK(rc == 0 || rc == -EPROTO || rc == -EACCES || rc == -ECONNREFUSED);
    FUZZ_CHECK(rc == 0 || err.message[0]);
    if (rc == 0) {
        FUZZ_CHECK(memcmp(head, "HTTP/1.1 101", 12) == 0);
        FUZZ_CHECK(has(head, length, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data + (size > 0);
    size_t count = size > 0 ? size - 1 : 0, length = http_head_length(bytes, count);
    char *head;
    FUZZ_CHECK(length <= count);
    FUZZ_CHECK(length > 0 ? memcmp(bytes + length - 4, "\r\n\r\n", 4) == 0
                          : !has(bytes, count, "\r\n\r\n"));
    if (length == 0)
        return 0;
    head = malloc(length); /* of just this size: checkers see who reads beyond it */
    if (!head)
        abort();
    memcpy(head, bytes, length);
    if (data[0] & 1)
        check_request(head, length);
    else
        check_response(head, length);
    free(head);
    return 0;
}
