#include "toml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"

enum { DEPTH_MOST = 100, KEY_MOST = 64 };

/* What a part of the text is to the table that is meant. */
enum part_kind {
    PART_OTHER,
    PART_HEADER, /* the table's own */
    PART_BELOW,  /* the header of a table below it, or what is in one */
    PART_KEY     /* of the table itself */
};

struct part {
    enum part_kind kind;
    size_t start, value, end;
    char key[KEY_MOST]; /* "" if it is longer, or has several names */
};

typedef bool (*part_fn)(const struct part *part, void *context);

struct scan {
    const char *text;
    size_t size, at;
    const struct toml_table *table;
    enum part_kind here; /* of which the statements are parts */
    size_t depth;        /* how many names the header has that began this, */
    size_t match;        /* and how many of the first of them are the table's */
    const char *fault;
    part_fn fn;
    void *context;
};

/* ---- walking ---- */

static bool fail(struct scan *scan, const char *fault) {
    if (!scan->fault)
        scan->fault = fault;
    return false;
}

static char look(const struct scan *scan, size_t ahead) {
    return scan->at + ahead < scan->size ? scan->text[scan->at + ahead] : 0;
}

static void skip(struct scan *scan, bool lines) {
    for (; scan->at < scan->size; scan->at++) {
        char c = scan->text[scan->at];
        if (c == '#')
            while (look(scan, 1) && look(scan, 1) != '\n')
                scan->at++;
        else if (c != ' ' && c != '\t' && !(c == '\r' && look(scan, 1) == '\n') &&
                 !(lines && c == '\n'))
            break;
    }
}

static bool pass_text(struct scan *scan) {
    char quote = look(scan, 0);
    bool is_long = look(scan, 1) == quote && look(scan, 2) == quote;
    for (scan->at += is_long ? 3 : 1; scan->at < scan->size; scan->at++) {
        char c = scan->text[scan->at];
        if (c == '\n' && !is_long)
            break;
        if (c == '\\' && quote == '"') {
            scan->at++;
        } else if (c == quote && !is_long) {
            scan->at++;
            return true;
        } else if (c == quote && look(scan, 1) == quote && look(scan, 2) == quote) {
            scan->at += 3;
            for (int i = 0; i < 2 && look(scan, 0) == quote; i++)
                scan->at++; /* up to two may stand before the closing three */
            return true;
        }
    }
    return fail(scan, "a text has no closing quote");
}

static bool pass_value(struct scan *scan, int depth);

/* The names of a key. Counts them, and how many of the first ones are the table's, if `match` of
 * `depth` that stand before them are. */
static bool pass_key(struct scan *scan, struct part *part, size_t *depth, size_t *match) {
    const char *const wanted[] = {scan->table->holder, scan->table->name};
    size_t count = 0;
    for (;; count++) {
        size_t from = scan->at, length;
        if (look(scan, 0) == '"' || look(scan, 0) == '\'') {
            if (!pass_text(scan))
                return false;
            from++;
            length = scan->at - 1 - from;
        } else {
            while (look(scan, 0) && !strchr(".=] \t\r\n[{}\"'#,", look(scan, 0)))
                scan->at++;
            length = scan->at - from;
            if (length == 0)
                return fail(scan, "there should be a name");
        }
        if (*match == *depth && *depth < 2 && strlen(wanted[*depth]) == length &&
            memcmp(wanted[*depth], scan->text + from, length) == 0)
            ++*match;
        ++*depth;
        part->key[0] = 0;
        if (count == 0 && length < KEY_MOST) {
            memcpy(part->key, scan->text + from, length);
            part->key[length] = 0;
        }
        skip(scan, false);
        if (look(scan, 0) != '.')
            return true;
        scan->at++;
        skip(scan, false);
    }
}

static bool pass_list(struct scan *scan, int depth) {
    bool in_braces = look(scan, 0) == '{';
    char close = in_braces ? '}' : ']';
    if (depth == DEPTH_MOST)
        return fail(scan, "it is nested too deeply");
    scan->at++;
    skip(scan, true);
    while (scan->at < scan->size && look(scan, 0) != close) {
        struct part ignored;
        size_t names = 2, match = 0;
        if (in_braces) {
            if (!pass_key(scan, &ignored, &names, &match))
                return false;
            if (look(scan, 0) != '=')
                return fail(scan, "there should be \"=\"");
            scan->at++;
            skip(scan, false);
        }
        if (!pass_value(scan, depth + 1))
            return false;
        skip(scan, true);
        if (look(scan, 0) == ',') {
            scan->at++;
            skip(scan, true);
        } else if (look(scan, 0) != close) {
            return fail(scan, "there should be a comma");
        }
    }
    if (scan->at == scan->size)
        return fail(scan, "the end is missing");
    scan->at++;
    return true;
}

