/* Bytes that grow, and bytes that are shared. */
#ifndef TETHER_FRONT_BYTES_H
#define TETHER_FRONT_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory is an empty one. Without memory it says so in `failed` and takes nothing more. */
struct bytes {
    char *data; /* terminated, if there is any */
    size_t length, capacity;
    bool failed;
};

void bytes_add(struct bytes *bytes, const char *data, size_t count);
void bytes_add_text(struct bytes *bytes, const char *text);

/* The text as a JSON string, in quotes. Broken UTF-8 becomes '?'. */
void bytes_add_json(struct bytes *bytes, const char *text);

/* Empties it, and gives back what a rare large content needed. */
void bytes_clear(struct bytes *bytes);
void bytes_finish(struct bytes *bytes);

/* A message that several hold on to: the queue, a request on its way, the replay. */
struct blob {
    unsigned refs;
    size_t length;
    char data[]; /* terminated */
};

/* NULL without memory; else the caller holds it. */
struct blob *blob_create(const char *data, size_t length);
struct blob *blob_hold(struct blob *blob);

/* Also accepts NULL. */
void blob_release(struct blob *blob);

#endif
