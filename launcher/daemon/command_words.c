#include "command_words.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "readable.h"
#include "utf8.h"

/* In JSON, all words together. */
enum { BYTES_MOST = 2048 };

#define CUT "…"

enum { AROUND = 3 /* two quotes and a comma */ };

/* How many bytes of the text fit into so many bytes of JSON. It is readable: of control characters
 * it has only tabs. `cost` becomes what they take. */
static size_t fitting(const char *text, size_t budget, size_t *cost) {
    size_t length = 0;
    for (*cost = AROUND; text[length]; length++) {
        size_t one = strchr("\"\\\t", text[length]) ? 2 : 1;
        if (*cost + one > budget)
            break;
        *cost += one;
    }
    return text[length] ? utf8_cut(text, length) : length;
}

/* False when there is no room for more. */
static bool add_word(json_t *list, const char *word, size_t *budget) {
    size_t length = strlen(word), cost, fit;
    size_t taken = length > BYTES_MOST ? utf8_cut(word, BYTES_MOST) : length;
    char *text = memory_resize(NULL, READABLE_GROWTH * taken + sizeof CUT);
    bool whole;
    if (!text)
        return false;
    readable_text(text, word, taken);
    fit = fitting(text, *budget, &cost);
    whole = taken == length && text[fit] == 0 && *budget >= cost;
    if (whole)
        *budget -= cost;
    else
        memcpy(text + fit, CUT, sizeof CUT);
    json_array_append_new(list, json_string(text));
    free(text);
    return whole;
}

json_t *command_words(const struct server_start *start) {
    struct text_list words = {0};
    json_t *list = json_array();
    size_t budget = BYTES_MOST;
    command_build(&words, start);
    for (size_t i = 0; i < words.count && add_word(list, words.items[i], &budget); i++)
        ;
    text_list_finish(&words);
    return list;
}

/* Its owner was perhaps another one when it was started, and that makes no other command. */
bool command_words_differ(const json_t *server, const struct options *options) {
    const struct server_start start = {.options = options};
    const json_t *running = json_object_get(server, "command");
    json_t *ours;
    size_t count;
    bool differ;
    if (!json_is_array(running) ||
        (options->builtin && json_is_true(json_object_get(server, "builtin"))))
        return false;
    ours = command_words(&start);
    count = json_array_size(ours);
    differ = count != json_array_size(running);
    for (size_t i = 0; i < count && !differ; i++)
        differ = !strstr(options->command[i], "{owner_pid}") &&
                 !json_equal(json_array_get(ours, i), json_array_get(running, i));
    json_decref(ours);
    return differ;
}

/* ---- for people ---- */

static const char plain[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,+@%^";

static void quote_word(struct buffer *out, const char *word) {
    if (word[0] && word[strspn(word, plain)] == 0) {
        buffer_add_text(out, word);
        return;
    }
    buffer_add_char(out, '\'');
    for (const char *part = word; *part; part += strcspn(part, "'")) {
        if (*part == '\'') {
            buffer_add_literal(out, "'\\''");
            part++;
        }
        readable_add(out, part, strcspn(part, "'"));
    }
    buffer_add_char(out, '\'');
}

/* The bytes of the first `most` characters. */
static size_t first_characters(const char *text, size_t most) {
    size_t at = 0, left = strlen(text);
    for (; most > 0 && left > at; most--) {
        size_t length = utf8_sequence(text + at, left - at);
        at += length ? length : 1;
    }
    return at;
}

void command_words_quote(struct buffer *out, const json_t *command, size_t most) {
    struct buffer whole = {0};
    const json_t *word;
    size_t i;
    json_array_foreach(command, i, word) {
        const char *text = json_string_value(word);
        if (i > 0)
            buffer_add_char(&whole, ' ');
        quote_word(&whole, text ? text : "?");
    }
    if (whole.data && !whole.failed) {
        bool fits = first_characters(whole.data, most) == whole.length;
        buffer_add(out, whole.data, fits ? whole.length : first_characters(whole.data, most - 1));
        if (!fits)
            buffer_add_text(out, CUT);
    }
    buffer_finish(&whole);
}
