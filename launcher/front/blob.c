#include "blob.h"

#include <stdlib.h>
#include <string.h>

struct blob *blob_create(const char *data, size_t length, const struct scan *scan) {
    struct blob *blob = malloc(sizeof *blob + length + 1);
    if (!blob)
        return NULL;
    blob->next = NULL;
    blob->refs = 1;
    blob->length = length;
    memcpy(blob->data, data, length);
    blob->data[length] = 0;
    blob->scan = *scan;
    for (int i = 0; i < SCAN_PLACES; i++)
        if (scan->spans[i].at)
            blob->scan.spans[i].at = blob->data + (scan->spans[i].at - data);
    return blob;
}

struct blob *blob_hold(struct blob *blob) {
    blob->refs++;
    return blob;
}

void blob_release(struct blob *blob) {
    if (blob && --blob->refs == 0)
        free(blob);
}
