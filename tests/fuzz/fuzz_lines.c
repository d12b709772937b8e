/* A stream cut into lines is the same however it comes in pieces, and the same as a slow reading of
 * the whole.
 *
 * The first byte of the input chooses the pieces. In the rest, 0x01 c n stands for n × 512 times c,
 * so that short inputs reach the limit. */
#include "fuzz.h"
#include "protocol/lines.h"

#include <errno.h>
#include <string.h>

/* A long stream is not cut into the smallest pieces: that would take most of the time. */
enum { STREAM_MAX = LINES_MAX + 4096, PIECES_MOST = 1024, CHANGING = 2500 };

const char *const fuzz_words[] = {
    "\n",        "\r\n",      "\r",         "\xe2\x82\xac", "{\"type\":\"hello\"}",
    "\x01x\x80", "\x01x\x7f", "\x01\r\x40", "\x01\n\x02",   "\x01y\xff",
    "\xc3",      NULL};

/* Lines with a newline behind each, and the result. */
struct heard {
    char *text;
    size_t length, count, stop_after;
    int rc;
};

static bool hear(const char *line, size_t length, void *context) {
    struct heard *heard = context;
    FUZZ_CHECK(line[length] == 0);
    FUZZ_CHECK(length <= LINES_MAX);
    FUZZ_CHECK(!memchr(line, '\n', length));
    FUZZ_CHECK(heard->length + length + 1 <= STREAM_MAX);
    FUZZ_CHECK(heard->stop_after == 0 || heard->count < heard->stop_after);
    memcpy(heard->text + heard->length, line, length);
    heard->text[heard->length + length] = '\n';
    heard->length += length + 1;
    return ++heard->count != heard->stop_after;
}

static size_t expand(const uint8_t *data, size_t size, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < size && used < STREAM_MAX; i++) {
        size_t times = 1;
        char byte = (char)data[i];
        if (data[i] == 1 && i + 2 < size) {
            byte = (char)data[i + 1];
            times = (size_t)data[i + 2] * 512;
            i += 2;
        }
        times = times < STREAM_MAX - used ? times : STREAM_MAX - used;
        memset(out + used, byte, times);
        used += times;
    }
    return used;
}

/* One line after the other, from the whole. */
static struct heard read_slowly(const char *stream, size_t count, size_t stop_after) {
    static char text[STREAM_MAX];
    struct heard heard = {.text = text, .stop_after = stop_after};
    for (size_t at = 0; at < count;) {
        const char *newline = memchr(stream + at, '\n', count - at);
        size_t length = newline ? (size_t)(newline - stream) - at : count - at;
        if (length > LINES_MAX + 1)
            heard.rc = -EMSGSIZE; /* not even a CR at its end could save it */
        if (heard.rc == 0 && at + length == count)
            break;
        size_t shown = length > 0 && stream[at + length - 1] == '\r' ? length - 1 : length;
        if (shown > LINES_MAX)
            heard.rc = -EMSGSIZE;
        if (heard.rc < 0)
            break;
        memcpy(heard.text + heard.length, stream + at, shown);
        heard.text[heard.length + shown] = '\n';
        heard.length += shown + 1;
        at += length + 1;
        if (++heard.count == stop_after) {
            heard.rc = -ECANCELED;
            break;
        }
    }
    return heard;
}

/* Pieces of `piece` bytes; CHANGING: of changing sizes. */
static struct heard read_pieces(const char *stream, size_t count, size_t piece, size_t stop_after) {
    static char text[STREAM_MAX];
    struct heard heard = {.text = text, .stop_after = stop_after};
    struct buffer lines = {0};
    unsigned changing = 7;
    for (size_t at = 0; at < count && heard.rc == 0;) {
        size_t size = piece;
        changing = changing * 1103515245 + 12345;
        if (piece == CHANGING)
            size = (changing >> 16) % 5000;
        size = size < count - at ? size : count - at;
        heard.rc = lines_feed(&lines, stream + at, size, hear, &heard);
        at += size;
        FUZZ_CHECK(lines.capacity <= 2 * LINES_MAX);
        FUZZ_CHECK(lines.length < lines.capacity || lines.length == 0);
        FUZZ_CHECK(heard.rc != 0 || lines.length > 0 || lines.capacity <= 1024);
    }
    buffer_finish(&lines);
    FUZZ_CHECK(lines.data == NULL && lines.length == 0 && lines.capacity == 0);
    return heard;
}

static void compare(const struct heard *a, const struct heard *b) {
    FUZZ_CHECK(a->rc == b->rc);
    FUZZ_CHECK(a->count == b->count);
    FUZZ_CHECK(a->length == b->length);
    FUZZ_CHECK(memcmp(a->text, b->text, a->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char stream[STREAM_MAX];
    static const size_t pieces[] = {STREAM_MAX, CHANGING, 4096, 17, 1};
    uint8_t choice = size > 0 ? data[0] : 0;
    size_t count = expand(data + (size > 0), size > 0 ? size - 1 : 0, stream);
    size_t stop_after = choice & 8 ? 1 + (choice >> 4) : 0;
    struct heard expected = read_slowly(stream, count, stop_after);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct heard heard;
        if (count > pieces[i] * PIECES_MOST)
            continue;
        heard = read_pieces(stream, count, pieces[i], stop_after);
        compare(&expected, &heard);
    }
    return 0;
}
