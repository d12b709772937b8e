#include "blob.h"

#include <stdlib.h>
#include <string.h>

struct blob *blob_create(const char *data, size_t length) {
    struct blob *blob = malloc(sizeof *blob + length + 1);
    if (!blob)
        return NULL;
    blob->refs = 1;
    blob->length = length;
    if (length > 0)
        memcpy(blob->data, data, length);
    blob->data[length] = 0;
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
