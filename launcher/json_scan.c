#include "json_scan.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "utf8.h"

enum { IS_ARRAY = 0x80 }; /* beside the place of a container */

/* Where a reader of the text is. */
struct reader {
    struct scan *scan;
    const char *at, *end;
    size_t depth;
    unsigned char inside[SCAN_DEPTH_MAX]; /* the containers around: places, and what they are */
};

/* ---- places ---- */

static const struct {
    enum scan_place inside, place;
    const char *key;
    size_t length;
} places[] = {
    {SCAN_MESSAGE, SCAN_ID, "id", 2},
    {SCAN_MESSAGE, SCAN_METHOD, "method", 6},
    {SCAN_MESSAGE, SCAN_PARAMS, "params", 6},
    {SCAN_MESSAGE, SCAN_RESULT, "result", 6},
    {SCAN_MESSAGE, SCAN_ERROR, "error", 5},
    {SCAN_PARAMS, SCAN_NAME, "name", 4},
    {SCAN_PARAMS, SCAN_URI, "uri", 3},
    {SCAN_PARAMS, SCAN_REQUEST_ID, "requestId", 9},
    {SCAN_PARAMS, SCAN_ARGUMENTS, "arguments", 9},
    {SCAN_PARAMS, SCAN_META, "_meta", 5},
    {SCAN_META, SCAN_VERSION, "io.modelcontextprotocol/protocolVersion", 39},
    {SCAN_MESSAGE, SCAN_JSONRPC, "jsonrpc", 7},
    {SCAN_RESULT, SCAN_RESULT_TYPE, "resultType", 10},
    {SCAN_RESULT, SCAN_RESULT_META, "_meta", 5},
};

#define PLACES_COUNT (sizeof places / sizeof places[0])

/* The place of the value of a key. One of which anything is escaped is none of those looked for. */
static enum scan_place find_place(enum scan_place inside, const char *key, size_t length) {
    if (inside == SCAN_NOWHERE)
        return SCAN_NOWHERE;
    for (size_t i = 0; i < PLACES_COUNT; i++)
        if (places[i].inside == inside && places[i].length == length &&
            memcmp(places[i].key, key, length) == 0)
            return places[i].place;
    return SCAN_NOWHERE;
}

static void forget_place(struct scan *scan, enum scan_place place) {
    scan->spans[place] = (struct scan_span){0};
    for (size_t i = 0; i < PLACES_COUNT; i++)
        if (places[i].inside == place)
            forget_place(scan, places[i].place);
}

static void value_begins(struct reader *reader, enum scan_place place) {
    if (place == SCAN_NOWHERE)
        return;
    if (reader->scan->spans[place].at)
        forget_place(reader->scan, place);
    reader->scan->spans[place].at = reader->at;
}

static void value_ends(struct reader *reader, enum scan_place place) {
    struct scan_span *span = &reader->scan->spans[place];
    if (place != SCAN_NOWHERE)
        span->length = (size_t)(reader->at - span->at);
}

/* ---- what has no parts ---- */

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_hex(char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static void skip_space(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' ||
                                        *reader->at == '\r' || *reader->at == '\n'))
        reader->at++;
}

static bool take_byte(struct reader *reader, char byte) {
    if (reader->at == reader->end || *reader->at != byte)
        return false;
    reader->at++;
    return true;
}

/* From behind the backslash on. */
static bool read_escape(struct reader *reader) {
    char byte = reader->at < reader->end ? *reader->at++ : 0;
    if (byte != 'u')
        return byte && strchr("\"\\/bfnrt", byte);
    for (int i = 0; i < 4; i++)
        if (reader->at == reader->end || !is_hex(*reader->at++))
            return false;
    return true;
}

static bool read_string(struct reader *reader) {
    if (!take_byte(reader, '"'))
        return false;
    while (reader->at < reader->end) {
        char byte = *reader->at++;
        if (byte == '"')
            return true;
        if ((unsigned char)byte < 0x20 || (byte == '\\' && !read_escape(reader)))
            return false;
    }
    return false;
}

static bool read_digits(struct reader *reader) {
    const char *from = reader->at;
    while (reader->at < reader->end && is_digit(*reader->at))
        reader->at++;
    return reader->at > from;
}

static bool read_number(struct reader *reader) {
    take_byte(reader, '-');
    if (!take_byte(reader, '0') && !read_digits(reader))
        return false;
    if (take_byte(reader, '.') && !read_digits(reader))
        return false;
    if (!take_byte(reader, 'e') && !take_byte(reader, 'E'))
        return true;
    if (!take_byte(reader, '+'))
        take_byte(reader, '-');
    return read_digits(reader);
}