/* Numbers, dates and words: only where they end matters. */
static bool pass_plain(struct scan *scan) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "+-_.:";
    size_t from = scan->at;
    bool numeric = strchr("+-0123456789", look(scan, 0)) != NULL;
    while (look(scan, 0) && strchr(allowed, look(scan, 0)))
        scan->at++;
    if (scan->at == from + 10 && look(scan, 0) == ' ' && look(scan, 1) >= '0' &&
        look(scan, 1) <= '9' && look(scan, 3) == ':') /* a date, and a time of day */
        for (scan->at++; look(scan, 0) && strchr(allowed, look(scan, 0));)
            scan->at++;
    if (scan->at > from && (numeric || strchr("tfin", scan->text[from])))
        return true;
    scan->at = from;
    return fail(scan, "there should be a value");
}

static bool pass_value(struct scan *scan, int depth) {
    char c = look(scan, 0);
    if (c == '"' || c == '\'')
        return pass_text(scan);
    return c == '[' || c == '{' ? pass_list(scan, depth) : c && pass_plain(scan);
}

/* ---- parts ---- */

static bool emit(struct scan *scan, struct part *part) {
    part->end = scan->at;
    return scan->fn(part, scan->context) || fail(scan, "it has this table twice");
}

static bool pass_header(struct scan *scan) {
    struct part part = {.start = scan->at};
    bool is_array = look(scan, 1) == '[';
    scan->depth = scan->match = 0;
    scan->at += is_array ? 2 : 1;
    skip(scan, false);
    if (!pass_key(scan, &part, &scan->depth, &scan->match))
        return false;
    for (int i = 0; i < (is_array ? 2 : 1); i++, scan->at++)
        if (look(scan, 0) != ']')
            return fail(scan, "there should be a closing bracket");
    if (is_array && scan->match == scan->depth)
        return fail(scan, "its servers are written in a way that is not changed here");
    if (scan->match == 2)
        part.kind = scan->depth == 2 ? PART_HEADER : PART_BELOW;
    scan->here = part.kind;
    return emit(scan, &part);
}

static bool pass_statement(struct scan *scan) {
    struct part part = {.start = scan->at};
    size_t depth = scan->depth, match = scan->match;
    if (!pass_key(scan, &part, &depth, &match))
        return false;
    if (look(scan, 0) != '=')
        return fail(scan, "there should be \"=\"");
    if (scan->here == PART_OTHER && match == (depth < 2 ? depth : 2) && match > scan->match)
        return fail(scan, "its servers are written in a way that is not changed here");
    scan->at++;
    skip(scan, false);
    part.value = scan->at;
    part.kind = scan->here == PART_HEADER ? PART_KEY : scan->here;
    if (!pass_value(scan, 0))
        return fail(scan, "there should be a value");
    return emit(scan, &part);
}

static bool pass_all(struct scan *scan) {
    for (skip(scan, true); scan->at < scan->size; skip(scan, true)) {
        if (!(look(scan, 0) == '[' ? pass_header(scan) : pass_statement(scan)))
            return false;
        skip(scan, false);
        if (scan->at < scan->size && look(scan, 0) != '\n')
            return fail(scan, "there should be nothing more on this line");
    }
    return true;
}

static bool scan_parts(const char *text, size_t length, const struct toml_table *table, part_fn fn,
                       void *context, struct error *err) {
    struct scan scan = {.text = text, .size = length, .table = table, .fn = fn, .context = context};
    int line = 1;
    if (memchr(text, 0, length))
        fail(&scan, "it is not text");
    else if (pass_all(&scan))
        return true;
    for (size_t i = 0; i < scan.at && i < length; i++)
        line += text[i] == '\n';
    error_set(err, UV_EINVAL, "line %d: %s", line, scan.fault);
    return false;
}

/* ---- reading ---- */

/* A text, or a list of texts; else null. */
static json_t *value_of(const char *text, size_t length) {
    json_t *value = NULL;
    if (length >= 2 && text[0] == '\'' && text[1] != '\'')
        return json_stringn(text + 1, length - 2);
    if (text[0] == '"' || text[0] == '[')
        value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    return value ? value : json_null();
}

struct reading {
    const char *text;
    json_t *values;
    bool twice;
};

