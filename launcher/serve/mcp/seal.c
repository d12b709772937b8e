#include "seal.h"

#include <string.h>

#include "base64.h"

/* ---- HMAC ---- */

static void mac_parts(const struct seal_key *key, const void *a, size_t a_length, const void *b,
                      size_t b_length, uint8_t out[SHA256_SIZE]) {
    struct sha hash;
    unsigned char pad[64];
    memset(pad, 0x36, sizeof pad);
    for (size_t i = 0; i < sizeof key->bytes; i++)
        pad[i] ^= key->bytes[i];
    sha256_init(&hash);
    sha_add(&hash, pad, sizeof pad);
    sha_add(&hash, a, a_length);
    sha_add(&hash, b, b_length);
    sha_end(&hash, out, SHA256_SIZE);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    sha256_init(&hash);
    sha_add(&hash, pad, sizeof pad);
    sha_add(&hash, out, SHA256_SIZE);
    sha_end(&hash, out, SHA256_SIZE);
}

void seal_mac(const struct seal_key *key, const void *data, size_t length,
              uint8_t out[SHA256_SIZE]) {
    mac_parts(key, data, length, NULL, 0, out);
}

void seal_key_derive(struct seal_key *key, const void *secret, size_t length, const char *purpose) {
    struct seal_key first;
    struct sha hash;
    sha256_init(&hash);
    sha_add(&hash, secret, length);
    sha_end(&hash, first.bytes, SHA256_SIZE);
    seal_mac(&first, purpose, strlen(purpose), key->bytes);
}

/* Takes the same time wherever the difference is. */
static bool seal_equal(const uint8_t *a, const uint8_t *b, size_t length) {
    uint8_t difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

/* ---- seals ---- */

enum { TIME_SIZE = sizeof(uint64_t), HEAD = SHA256_SIZE + TIME_SIZE };

void seal_write(struct buffer *out, const struct seal_key *key, uint64_t until,
                const uint8_t request[SHA256_SIZE], const char *text, size_t length) {
    struct buffer whole = {0};
    uint8_t head[HEAD] = {0};
    memcpy(head + SHA256_SIZE, &until, TIME_SIZE);
    buffer_add(&whole, head, sizeof head);
    buffer_add(&whole, text, length);
    if (whole.failed) {
        out->failed = true;
        return;
    }
    mac_parts(key, request, SHA256_SIZE, whole.data + SHA256_SIZE, whole.length - SHA256_SIZE,
              head);
    memcpy(whole.data, head, SHA256_SIZE);
    base64_add(out, BASE64_URL, (const uint8_t *)whole.data, whole.length);
    buffer_finish(&whole);
}

bool seal_open(struct buffer *out, const struct seal_key *key, uint64_t now,
               const uint8_t request[SHA256_SIZE], const char *sealed, size_t length) {
    struct buffer whole = {0};
    uint8_t mac[SHA256_SIZE];
    uint64_t until;
    bool good =
        base64_decode(&whole, BASE64_URL, sealed, length) && !whole.failed && whole.length >= HEAD;
    if (good) {
        const uint8_t *bytes = (const uint8_t *)whole.data;
        mac_parts(key, request, SHA256_SIZE, bytes + SHA256_SIZE, whole.length - SHA256_SIZE, mac);
        memcpy(&until, bytes + SHA256_SIZE, TIME_SIZE);
        good = seal_equal(mac, bytes, SHA256_SIZE) && until >= now;
    }
    if (good)
        buffer_add(out, whole.data + HEAD, whole.length - HEAD);
    buffer_finish(&whole);
    return good && !out->failed;
}
