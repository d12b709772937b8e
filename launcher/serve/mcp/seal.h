/* Text that goes through a client and must come back unchanged: sealed with HMAC-SHA-256.
 * Pure functions. */
#ifndef TETHER_SERVE_MCP_SEAL_H
#define TETHER_SERVE_MCP_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "sha.h"

struct seal_key {
    uint8_t bytes[SHA256_SIZE];
};

/* A key for one purpose out of a secret. */
void seal_key_derive(struct seal_key *key, const void *secret, size_t length, const char *purpose);

void seal_mac(const struct seal_key *key, const void *data, size_t length,
              uint8_t out[SHA256_SIZE]);

/* Adds the sealed form of a text, which holds for one request and until a time:
 * base64url of (MAC, time, text). `request` is a digest of what the text belongs to. */
void seal_write(struct buffer *out, const struct seal_key *key, uint64_t until,
                const uint8_t request[SHA256_SIZE], const char *text, size_t length);

/* Opens it. False: not ours, changed, too late, or of another request. `out` gets the text. */
bool seal_open(struct buffer *out, const struct seal_key *key, uint64_t now,
               const uint8_t request[SHA256_SIZE], const char *sealed, size_t length);

#endif
