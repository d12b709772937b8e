/* Bytes that are shared. */
#ifndef TETHER_FRONT_BLOB_H
#define TETHER_FRONT_BLOB_H

#include <stddef.h>

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
