#include "seal.h"

#include <string.h>

/* ---- HMAC ---- */

static void mac_parts(const struct seal_key *key, const void *a, size_t a_length, const void *b,
                      size_t b_length, uint8_t out[SHA256_SIZE]) {
    struct sha256 hash;
    unsigned char pad[64];
    memset(pad, 0x36, sizeof pad);
    for (size_t i = 0; i < sizeof key->bytes; i++)
        pad[i] ^= key->bytes[i];
    sha256_init(&hash);
    sha256_add(&hash, pad, sizeof pad);
    sha256_add(&hash, a, a_length);
    sha256_add(&hash, b, b_length);
    sha256_end(&hash, out);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    sha256_init(&hash);
    sha256_add(&hash, pad, sizeof pad);
    sha256_add(&hash, out, SHA256_SIZE);
    sha256_end(&hash, out);
}

void seal_mac(const struct seal_key *key, const void *data, size_t length,
              uint8_t out[SHA256_SIZE]) {
    mac_parts(key, data, length, NULL, 0, out);
}

void seal_key_derive(struct seal_key *key, const void *secret, size_t length, const char *purpose) {
    struct seal_key first;
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, secret, length);
    sha256_end(&hash, first.bytes);
    seal_mac(&first, purpose, strlen(purpose), key->bytes);
}

bool seal_equal(const uint8_t *a, const uint8_t *b, size_t length) {
    uint8_t difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

/* ---- base64 ---- */

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(struct buffer *out, const uint8_t *data, size_t length) {
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                         (left > 2 ? data[i + 2] : 0);
        for (size_t k = 0; k <= (left > 2 ? 3 : left); k++)
            buffer_add_char(out, for_urls[group >> (18 - 6 * k) & 63]);
    }
}

static int digit_of(const char *alphabet, char c) {
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* Without padding. Bits that are left over must be zero: one value has one form. */
static bool decode(struct buffer *out, const char *alphabet, const char *text, size_t length) {
    uint32_t bits = 0;
    unsigned count = 0;
    if (length % 4 == 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(alphabet, text[i]);
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

bool base64_decode(struct buffer *out, const char *text, size_t length) {
    if (length % 4 != 0)
        return false;
    for (int i = 0; i < 2 && length > 0 && text[length - 1] == '='; i++)
        length--;
    return decode(out, plain, text, length);
}

/* ---- seals ---- */

enum { TIME_SIZE = 8, HEAD = SHA256_SIZE + TIME_SIZE };

static void put_time(uint8_t *out, uint64_t time) {
    for (int i = 0; i < TIME_SIZE; i++)
        out[i] = (uint8_t)(time >> (56 - 8 * i));
}

static uint64_t get_time(const uint8_t *at) {
    uint64_t time = 0;
    for (int i = 0; i < TIME_SIZE; i++)
        time = time << 8 | at[i];
    return time;
}

void seal_write(struct buffer *out, const struct seal_key *key, uint64_t until,
                const uint8_t request[SHA256_SIZE], const char *text, size_t length) {
    struct buffer whole = {0};
    uint8_t head[HEAD] = {0};
    put_time(head + SHA256_SIZE, until);
    buffer_add(&whole, head, sizeof head);
    buffer_add(&whole, text, length);
    if (whole.failed) {
        out->failed = true;
        return;
    }
    mac_parts(key, request, SHA256_SIZE, whole.data + SHA256_SIZE, whole.length - SHA256_SIZE,
              head);
    memcpy(whole.data, head, SHA256_SIZE);
    encode(out, (const uint8_t *)whole.data, whole.length);
    buffer_finish(&whole);
}

bool seal_open(struct buffer *out, const struct seal_key *key, uint64_t now,
               const uint8_t request[SHA256_SIZE], const char *sealed, size_t length) {
    struct buffer whole = {0};
    uint8_t mac[SHA256_SIZE];
    bool good = decode(&whole, for_urls, sealed, length) && !whole.failed && whole.length >= HEAD;
    if (good) {
        const uint8_t *bytes = (const uint8_t *)whole.data;
        mac_parts(key, request, SHA256_SIZE, bytes + SHA256_SIZE, whole.length - SHA256_SIZE, mac);
        good = seal_equal(mac, bytes, SHA256_SIZE) && get_time(bytes + SHA256_SIZE) >= now;
    }
    if (good)
        buffer_add(out, whole.data + HEAD, whole.length - HEAD);
    buffer_finish(&whole);
    return good && !out->failed;
}
