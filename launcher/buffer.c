#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "utf8.h"

/* One byte more than asked for: the end of the text. */
bool buffer_reserve(struct buffer *buffer, size_t more) {
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    char *data;
    if (buffer->failed)
        return false;
    if (more < buffer->capacity - buffer->length && buffer->data)
        return true;
    while (capacity - buffer->length <= more && capacity < SIZE_MAX / 4)
        capacity *= 2;
    data = capacity - buffer->length > more ? memory_resize(buffer->data, capacity) : NULL;
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void buffer_add(struct buffer *buffer, const void *data, size_t length) {
    if (!buffer_reserve(buffer, length))
        return;
    if (length > 0)
        memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    buffer->data[buffer->length] = 0;
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

void buffer_format(struct buffer *buffer, const char *format, ...) {
    va_list args, again;
    int length;
    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    if (length < 0)
        buffer->failed = true;
    else if (buffer_reserve(buffer, (size_t)length))
        buffer->length +=
            (size_t)vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
}

void buffer_add_json(struct buffer *buffer, const char *text) {
    size_t left = strlen(text);
    buffer_add(buffer, "\"", 1);
    while (left > 0) {
        size_t length = utf8_sequence(text, left);
        unsigned char byte = (unsigned char)*text;
        if (length == 0) {
            buffer_add(buffer, "?", 1);
        } else if (byte < 0x20) {
            buffer_format(buffer, "\\u%04x", byte);
        } else {
            if (byte == '"' || byte == '\\')
                buffer_add(buffer, "\\", 1);
            buffer_add(buffer, text, length);
        }
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    buffer_add(buffer, "\"", 1);
}

void buffer_clear(struct buffer *buffer, size_t keep) {
    if (buffer->capacity > keep || buffer->failed)
        buffer_finish(buffer);
    buffer->length = 0;
    if (buffer->data)
        buffer->data[0] = 0;
}

void buffer_finish(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}
