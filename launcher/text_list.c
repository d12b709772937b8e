#include "text_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void text_list_take(struct text_list *list, char *text) {
    if (text && list->count + 2 > list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        char **items = memory_resize(list->items, capacity * sizeof *items);
        if (!items) {
            free(text);
            text = NULL;
        } else {
            list->items = items;
            list->capacity = capacity;
        }
    }
    if (!text) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
}

void text_list_add(struct text_list *list, const char *text) {
    text_list_take(list, memory_text(text, strlen(text)));
}

void text_list_finish(struct text_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

/* ---- the environment ---- */

static void environment_remove(struct text_list *list, const char *name) {
    size_t length = strlen(name), kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        char *entry = list->items[i];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            free(entry);
        else
            list->items[kept++] = entry;
    }
    list->count = kept;
    if (list->items)
        list->items[kept] = NULL;
}

void environment_set(struct text_list *list, const char *name, const char *value) {
    size_t size;
    char *entry;
    environment_remove(list, name);
    if (!value)
        return;
    size = strlen(name) + strlen(value) + 2;
    entry = memory_resize(NULL, size);
    if (entry)
        snprintf(entry, size, "%s=%s", name, value);
    text_list_take(list, entry);
}
