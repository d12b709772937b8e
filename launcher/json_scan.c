#include "json_scan.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "utf8.h"

enum state {
    BEFORE_VALUE,
    BEFORE_FIRST_VALUE, /* or the end of an array */
    BEFORE_FIRST_KEY,   /* or the end of an object */
    BEFORE_KEY,
    BEFORE_COLON,
    AFTER_VALUE,
    IN_STRING,
    IN_ESCAPE,
    IN_UNICODE,
    IN_LITERAL,
    IN_MINUS,
    IN_ZERO,
    IN_DIGITS,
    IN_POINT,
    IN_FRACTION,
    IN_E,
    IN_SIGN,
    IN_EXPONENT,
    AT_END,
};

/* ---- where we are ---- */

static bool in_array(const struct scan *scan) {
    size_t level = scan->depth - 1;
    return scan->is_array[level / 8] >> (level % 8) & 1;
}

static const struct {
    enum scan_place inside, place;
    const char *key;
} places[] = {
    {SCAN_NOWHERE, SCAN_ID, "id"},
    {SCAN_NOWHERE, SCAN_METHOD, "method"},
    {SCAN_NOWHERE, SCAN_PARAMS, "params"},
    {SCAN_NOWHERE, SCAN_RESULT, "result"},
    {SCAN_NOWHERE, SCAN_ERROR, "error"},
    {SCAN_PARAMS, SCAN_NAME, "name"},
    {SCAN_PARAMS, SCAN_URI, "uri"},
    {SCAN_PARAMS, SCAN_REQUEST_ID, "requestId"},
    {SCAN_PARAMS, SCAN_META, "_meta"},
    {SCAN_META, SCAN_VERSION, "io.modelcontextprotocol/protocolVersion"},
};

/* The place of the value whose key has just ended. */
static enum scan_place find_place(const struct scan *scan) {
    enum scan_place inside;
    if (scan->depth == 0 || scan->depth > 3)
        return SCAN_NOWHERE;
    inside = scan->inside[scan->depth - 1];
    if (scan->depth > 1 && inside == SCAN_NOWHERE)
        return SCAN_NOWHERE;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (places[i].inside == inside && strlen(places[i].key) == scan->key_length &&
            memcmp(places[i].key, scan->key, scan->key_length) == 0)
            return places[i].place;
    return SCAN_NOWHERE;
}

/* ---- picking out ---- */

static struct scan_text *wanted_text(struct scan *scan) {
    return scan->place != SCAN_NOWHERE && scan->place < SCAN_TEXTS ? &scan->texts[scan->place]
                                                                   : NULL;
}

static struct scan_span *wanted_span(struct scan *scan) {
    if (scan->place == SCAN_RESULT)
        return &scan->result;
    return scan->place == SCAN_ERROR ? &scan->error : NULL;
}

static void keep(struct scan *scan, char byte) {
    struct scan_text *text = wanted_text(scan);
    if (!text || !text->scalar)
        return;
    if (text->length == sizeof text->raw) {
        text->scalar = false; /* longer than anything of use */
        text->length = 0;
    } else {
        text->raw[text->length++] = byte;
    }
}

static void value_begins(struct scan *scan, bool scalar) {
    struct scan_text *text = wanted_text(scan);
    struct scan_span *span = wanted_span(scan);
    if (text) {
        text->present = true;
        text->scalar = scalar;
        text->length = 0;
    }
    if (span)
        *span = (struct scan_span){scan->position, 0};
}

static void value_ends(struct scan *scan, size_t end) {
    struct scan_span *span = wanted_span(scan);
    if (span)
        span->to = end;
    scan->place = SCAN_NOWHERE;
    scan->state = scan->depth == 0 ? AT_END : AFTER_VALUE;
}

/* ---- objects and arrays ---- */

static bool container_begins(struct scan *scan, bool array) {
    size_t level = scan->depth;
    if (level == SCAN_DEPTH_MAX)
        return false;
    value_begins(scan, false);
    if (level == 0)
        scan->is_object = !array;
    if (level < 3)
        scan->inside[level] = scan->place;
    if (array)
        scan->is_array[level / 8] |= (unsigned char)(1u << (level % 8));
    else
        scan->is_array[level / 8] &= (unsigned char)~(1u << (level % 8));
    scan->depth++;
    scan->place = SCAN_NOWHERE;
    scan->state = array ? BEFORE_FIRST_VALUE : BEFORE_FIRST_KEY;
    return true;
}

static void container_ends(struct scan *scan) {
    scan->depth--;
    scan->place = scan->depth < 3 ? scan->inside[scan->depth] : SCAN_NOWHERE;
    value_ends(scan, scan->position + 1);
}

/* ---- one byte in each state ---- */

static bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_hex(char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static bool literal_begins(struct scan *scan, const char *rest) {
    value_begins(scan, false);
    scan->literal = rest;
    scan->state = IN_LITERAL;
    return true;
}

static bool number_begins(struct scan *scan, char byte) {
    value_begins(scan, true);
    keep(scan, byte);
    scan->state = byte == '-' ? IN_MINUS : byte == '0' ? IN_ZERO : IN_DIGITS;
    return true;
}

static bool value_byte(struct scan *scan, char byte) {
    switch (byte) {
    case '{':
        return container_begins(scan, false);
    case '[':
        return container_begins(scan, true);
    case '"':
        value_begins(scan, true);
        keep(scan, byte);
        scan->state = IN_STRING;
        scan->resume = AFTER_VALUE;
        return true;
    case 't':
        return literal_begins(scan, "rue");
    case 'f':
        return literal_begins(scan, "alse");
    case 'n':
        return literal_begins(scan, "ull");
    default:
        return (byte == '-' || is_digit(byte)) && number_begins(scan, byte);
    }
}

static bool key_begins(struct scan *scan, char byte) {
    if (byte != '"')
        return false;
    scan->key_length = 0;
    scan->state = IN_STRING;
    scan->resume = BEFORE_COLON;
    return true;
}

/* A key of which anything is escaped or that is too long is none of those looked for. */
static void string_takes(struct scan *scan, char byte) {
    if (scan->resume == AFTER_VALUE)
        keep(scan, byte);
    else if (scan->key_length < sizeof scan->key)
        scan->key[scan->key_length++] = byte;
}

static void string_ends(struct scan *scan) {
    if (scan->resume == AFTER_VALUE) {
        keep(scan, '"');
        value_ends(scan, scan->position + 1);
    } else {
        scan->place = find_place(scan);
        scan->state = BEFORE_COLON;
    }
}

static bool string_byte(struct scan *scan, char byte) {
    if ((unsigned char)byte < 0x20)
        return false;
    if (byte == '"') {
        string_ends(scan);
        return true;
    }
    string_takes(scan, byte);
    if (byte == '\\')
        scan->state = IN_ESCAPE;
    return true;
}

static bool escape_byte(struct scan *scan, char byte) {
    string_takes(scan, byte);
    scan->digits = 0;
    scan->state = byte == 'u' ? IN_UNICODE : IN_STRING;
    return byte && strchr("\"\\/bfnrtu", byte);
}

static bool unicode_byte(struct scan *scan, char byte) {
    string_takes(scan, byte);
    if (++scan->digits == 4)
        scan->state = IN_STRING;
    return is_hex(byte);
}

static bool after_value_byte(struct scan *scan, char byte) {
    bool array = in_array(scan);
    if (byte == ',') {
        scan->state = array ? BEFORE_VALUE : BEFORE_KEY;
        return true;
    }
    if (byte != (array ? ']' : '}'))
        return false;
    container_ends(scan);
    return true;
}

static bool literal_byte(struct scan *scan, char byte) {
    if (byte != *scan->literal)
        return false;
    if (*++scan->literal == 0)
        value_ends(scan, scan->position + 1);
    return true;
}

/* ---- numbers ---- */

static bool number_may_end(int state) {
    return state == IN_ZERO || state == IN_DIGITS || state == IN_FRACTION || state == IN_EXPONENT;
}

/* The state behind this byte of a number, or -1 if it belongs to none. */
static int number_next(int state, char byte) {
    bool digit = is_digit(byte), e = byte == 'e' || byte == 'E';
    switch (state) {
    case IN_MINUS:
        return !digit ? -1 : byte == '0' ? IN_ZERO : IN_DIGITS;
    case IN_ZERO:
    case IN_DIGITS:
        if (digit)
            return state == IN_DIGITS ? IN_DIGITS : -1;
        return byte == '.' ? IN_POINT : e ? IN_E : -1;
    case IN_POINT:
    case IN_FRACTION:
        if (digit)
            return IN_FRACTION;
        return e && state == IN_FRACTION ? IN_E : -1;
    case IN_E:
        return digit ? IN_EXPONENT : byte == '+' || byte == '-' ? IN_SIGN : -1;
    default:
        return digit ? IN_EXPONENT : -1;
    }
}

static bool take(struct scan *scan, char byte);

static bool number_byte(struct scan *scan, char byte) {
    int next = number_next(scan->state, byte);
    if (next >= 0) {
        keep(scan, byte);
        scan->state = next;
        return true;
    }
    if (!number_may_end(scan->state))
        return false;
    value_ends(scan, scan->position);
    return take(scan, byte);
}

/* ---- all of them ---- */

static bool take_between(struct scan *scan, char byte) {
    if (is_space(byte))
        return true;
    switch (scan->state) {
    case BEFORE_FIRST_VALUE:
    case BEFORE_FIRST_KEY:
        if (byte == (scan->state == BEFORE_FIRST_VALUE ? ']' : '}')) {
            container_ends(scan);
            return true;
        }
        return scan->state == BEFORE_FIRST_VALUE ? value_byte(scan, byte) : key_begins(scan, byte);
    case BEFORE_VALUE:
        return value_byte(scan, byte);
    case BEFORE_KEY:
        return key_begins(scan, byte);
    case BEFORE_COLON:
        scan->state = BEFORE_VALUE;
        return byte == ':';
    case AFTER_VALUE:
        return after_value_byte(scan, byte);
    default:
        return false; /* AT_END */
    }
}

static bool take(struct scan *scan, char byte) {
    switch (scan->state) {
    case IN_STRING:
        return string_byte(scan, byte);
    case IN_ESCAPE:
        return escape_byte(scan, byte);
    case IN_UNICODE:
        return unicode_byte(scan, byte);
    case IN_LITERAL:
        return literal_byte(scan, byte);
    case IN_MINUS:
    case IN_ZERO:
    case IN_DIGITS:
    case IN_POINT:
    case IN_FRACTION:
    case IN_E:
    case IN_SIGN:
    case IN_EXPONENT:
        return number_byte(scan, byte);
    default:
        return take_between(scan, byte);
    }
}

/* Most of a long message is inside strings that nobody looks for. */
static size_t skip_string(const struct scan *scan, const char *bytes, size_t count) {
    size_t at = 0;
    if (scan->state != IN_STRING || scan->resume != AFTER_VALUE || scan->place != SCAN_NOWHERE)
        return 0;
    while (at < count && bytes[at] != '"' && bytes[at] != '\\' && (unsigned char)bytes[at] >= 0x20)
        at++;
    return at;
}

void scan_begin(struct scan *scan) {
    for (size_t i = 0; i < SCAN_TEXTS; i++) {
        scan->texts[i].present = scan->texts[i].scalar = false;
        scan->texts[i].length = 0;
    }
    scan->is_object = false;
    scan->result = scan->error = (struct scan_span){0, 0};
    scan->state = BEFORE_VALUE;
    scan->position = scan->depth = scan->key_length = 0;
    scan->place = SCAN_NOWHERE;
}

int scan_feed(struct scan *scan, const char *bytes, size_t count) {
    for (size_t at = 0; at < count; at++) {
        size_t skipped = skip_string(scan, bytes + at, count - at);
        at += skipped;
        scan->position += skipped;
        if (at == count)
            break;
        if (!take(scan, bytes[at]))
            return UV_EINVAL;
        scan->position++;
    }
    return 0;
}

int scan_end(struct scan *scan) {
    if (scan->depth == 0 && number_may_end(scan->state))
        value_ends(scan, scan->position);
    return scan->state == AT_END ? 0 : UV_EINVAL;
}

int scan_all(struct scan *scan, const char *bytes, size_t count) {
    int rc;
    scan_begin(scan);
    rc = scan_feed(scan, bytes, count);
    return rc < 0 ? rc : scan_end(scan);
}

/* ---- reading what was picked out ---- */

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

bool scan_decode(const struct scan_text *text, char *out, size_t size) {
    size_t at = 1, used = 0;
    if (!text->scalar || text->length < 2 || text->raw[0] != '"' || size == 0)
        return false;
    while (at < text->length - 1) {
        char character[4];
        size_t length = read_character(text->raw, text->length - 1, &at, character);
        if (used + length >= size)
            return false;
        memcpy(out + used, character, length);
        used += length;
    }
    out[used] = 0;
    return true;
}

bool scan_is(const struct scan_text *text, const char *value) {
    size_t length = strlen(value);
    return text->scalar && text->length == length + 2 && text->raw[0] == '"' &&
           memcmp(text->raw + 1, value, length) == 0;
}

/* What is behind a number in `raw` is none of it, and strtod stops there. */
static bool same_number(const struct scan_text *text, const char *raw, size_t length) {
    char a[64], b[64];
    if (text->length >= sizeof a || length >= sizeof b)
        return false;
    memcpy(a, text->raw, text->length);
    memcpy(b, raw, length);
    a[text->length] = b[length] = 0;
    return strtod(a, NULL) == strtod(b, NULL);
}

static bool same_string(const struct scan_text *text, const char *raw, size_t length) {
    size_t at = 1, other = 1;
    while (at < text->length - 1 && other < length - 1) {
        char a[4], b[4];
        size_t size = read_character(text->raw, text->length - 1, &at, a);
        if (read_character(raw, length - 1, &other, b) != size || memcmp(a, b, size) != 0)
            return false;
    }
    return at == text->length - 1 && other == length - 1;
}

bool scan_is_id(const struct scan_text *text, const char *raw, size_t length) {
    if (!text->scalar || length == 0)
        return false;
    if (text->length == length && memcmp(text->raw, raw, length) == 0)
        return true;
    if (text->raw[0] == '"' || raw[0] == '"')
        return text->raw[0] == raw[0] && same_string(text, raw, length);
    return same_number(text, raw, length);
}

enum scan_kind scan_kind(const struct scan *scan) {
    const struct scan_text *id = &scan->texts[SCAN_ID], *method = &scan->texts[SCAN_METHOD];
    if (!scan->is_object)
        return SCAN_INVALID;
    if (method->present) {
        if (!method->scalar || method->raw[0] != '"' || (id->present && !id->scalar))
            return SCAN_INVALID;
        return id->present ? SCAN_REQUEST : SCAN_NOTIFICATION;
    }
    return scan->result.to || scan->error.to ? SCAN_RESPONSE : SCAN_INVALID;
}
