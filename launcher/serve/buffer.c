#include "buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool buffer_reserve(struct buffer *buffer, size_t more) {
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    char *data;
    if (buffer->failed)
        return false;
    if (more <= buffer->capacity - buffer->length && buffer->data)
        return true;
    while (capacity - buffer->length < more && capacity < SIZE_MAX / 4)
        capacity *= 2;
    data = capacity - buffer->length >= more ? realloc(buffer->data, capacity) : NULL;
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void buffer_add(struct buffer *buffer, const void *data, size_t length) {
    if (length == 0 || !buffer_reserve(buffer, length))
        return;
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
}

void buffer_add_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

void buffer_add_char(struct buffer *buffer, char c) {
    buffer_add(buffer, &c, 1);
}

void buffer_add_number(struct buffer *buffer, long long number) {
    char text[24];
    int length = snprintf(text, sizeof text, "%lld", number);
    buffer_add(buffer, text, (size_t)length);
}

void buffer_drop(struct buffer *buffer, size_t count) {
    memmove(buffer->data, buffer->data + count, buffer->length - count);
    buffer->length -= count;
}

void buffer_clear(struct buffer *buffer, size_t keep) {
    if (buffer->capacity > keep || buffer->failed)
        buffer_finish(buffer);
    buffer->length = 0;
}

void buffer_finish(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}
