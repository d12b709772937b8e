#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../utf8.h"

enum { FIRST_CAPACITY = 256, KEPT_CAPACITY = 4096 };

static bool reserve(struct bytes *bytes, size_t count) {
    size_t needed = bytes->length + count + 1;
    size_t capacity = bytes->capacity ? bytes->capacity : FIRST_CAPACITY;
    char *data;
    if (needed <= bytes->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    data = bytes->failed ? NULL : realloc(bytes->data, capacity);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void bytes_add(struct bytes *bytes, const char *data, size_t count) {
    if (bytes->failed || !reserve(bytes, count))
        return;
    if (count > 0)
        memcpy(bytes->data + bytes->length, data, count);
    bytes->length += count;
    bytes->data[bytes->length] = 0;
}

void bytes_add_text(struct bytes *bytes, const char *text) {
    bytes_add(bytes, text, strlen(text));
}

void bytes_add_json(struct bytes *bytes, const char *text) {
    size_t left = strlen(text);
    bytes_add(bytes, "\"", 1);
    while (left > 0) {
        size_t length = utf8_sequence(text, left);
        unsigned char byte = (unsigned char)*text;
        char escaped[8];
        if (length == 0) {
            bytes_add(bytes, "?", 1);
        } else if (byte < 0x20) {
            snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            bytes_add_text(bytes, escaped);
        } else {
            if (byte == '"' || byte == '\\')
                bytes_add(bytes, "\\", 1);
            bytes_add(bytes, text, length);
        }
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    bytes_add(bytes, "\"", 1);
}

void bytes_clear(struct bytes *bytes) {
    if (bytes->failed || bytes->capacity > KEPT_CAPACITY)
        bytes_finish(bytes);
    bytes->length = 0;
    if (bytes->data)
        bytes->data[0] = 0;
}

void bytes_finish(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

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
