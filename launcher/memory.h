/* Memory, and what happens when there is none.
 *
 * A command that ends anyway, and a daemon or server that is only starting, cannot do better than
 * to say so and end; from memory_require() on every failed allocation through here, through libuv
 * and through jansson does that. Whoever holds something worth keeping, as a daemon that has a
 * server, calls memory_survive(): then NULL comes back, and the one thing that needed the memory
 * fails.
 *
 * libuv aborts where its table of open files cannot grow. So the table has a place of its own, with
 * room for as many files as a process may usually open. */
#ifndef TETHER_MEMORY_H
#define TETHER_MEMORY_H

#include <stddef.h>

#include <uv.h>

/* Once, before anything is allocated. `say` is called when the end comes and must not allocate. */
void memory_require(void (*say)(void *context), void *context);
void memory_survive(void);

/* Prints "tether: out of memory": the usual `say`. */
void memory_say(void *context);

/* As realloc (NULL: as malloc) and calloc do; to be given back to free. */
void *memory_resize(void *old, size_t size);
void *memory_zeroed(size_t size);

/* For uv_close: frees what the handle's data is. */
void memory_free_data(uv_handle_t *handle);

/* A copy of the first bytes of a text, terminated. */
char *memory_text(const char *text, size_t length);

#endif
