#include "http_head.h"

#include <string.h>

#include "caseless.h"

size_t http_head_length(const char *bytes, size_t count) {
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

bool http_head_line(struct http_text *head, struct http_text *line) {
    const char *cr = memchr(head->at, '\r', head->length);
    if (!cr || (size_t)(cr - head->at) + 2 > head->length || cr[1] != '\n')
        return false;
    *line = (struct http_text){.at = head->at, .length = (size_t)(cr - head->at)};
    head->length -= line->length + 2;
    head->at = cr + 2;
    for (size_t i = 0; i < line->length; i++) {
        unsigned char c = (unsigned char)line->at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool http_head_goes_on(const struct http_text *head) {
    return head->length > 2;
}

static bool is_name(const struct http_text *text) {
    for (size_t i = 0; i < text->length; i++) {
        char c = text->at[i], letter = (char)(c | 0x20);
        if ((letter < 'a' || letter > 'z') && (c < '0' || c > '9') &&
            (c == 0 || !strchr("-_!#$%&'*+.^`|~", c)))
            return false;
    }
    return text->length > 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static void trim(struct http_text *text) {
    while (text->length > 0 && is_space(*text->at)) {
        text->at++;
        text->length--;
    }
    while (text->length > 0 && is_space(text->at[text->length - 1]))
        text->length--;
}

bool http_head_field(struct http_text *head, struct http_text *name, struct http_text *value) {
    struct http_text line;
    const char *colon;
    if (!http_head_line(head, &line))
        return false;
    colon = memchr(line.at, ':', line.length);
    if (!colon)
        return false;
    *name = (struct http_text){line.at, (size_t)(colon - line.at)};
    *value = (struct http_text){colon + 1, line.length - name->length - 1};
    trim(value);
    return is_name(name);
}

bool http_text_is(const struct http_text *text, const char *word) {
    return text->length == strlen(word) && caseless_equal_n(text->at, word, text->length);
}

bool http_text_has(const struct http_text *list, const char *word) {
    const char *at = list->at, *end = list->at + list->length;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct http_text member = {at, (size_t)((comma ? comma : end) - at)};
        trim(&member);
        if (http_text_is(&member, word))
            return true;
        at = comma ? comma + 1 : end;
    }
    return false;
}