static bool read_part(const struct part *part, void *context) {
    struct reading *reading = context;
    if (part->kind == PART_HEADER && reading->values)
        return false;
    if (part->kind == PART_HEADER)
        reading->values = json_object();
    if (part->kind == PART_KEY && part->key[0])
        json_object_set_new(reading->values, part->key,
                            value_of(reading->text + part->value, part->end - part->value));
    return true;
}

json_t *toml_values(const char *text, size_t length, const struct toml_table *table,
                    struct error *err) {
    struct reading reading = {.text = text};
    if (!scan_parts(text, length, table, read_part, &reading, err)) {
        json_decref(reading.values);
        return NULL;
    }
    return reading.values;
}

/* ---- writing ---- */

struct writing {
    const char *text, *key, *newline;
    size_t size, copied;
    json_t *value;
    struct buffer *out;
    size_t header_end; /* 0: there is no such table */
    bool is_there;     /* the key is */
};

static void copy_to(struct writing *writing, size_t end) {
    if (end > writing->copied)
        buffer_add(writing->out, writing->text + writing->copied, end - writing->copied);
    if (end > writing->copied)
        writing->copied = end;
}

static void add_value(struct buffer *out, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    out->failed |= !text;
    for (const char *c = text; c && *c; c++) {
        buffer_add_char(out, *c);
        if (*c == ',' && c[-1] == '"' && c[1] == '"') /* between the items of a list */
            buffer_add_char(out, ' ');
    }
    free(text);
}

static void add_line(struct writing *writing, const char *key, const json_t *value) {
    buffer_format(writing->out, "%s = ", key);
    add_value(writing->out, value);
}

static size_t line_start(const struct writing *writing, size_t at) {
    while (at > 0 && writing->text[at - 1] != '\n')
        at--;
    return at;
}

/* Behind the end of the line. */
static size_t line_end(const struct writing *writing, size_t at) {
    const char *end = memchr(writing->text + at, '\n', writing->size - at);
    return end ? (size_t)(end - writing->text) + 1 : writing->size;
}

/* Replaces the key's value, or takes its lines out. */
static bool write_key(const struct part *part, void *context) {
    struct writing *writing = context;
    if (part->kind == PART_HEADER)
        writing->header_end = part->end;
    if (part->kind != PART_KEY || strcmp(part->key, writing->key) != 0)
        return true;
    writing->is_there = true;
    if (writing->value) {
        copy_to(writing, part->value);
        add_value(writing->out, writing->value);
        writing->copied = part->end;
    } else {
        copy_to(writing, line_start(writing, part->start));
        writing->copied = line_end(writing, part->end);
    }
    return true;
}

/* Takes the lines of the table and of those below it out; comments stay. */
static bool cut_part(const struct part *part, void *context) {
    struct writing *writing = context;
    if (part->kind == PART_OTHER)
        return true;
    copy_to(writing, line_start(writing, part->start));
    writing->copied = line_end(writing, part->end);
    return true;
}

static void add_table(struct writing *writing, const struct toml_table *table) {
    const char *key;
    json_t *value;
    copy_to(writing, writing->size);
    if (writing->size > 0 && writing->text[writing->size - 1] != '\n')
        buffer_add_text(writing->out, writing->newline);
    if (writing->size > 0)
        buffer_add_text(writing->out, writing->newline);
    buffer_format(writing->out, "[%s.%s]%s", table->holder, table->name, writing->newline);
    json_object_foreach(writing->value, key, value) {
        add_line(writing, key, value);
        buffer_add_text(writing->out, writing->newline);
    }
}

/* The key's line, behind that of the header. */
static void add_key(struct writing *writing, const char *text, size_t length) {
    size_t end = writing->header_end;
    while (end < length && text[end] != '\n' && text[end] != '\r')
        end++;
    copy_to(writing, end);
    buffer_add_text(writing->out, writing->newline);
    add_line(writing, writing->key, writing->value);
}

void toml_set(const char *text, size_t length, const struct toml_table *table, const char *key,
              json_t *value, struct buffer *out) {
    const char *first = memchr(text, '\n', length);
    struct writing writing = {.text = text, .size = length, .key = key, .value = value, .out = out};
    writing.newline = first && first > text && first[-1] == '\r' ? "\r\n" : "\n";
    if (key)
        scan_parts(text, length, table, write_key, &writing, NULL);
    else if (!value)
        scan_parts(text, length, table, cut_part, &writing, NULL);
    else
        add_table(&writing, table);
    if (key && value && !writing.is_there)
        add_key(&writing, text, length);
    copy_to(&writing, length);
}
