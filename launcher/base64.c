#include "base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[][65] = {
    [BASE64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* Up to three bytes as four characters or less; returns how many. */
static size_t write_group(enum base64_form form, const unsigned char *bytes, size_t count,
                          char out[4]) {
    uint32_t bits = (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) |
                    (count > 2 ? bytes[2] : 0);
    size_t used = count > 2 ? 4 : count + 1;
    for (size_t i = 0; i < 4; i++)
        out[i] = i < used ? digits[form][bits >> (18 - 6 * i) & 63] : '=';
    return form == BASE64 ? 4 : used;
}

void base64_write(enum base64_form form, const void *bytes, size_t count, char *out) {
    const unsigned char *at = bytes;
    for (; count > 0; count -= count < 3 ? count : 3, at += 3) {
        char group[4];
        size_t length = write_group(form, at, count, group);
        memcpy(out, group, length);
        out += length;
    }
    *out = 0;
}

void base64_add(struct buffer *out, enum base64_form form, const void *bytes, size_t count) {
    if (!buffer_reserve(out, (count + 2) / 3 * 4))
        return;
    base64_write(form, bytes, count, out->data + out->length);
    out->length += strlen(out->data + out->length);
}

int base64_digit(enum base64_form form, char c) {
    const char *at = c ? strchr(digits[form], c) : NULL;
    return at ? (int)(at - digits[form]) : -1;
}

/* Bits that are left over must be zero. */
static bool decode_digits(struct buffer *out, enum base64_form form, const char *text,
                          size_t length) {
    uint32_t bits = 0;
    unsigned count = 0;
    if (length % 4 == 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(form, text[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buffer_add_char(out, (char)(bits >> count & 255));
        }
    }
    return (bits & ((1U << count) - 1)) == 0;
}

bool base64_decode(struct buffer *out, enum base64_form form, const char *text, size_t length) {
    if (form == BASE64) {
        if (length % 4 != 0)
            return false;
        for (int i = 0; i < 2 && length > 0 && text[length - 1] == '='; i++)
            length--;
    }
    return decode_digits(out, form, text, length);
}