static bool read_word(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool read_scalar(struct reader *reader) {
    switch (reader->at < reader->end ? *reader->at : 0) {
    case '"':
        return read_string(reader);
    case 't':
        return read_word(reader, "true");
    case 'f':
        return read_word(reader, "false");
    case 'n':
        return read_word(reader, "null");
    default:
        return read_number(reader);
    }
}

/* ---- objects and arrays ---- */

static bool read_key(struct reader *reader, enum scan_place *place) {
    const char *key;
    skip_space(reader);
    key = reader->at + 1;
    if (!read_string(reader))
        return false;
    *place = find_place(reader->inside[reader->depth - 1], key, (size_t)(reader->at - 1 - key));
    skip_space(reader);
    return take_byte(reader, ':');
}

/* What a value begins with: a container to go into, or all of it. */
static bool read_beginning(struct reader *reader, enum scan_place place, bool *goes_in) {
    char byte;
    skip_space(reader);
    byte = reader->at < reader->end ? *reader->at : 0;
    value_begins(reader, place);
    reader->scan->values++;
    *goes_in = byte == '{' || byte == '[';
    if (!*goes_in) {
        if (!read_scalar(reader))
            return false;
        value_ends(reader, place);
        return true;
    }
    if (reader->depth == SCAN_DEPTH_MAX)
        return false;
    reader->inside[reader->depth++] = (unsigned char)(byte == '[' ? place | IS_ARRAY : place);
    if (reader->depth > reader->scan->depth)
        reader->scan->depth = reader->depth;
    reader->at++;
    skip_space(reader);
    return true;
}

/* Ends all containers that end here. True if another value follows in the one that is left. */
static bool read_ends(struct reader *reader, bool is_first) {
    while (reader->depth > 0) {
        unsigned char inside = reader->inside[reader->depth - 1];
        skip_space(reader);
        if (!take_byte(reader, inside & IS_ARRAY ? ']' : '}'))
            return is_first || take_byte(reader, ',');
        reader->depth--;
        value_ends(reader, inside & ~IS_ARRAY);
        is_first = false;
    }
    return false;
}

static bool read_value(struct reader *reader) {
    enum scan_place place = SCAN_MESSAGE;
    bool goes_in;
    do {
        if (reader->depth > 0)
            place = SCAN_NOWHERE;
        if (reader->depth > 0 && !(reader->inside[reader->depth - 1] & IS_ARRAY) &&
            !read_key(reader, &place))
            return false;
        if (!read_beginning(reader, place, &goes_in))
            return false;
    } while (read_ends(reader, goes_in));
    skip_space(reader);
    return reader->depth == 0 && reader->at == reader->end;
}

int scan_message(struct scan *scan, const char *text, size_t length) {
    struct reader reader;
    memset(scan, 0, sizeof *scan);
    reader.scan = scan;
    reader.at = text;
    reader.end = text + length;
    reader.depth = 0;
    return read_value(&reader) ? 0 : UV_EINVAL;
}

/* ---- reading what was found ---- */

static unsigned hex_value(const char *digits) {
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        unsigned digit = is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        value = value << 4 | digit;
    }
    return value;
}

static size_t encode_utf8(unsigned code, char out[4]) {
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[length] | code);
    return length;
}

/* Reads \uXXXX, and its other half if there is one; `at` is behind the u. */
static unsigned read_unicode(const char *raw, size_t length, size_t *at) {
    unsigned code = hex_value(raw + *at), low;
    *at += 4;
    if (code >= 0xd800 && code < 0xdc00 && *at + 6 <= length && raw[*at] == '\\' &&
        raw[*at + 1] == 'u') {
        low = hex_value(raw + *at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return code == 0 || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
}

/* One character from `at` on, into at most 4 bytes. */
static size_t read_character(const char *raw, size_t length, size_t *at, char out[4]) {
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    const char *name;
    if (raw[*at] != '\\') {
        size_t sequence = utf8_sequence(raw + *at, length - *at);
        sequence = sequence ? sequence : 1;
        memcpy(out, raw + *at, sequence);
        *at += sequence;
        return sequence;
    }
    *at += 2;
    if (raw[*at - 1] == 'u')
        return encode_utf8(read_unicode(raw, length, at), out);
    name = strchr(names, raw[*at - 1]);
    out[0] = name ? values[name - names] : raw[*at - 1];
    return 1;
}

bool scan_is_string(const struct scan_span *span) {
    return span->at && span->at[0] == '"';
}

bool scan_is_scalar(const struct scan_span *span) {
    return span->at && (span->at[0] == '"' || span->at[0] == '-' || is_digit(span->at[0]));
}

bool scan_decode(const struct scan_span *span, char *out, size_t size) {
    size_t at = 1, used = 0;
    if (!scan_is_string(span) || size == 0)
        return false;
    while (at < span->length - 1) {
        char character[4];
        size_t length = read_character(span->at, span->length - 1, &at, character);
        if (used + length >= size)
            return false;
        memcpy(out + used, character, length);
        used += length;
    }
    out[used] = 0;
    return true;
}

bool scan_is(const struct scan_span *span, const char *value) {
    size_t length = strlen(value);
    return scan_is_string(span) && span->length == length + 2 &&
           memcmp(span->at + 1, value, length) == 0;
}

static bool same_string(const struct scan_span *a, const struct scan_span *b) {
    size_t at = 1, other = 1;
    while (at < a->length - 1 && other < b->length - 1) {
        char one[4], two[4];
        size_t size = read_character(a->at, a->length - 1, &at, one);
        if (read_character(b->at, b->length - 1, &other, two) != size ||
            memcmp(one, two, size) != 0)
            return false;
    }
    return at == a->length - 1 && other == b->length - 1;
}

bool scan_same_id(const struct scan_span *a, const struct scan_span *b) {
    if (!scan_is_scalar(a) || !scan_is_scalar(b))
        return false;
    if (a->length == b->length && memcmp(a->at, b->at, a->length) == 0)
        return true;
    if (scan_is_string(a) || scan_is_string(b))
        return scan_is_string(a) && scan_is_string(b) && same_string(a, b);
    return strtod(a->at, NULL) == strtod(b->at, NULL); /* a number ends by what is behind it */
}

enum scan_kind scan_kind(const struct scan *scan) {
    const struct scan_span *id = &scan->spans[SCAN_ID], *method = &scan->spans[SCAN_METHOD];
    if (scan->spans[SCAN_MESSAGE].at[0] != '{')
        return SCAN_INVALID;
    if (method->at) {
        if (!scan_is_string(method) || (id->at && !scan_is_scalar(id)))
            return SCAN_INVALID;
        return id->at ? SCAN_REQUEST : SCAN_NOTIFICATION;
    }
    return scan->spans[SCAN_RESULT].at || scan->spans[SCAN_ERROR].at ? SCAN_RESPONSE : SCAN_INVALID;
}
