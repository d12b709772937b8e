#include "jsonc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"

enum { DEPTH_MOST = 100 };

#define NOWHERE SIZE_MAX

/* A walk through a text. `plain` is a copy in which all that JSON does not have becomes spaces, or
 * NULL. */
struct walk {
    const char *text;
    size_t size, at;
    char *plain;
    int depth;
    const char *fault;
};

/* ---- walking ---- */

static bool fail(struct walk *walk, const char *fault) {
    if (!walk->fault)
        walk->fault = fault;
    return false;
}

static char peek(const struct walk *walk) {
    return walk->at < walk->size ? walk->text[walk->at] : 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void blank(struct walk *walk, size_t from, size_t to) {
    for (size_t i = from; walk->plain && i < to; i++)
        if (walk->text[i] != '\n')
            walk->plain[i] = ' ';
}

/* Behind the comment that begins here; its line's end is not part of it. */
static bool skip_comment(struct walk *walk) {
    size_t from = walk->at, at = from + 2;
    char second = from + 1 < walk->size ? walk->text[from + 1] : 0;
    if (second == '/') {
        while (at < walk->size && walk->text[at] != '\n')
            at++;
        if (walk->text[at - 1] == '\r')
            at--;
    } else if (second == '*') {
        while (at + 1 < walk->size && !(walk->text[at] == '*' && walk->text[at + 1] == '/'))
            at++;
        if (at + 1 >= walk->size)
            return fail(walk, "a comment has no end");
        at += 2;
    } else {
        return fail(walk, "there is a slash that begins no comment");
    }
    blank(walk, from, at);
    walk->at = at;
    return true;
}

/* Behind space and comments. */
static bool skip(struct walk *walk) {
    while (walk->at < walk->size) {
        if (is_space(walk->text[walk->at]))
            walk->at++;
        else if (walk->text[walk->at] != '/')
            break;
        else if (!skip_comment(walk))
            return false;
    }
    return true;
}

static bool pass_string(struct walk *walk) {
    if (peek(walk) != '"')
        return fail(walk, "there should be a name in double quotes");
    for (walk->at++; walk->at < walk->size; walk->at++) {
        char c = walk->text[walk->at];
        if (c == '\n')
            break;
        if (c == '"') {
            walk->at++;
            return true;
        }
        if (c == '\\')
            walk->at++;
    }
    return fail(walk, "a text has no closing quote");
}

/* A number or a word: what it may be is jansson's to say. */
static bool pass_literal(struct walk *walk) {
    size_t from = walk->at;
    while (walk->at < walk->size && !is_space(peek(walk)) && !strchr(",:[]{}/\"", peek(walk)))
        walk->at++;
    return walk->at > from || fail(walk, "there should be a value");
}

static bool pass_value(struct walk *walk);

/* Behind a member or item: its comma, or the end of what holds it. True: there is one more. */
static bool pass_comma(struct walk *walk, char close) {
    size_t comma = walk->at;
    if (peek(walk) != ',')
        return peek(walk) != close && fail(walk, "there should be a comma");
    walk->at++;
    if (!skip(walk))
        return false;
    if (peek(walk) != close)
        return true;
    blank(walk, comma, comma + 1);
    return false;
}

static bool pass_member(struct walk *walk) {
    if (!pass_string(walk) || !skip(walk))
        return false;
    if (peek(walk) != ':')
        return fail(walk, "there should be a colon");
    walk->at++;
    return skip(walk) && pass_value(walk);
}

static bool pass_list(struct walk *walk, bool is_object) {
    char close = is_object ? '}' : ']';
    bool more;
    if (walk->depth == DEPTH_MOST)
        return fail(walk, "it is nested too deeply");
    walk->depth++;
    walk->at++;
    more = skip(walk) && peek(walk) != close;
    while (more)
        more = (is_object ? pass_member(walk) : pass_value(walk)) && skip(walk) &&
               pass_comma(walk, close);
    walk->depth--;
    if (!walk->fault && peek(walk) != close)
        return fail(walk, "the end is missing");
    walk->at++;
    return !walk->fault;
}

static bool pass_value(struct walk *walk) {
    switch (peek(walk)) {
    case '{':
        return pass_list(walk, true);
    case '[':
        return pass_list(walk, false);
    case '"':
        return pass_string(walk);
    default:
        return pass_literal(walk);
    }
}

/* ---- values ---- */

static int line_of(const char *text, size_t at, size_t size) {
    int line = 1;
    for (size_t i = 0; i < at && i < size; i++)
        line += text[i] == '\n';
    return line;
}

static json_t *load(const char *plain, size_t length, struct error *err) {
    json_error_t fault;
    json_t *values = json_loadb(plain, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &fault);
    if (!values)
        error_set(err, UV_EINVAL, "line %d: %s", fault.line, fault.text);
    return values;
}

json_t *jsonc_values(const char *text, size_t length, struct error *err) {
    struct walk walk = {.text = text, .size = length};
    json_t *values = NULL;
    if (memchr(text, 0, length)) {
        error_set(err, UV_EINVAL, "it is not text");
        return NULL;
    }
    walk.plain = memory_text(text, length);
    if (!walk.plain) {
        error_set(err, UV_ENOMEM, "there is no memory for it");
        return NULL;
    }
    if (skip(&walk) && walk.at == length) {
        values = json_object();
    } else if (!walk.fault && pass_value(&walk) && skip(&walk) && walk.at < length) {
        fail(&walk, "there should be nothing more");
    }
    if (walk.fault)
        error_set(err, UV_EINVAL, "line %d: %s", line_of(text, walk.at, length), walk.fault);
    else if (!values)
        values = load(walk.plain, length, err);
    free(walk.plain);
    return values;
}

/* ---- finding ---- */

struct member {
    size_t start, value, end;
    size_t comma_before, comma_after; /* or NOWHERE */
};

/* An object, and the last of its members that has the name looked for. */
struct body {
    size_t open, close;
    size_t first, last_end; /* of its members; NOWHERE: it has none */
    size_t trailing_comma;
    bool found;
    struct member member;
};

static bool is_named(const char *token, size_t length, const char *name) {
    json_t *value;
    bool same;
    if (!memchr(token, '\\', length))
        return length == strlen(name) + 2 && memcmp(token + 1, name, length - 2) == 0;
    value = json_loadb(token, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    same = value && json_string_length(value) == strlen(name) &&
           memcmp(json_string_value(value), name, strlen(name)) == 0;
    json_decref(value);
    return same;
}

static void look_into(const char *text, size_t size, size_t open, const char *name,
                      struct body *body) {
    struct walk walk = {.text = text, .size = size, .at = open + 1};
    size_t comma = NOWHERE;
    *body = (struct body){
        .open = open, .first = NOWHERE, .last_end = NOWHERE, .trailing_comma = NOWHERE};
    skip(&walk);
    while (peek(&walk) == '"') {
        struct member member = {walk.at, 0, 0, comma, NOWHERE};
        bool named;
        pass_string(&walk);
        named = is_named(text + member.start, walk.at - member.start, name);
        skip(&walk);
        walk.at++;
        skip(&walk);
        member.value = walk.at;
        pass_value(&walk);
        member.end = walk.at;
        skip(&walk);
        comma = NOWHERE;
        if (peek(&walk) == ',') {
            member.comma_after = comma = walk.at++;
            skip(&walk);
        }
        if (body->first == NOWHERE)
            body->first = member.start;
        body->last_end = member.end;
        body->trailing_comma = comma;
        if (named) {
            body->found = true;
            body->member = member;
        }
    }
    body->close = walk.at;
}

/* ---- style ---- */

struct sheet {
    const char *text;
    size_t size;
    const char *newline;
    char unit[16];
    struct buffer *out;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static size_t line_start(const struct sheet *sheet, size_t at) {
    while (at > 0 && sheet->text[at - 1] != '\n')
        at--;
    return at;
}

/* How many bytes indent the line. */
static size_t indent_of(const struct sheet *sheet, size_t at, size_t *start) {
    size_t end = *start = line_start(sheet, at);
    while (end < sheet->size && is_blank(sheet->text[end]))
        end++;
    return end - *start;
}

static bool begins_line(const struct sheet *sheet, size_t at) {
    size_t start, indent = indent_of(sheet, at, &start);
    return start > 0 && start + indent == at;
}

static bool has_newline(const struct sheet *sheet, size_t from, size_t to) {
    return memchr(sheet->text + from, '\n', to - from) != NULL;
}

static void learn_style(struct sheet *sheet, size_t root) {
    struct walk walk = {.text = sheet->text, .size = sheet->size, .at = root + 1};
    const char *first = memchr(sheet->text, '\n', sheet->size);
    size_t start, indent;
    sheet->newline = first && first > sheet->text && first[-1] == '\r' ? "\r\n" : "\n";
    if (root == NOWHERE || !skip(&walk) || peek(&walk) != '"' || !begins_line(sheet, walk.at))
        return;
    indent = indent_of(sheet, walk.at, &start);
    if (indent > 0 && indent < sizeof sheet->unit) {
        memcpy(sheet->unit, sheet->text + start, indent);
        sheet->unit[indent] = 0;
    }
}

/* Behind the comments that belong to what ends here, for they are on the same line. */
static size_t line_rest(const struct sheet *sheet, size_t at) {
    struct walk walk = {.text = sheet->text, .size = sheet->size, .at = at};
    for (;;) {
        while (is_blank(peek(&walk)))
            walk.at++;
        if (peek(&walk) != '/' || !skip_comment(&walk))
            return at;
        at = walk.at;
    }
}

/* ---- writing ---- */

static void copy(struct sheet *sheet, size_t from, size_t to) {
    buffer_add(sheet->out, sheet->text + from, to - from);
}

static void begin_line(struct sheet *sheet, const char *indent, size_t units) {
    buffer_add_text(sheet->out, sheet->newline);
    buffer_add_text(sheet->out, indent);
    while (units--)
        buffer_add_text(sheet->out, sheet->unit);
}

static void add_scalar(struct buffer *out, json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    if (text)
        buffer_add_text(out, text);
    else
        out->failed = true;
    free(text);
}

/* `indent` NULL: all on one line. */
static void add_value(struct sheet *sheet, json_t *value, const char *indent, size_t units);

static void add_pair(struct sheet *sheet, const char *name, json_t *value, const char *indent,
                     size_t units) {
    buffer_add_json(sheet->out, name);
    buffer_add_literal(sheet->out, ": ");
    add_value(sheet, value, indent, units);
}

static void add_value(struct sheet *sheet, json_t *value, const char *indent, size_t units) {
    bool is_object = json_is_object(value);
    size_t count = is_object ? json_object_size(value) : json_array_size(value);
    size_t i = 0;
    if (!is_object && !json_is_array(value)) {
        add_scalar(sheet->out, value);
        return;
    }
    buffer_add_char(sheet->out, is_object ? '{' : '[');
    if (is_object) {
        const char *name;
        json_t *each;
        json_object_foreach(value, name, each) {
            if (indent)
                begin_line(sheet, indent, units + 1);
            add_pair(sheet, name, each, indent, units + 1);
            if (++i < count)
                buffer_add_text(sheet->out, indent ? "," : ", ");
        }
        if (indent && count > 0)
            begin_line(sheet, indent, units);
    } else {
        for (; i < count; i++) {
            add_value(sheet, json_array_get(value, i), NULL, 0);
            if (i + 1 < count)
                buffer_add_literal(sheet->out, ", ");
        }
    }
    buffer_add_char(sheet->out, is_object ? '}' : ']');
}

/* Where a line is indented as far as this one. */
static char *indent_text(const struct sheet *sheet, size_t at) {
    size_t start, indent = indent_of(sheet, at, &start);
    return memory_text(sheet->text + start, indent);
}

static void insert_first(struct sheet *sheet, const struct body *body, const char *name,
                         json_t *value, bool is_root) {
    struct walk walk = {.text = sheet->text, .size = sheet->size, .at = body->open + 1};
    size_t behind = body->open + 1;
    char *indent = indent_text(sheet, body->open);
    while (walk.at < body->close) { /* behind the comments in it */
        if (peek(&walk) == '/') {
            skip_comment(&walk);
            behind = walk.at;
        } else {
            walk.at++;
        }
    }
    copy(sheet, 0, behind);
    if (!indent) {
        sheet->out->failed = true;
    } else if (!is_root && !has_newline(sheet, 0, sheet->size)) {
        add_pair(sheet, name, value, NULL, 0);
        copy(sheet, behind, sheet->size);
    } else {
        begin_line(sheet, indent, 1);
        add_pair(sheet, name, value, indent, 1);
        if (has_newline(sheet, behind, body->close)) {
            copy(sheet, behind, sheet->size);
        } else {
            begin_line(sheet, indent, 0);
            copy(sheet, body->close, sheet->size);
        }
    }
    free(indent);
}

static void insert_last(struct sheet *sheet, const struct body *body, const char *name,
                        json_t *value) {
    bool has_comma = body->trailing_comma != NOWHERE, own_line = begins_line(sheet, body->first);
    size_t behind = has_comma ? body->trailing_comma + 1 : body->last_end, rest;
    char *indent;
    copy(sheet, 0, behind);
    if (!has_newline(sheet, body->open, body->close)) {
        buffer_add_text(sheet->out, has_comma ? " " : ", ");
        add_pair(sheet, name, value, NULL, 0);
        buffer_add_text(sheet->out, has_comma ? "," : "");
        copy(sheet, behind, sheet->size);
        return;
    }
    indent = indent_text(sheet, own_line ? body->first : body->open);
    rest = line_rest(sheet, behind);
    buffer_add_text(sheet->out, has_comma ? "" : ",");
    copy(sheet, behind, rest);
    if (indent) {
        begin_line(sheet, indent, own_line ? 0 : 1);
        add_pair(sheet, name, value, indent, own_line ? 0 : 1);
        buffer_add_text(sheet->out, has_comma ? "," : "");
        copy(sheet, rest, sheet->size);
    } else {
        sheet->out->failed = true;
    }
    free(indent);
}

static void replace(struct sheet *sheet, const struct body *body, json_t *value) {
    char *indent =
        has_newline(sheet, body->open, body->close) ? indent_text(sheet, body->member.start) : NULL;
    copy(sheet, 0, body->member.value);
    add_value(sheet, value, indent, 0);
    copy(sheet, body->member.end, sheet->size);
    free(indent);
}

/* Takes the member out with its comma, and with its line if nothing else is on that. */
static void cut(struct sheet *sheet, const struct body *body) {
    const struct member *member = &body->member;
    size_t from = member->start, to = member->end, line;
    if (member->comma_after != NOWHERE)
        to = member->comma_after + 1;
    line = from;
    while (line > 0 && is_blank(sheet->text[line - 1]))
        line--;
    while (to < sheet->size && is_blank(sheet->text[to]))
        to++;
    if (to < sheet->size && sheet->text[to] == '\r')
        to++;
    if (line > 0 && sheet->text[line - 1] == '\n' && to < sheet->size && sheet->text[to] == '\n') {
        from = line;
        to++;
    } else {
        while (to > member->end && sheet->text[to - 1] == '\r')
            to--;
        if (member->comma_after == NOWHERE) {
            from = line;
            while (to > member->end && is_blank(sheet->text[to - 1]))
                to--;
        }
    }
    if (member->comma_before != NOWHERE && member->comma_after == NOWHERE) {
        copy(sheet, 0, member->comma_before);
        copy(sheet, member->comma_before + 1, from);
    } else {
        copy(sheet, 0, from);
    }
    copy(sheet, to, sheet->size);
}

/* The value within as many new objects as the path has names left. */
static json_t *wrapped(const char *const *path, size_t depth, json_t *value) {
    json_t *whole = json_deep_copy(value);
    while (depth-- > 0)
        whole = json_pack("{s:o}", path[depth], whole);
    return whole;
}

/* A text without a value, perhaps with comments. */
static void add_document(struct sheet *sheet, const char *const *path, size_t depth,
                         json_t *value) {
    json_t *whole = wrapped(path, depth, value);
    bool has_text = false;
    for (size_t i = 0; i < sheet->size; i++)
        has_text |= !is_space(sheet->text[i]);
    if (has_text) {
        copy(sheet, 0, sheet->size);
        if (sheet->text[sheet->size - 1] != '\n')
            buffer_add_text(sheet->out, sheet->newline);
    }
    add_value(sheet, whole, "", 0);
    buffer_add_text(sheet->out, sheet->newline);
    json_decref(whole);
}

int jsonc_set(const char *text, size_t length, const char *const *path, size_t depth, json_t *value,
              struct buffer *out, struct error *err) {
    struct walk walk = {.text = text, .size = length};
    struct sheet sheet = {.text = text, .size = length, .unit = "  ", .out = out};
    struct body body;
    size_t open, level = 0;
    json_t *whole;
    skip(&walk);
    open = walk.at;
    learn_style(&sheet, open < length && text[open] == '{' ? open : NOWHERE);
    if (open == length) {
        if (value)
            add_document(&sheet, path, depth, value);
        else
            copy(&sheet, 0, length);
        return 0;
    }
    for (;; level++) {
        if (text[open] != '{')
            return level == 0
                       ? error_set(err, UV_EINVAL, "it is not an object")
                       : error_set(err, UV_EINVAL, "\"%s\" is not an object", path[level - 1]);
        look_into(text, length, open, path[level], &body);
        if (!body.found || level + 1 == depth)
            break;
        open = body.member.value;
    }
    if (!value && !body.found) {
        copy(&sheet, 0, length);
        return 0;
    }
    if (!value) {
        cut(&sheet, &body);
        return 0;
    }
    whole = wrapped(path + level + 1, depth - level - 1, value);
    if (body.found)
        replace(&sheet, &body, whole);
    else if (body.first == NOWHERE)
        insert_first(&sheet, &body, path[level], whole, level == 0);
    else
        insert_last(&sheet, &body, path[level], whole);
    json_decref(whole);
    return 0;
}
