/* Answers over HTTP: however the bytes are cut, the same comes out. And the messages in them: what
 * jansson reads the scan takes, and what it finds there is JSON within the message.
 *
 * The first byte of the input chooses how many bytes a piece has. */
#include <string.h>

#include <jansson.h>

#include "front/http_response.h"
#include "fuzz.h"
#include "json_scan.h"

const char *const fuzz_words[] = {"HTTP/1.1 200 OK\r\n",
                                  "HTTP/1.1 404 No\r\n",
                                  "HTTP/1.1 100 Continue\r\n\r\n",
                                  "Content-Type: text/event-stream\r\n",
                                  "Content-Type: application/json\r\n",
                                  "Transfer-Encoding: chunked\r\n",
                                  "Content-Length: 2\r\n",
                                  "Connection: close\r\n",
                                  "Mcp-Session-Id: s\r\n",
                                  "\r\n",
                                  "\n\n",
                                  "\r\r",
                                  "data: ",
                                  "id: ",
                                  "event: message",
                                  "event: x",
                                  "retry: 10",
                                  ": c",
                                  "\xef\xbb\xbf",
                                  "5\r\nabcde\r\n",
                                  "0\r\n\r\n",
                                  "{\"id\":1,\"method\":\"a\",\"params\":{\"name\":\"b\"}}",
                                  "\"result\":",
                                  "\\u00e9",
                                  "[1,-2.5e3,true,null]",
                                  NULL};

enum { HEARD_MAX = 1 << 16 };

struct heard {
    struct http_response answer;
    char text[HEARD_MAX];
    size_t length;
};

static void note(struct heard *heard, const char *data, size_t length) {
    FUZZ_CHECK(heard->length + length + 1 < sizeof heard->text);
    memcpy(heard->text + heard->length, data, length);
    heard->length += length;
    heard->text[heard->length++] = '\n';
}

/* ---- messages ---- */

static bool is_json(const char *data, size_t length) {
    json_t *value = json_loadb(data, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool is = value != NULL && !memchr(data, 0, length); /* it passes over a NUL behind a number */
    json_decref(value);
    return is;
}

/* What is found lies within the text, and is JSON by itself. */
static void check_span(const struct scan_span *span, const char *data, size_t length) {
    char text[SCAN_TEXT_MAX];
    struct scan inner;
    FUZZ_CHECK(span->at >= data && span->at + span->length <= data + length);
    FUZZ_CHECK(scan_message(&inner, span->at, span->length) == 0);
    FUZZ_CHECK(inner.spans[SCAN_MESSAGE].length == span->length);
    FUZZ_CHECK(scan_is_scalar(span) == scan_same_id(span, span) ||
               (!scan_is_string(span) && span->length >= 64));
    if (scan_decode(span, text, sizeof text))
        FUZZ_CHECK(scan_is_string(span) && strlen(text) < sizeof text);
}

static void check_scan(const char *data, size_t length) {
    struct scan scan;
    int rc = scan_message(&scan, data, length);
    if (is_json(data, length))
        FUZZ_CHECK(rc == 0);
    if (rc != 0)
        return;
    FUZZ_CHECK(scan.spans[SCAN_MESSAGE].at != NULL);
    FUZZ_CHECK(scan_kind(&scan) <= SCAN_RESPONSE);
    for (size_t i = SCAN_MESSAGE; i < SCAN_PLACES; i++)
        if (scan.spans[i].at)
            check_span(&scan.spans[i], data, length);
}

static bool on_message(const char *data, size_t length, void *context) {
    struct heard *heard = context;
    FUZZ_CHECK(heard->answer.is_stream && heard->answer.status >= 200 && length > 0);
    check_scan(data, length);
    note(heard, data, length);
    return true;
}

/* ---- answers ---- */

static void hear(struct heard *heard, const char *data, size_t size, size_t piece) {
    heard->length = 0;
    http_response_init(&heard->answer, on_message, heard);
    for (size_t at = 0; at < size; at += piece) {
        int rc =
            http_response_feed(&heard->answer, data + at, size - at < piece ? size - at : piece);
        if (rc < 0 || heard->answer.is_complete)
            break;
    }
    http_response_end(&heard->answer);
    FUZZ_CHECK(heard->answer.is_complete || heard->answer.code < 0);
    note(heard, heard->answer.body.data ? heard->answer.body.data : "", heard->answer.body.length);
    note(heard, heard->answer.session, strlen(heard->answer.session));
    note(heard, heard->answer.sse.id, heard->answer.sse.id_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct heard whole, pieces;
    const char *text = (const char *)data + (size > 0);
    size_t length = size > 0 ? size - 1 : 0;
    size_t piece = size > 0 && data[0] ? data[0] : 1;
    if (length > 4096)
        return 0;
    check_scan(text, length);
    hear(&whole, text, length, length + 1);
    hear(&pieces, text, length, piece);
    FUZZ_CHECK(whole.answer.status == pieces.answer.status);
    FUZZ_CHECK(whole.answer.is_complete == pieces.answer.is_complete);
    FUZZ_CHECK(whole.answer.code == pieces.answer.code);
    FUZZ_CHECK(whole.length == pieces.length);
    FUZZ_CHECK(memcmp(whole.text, pieces.text, whole.length) == 0);
    http_response_finish(&whole.answer);
    http_response_finish(&pieces.answer);
    return 0;
}
