#include "memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uv.h>

#include "exit_code.h"

enum { TABLE_SIZE = 1024 * sizeof(void *) }; /* a usual limit of open files; mostly never touched */

/* Of the whole program, as the allocators of libuv and jansson are. */
static struct {
    void (*say)(void *context); /* NULL: a failed allocation is nothing but that */
    void *context;
    bool table_taken;
} memory;

static _Alignas(max_align_t) char table[TABLE_SIZE];

void memory_say(void *context) {
    (void)context;
    fputs("tether: out of memory\n", stderr);
}

static void *checked(void *made, size_t size) {
    if (!made && size > 0 && memory.say) {
        memory.say(memory.context);
        fflush(stdout);
        _Exit(EXIT_FAILED);
    }
    return made;
}

void *memory_resize(void *old, size_t size) {
    return checked(realloc(old, size), size);
}

void *memory_zeroed(size_t size) {
    return checked(calloc(1, size), size);
}

void memory_free_data(uv_handle_t *handle) {
    free(handle->data);
}

char *memory_text(const char *text, size_t length) {
    char *made = memory_resize(NULL, length + 1);
    if (made) {
        memcpy(made, text, length);
        made[length] = 0;
    }
    return made;
}

static void *make(size_t size) {
    return checked(malloc(size), size);
}

static void *make_zeroed(size_t count, size_t size) {
    return checked(calloc(count, size), size);
}

/* libuv resizes nothing but its table, and only upwards. */
static void *table_grow(void *old, size_t size) {
    void *made;
    if (size <= sizeof table && (old == table || (!old && !memory.table_taken))) {
        memory.table_taken = true;
        return table;
    }
    if (old != table)
        return memory_resize(old, size);
    made = make(size);
    if (made) {
        memcpy(made, old, sizeof table);
        memory.table_taken = false;
    }
    return made;
}

static void release(void *old) {
    if (old == table)
        memory.table_taken = false;
    else
        free(old);
}

void memory_require(void (*say)(void *context), void *context) {
    memory.say = say;
    memory.context = context;
    uv_replace_allocator(make, table_grow, make_zeroed, release);
    json_set_alloc_funcs(make, free);
}

void memory_survive(void) {
    memory.say = NULL;
}
