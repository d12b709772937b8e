/* A message that several hold on to: the queue, a request on its way, the session. */
#ifndef TETHER_FRONT_BLOB_H
#define TETHER_FRONT_BLOB_H

#include "json_scan.h"

struct blob {
    struct blob *next; /* of what the session says again */
    unsigned refs;
    struct scan scan; /* what is in it, where it is in `data` */
    size_t length;
    char data[]; /* terminated */
};

/* A copy of a text that has been scanned. NULL without memory; else the caller holds it. */
struct blob *blob_create(const char *data, size_t length, const struct scan *scan);
struct blob *blob_hold(struct blob *blob);

/* Also accepts NULL. */
void blob_release(struct blob *blob);

#endif
