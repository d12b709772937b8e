#include "text_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BLOCK_ROOM = 4000 };

struct text_block {
    struct text_block *next;
    size_t room, used;
    char bytes[];
};

static char *take_room(struct text_list *list, size_t size) {
    struct text_block *block = list->blocks;
    if (!block || block->room - block->used < size) {
        size_t room = size > BLOCK_ROOM ? size : BLOCK_ROOM;
        block = memory_resize(NULL, sizeof *block + room);
        if (!block)
            return NULL;
        *block = (struct text_block){.next = list->blocks, .room = room};
        list->blocks = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

/* Room for a text of so many bytes, the 0 included, and its place in the list; or NULL. */
static char *add_item(struct text_list *list, size_t size) {
    char *text;
    if (list->count + 2 > list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        char **items = memory_resize(list->items, capacity * sizeof *items);
        if (!items)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    text = take_room(list, size);
    if (text) {
        list->items[list->count++] = text;
        list->items[list->count] = NULL;
    }
    return text;
}

void text_list_add(struct text_list *list, const char *text) {
    size_t size = strlen(text) + 1;
    char *own = add_item(list, size);
    if (own)
        memcpy(own, text, size);
    list->failed |= !own;
}

void text_list_take(struct text_list *list, char *text) {
    if (text)
        text_list_add(list, text);
    list->failed |= !text;
    free(text);
}

void text_list_finish(struct text_list *list) {
    while (list->blocks) {
        struct text_block *block = list->blocks;
        list->blocks = block->next;
        free(block);
    }
    free(list->items);
    *list = (struct text_list){0};
}

/* ---- the environment ---- */

static void environment_remove(struct text_list *list, const char *name) {
    size_t length = strlen(name), kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, length) != 0 || list->items[i][length] != '=')
            list->items[kept++] = list->items[i];
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
    entry = add_item(list, size);
    if (entry)
        snprintf(entry, size, "%s=%s", name, value);
    list->failed |= !entry;
}
