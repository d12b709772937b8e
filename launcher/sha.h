/* SHA-1 and SHA-256 (FIPS 180-4). SHA-1 is what the WebSocket handshake asks for, where it proves
 * nothing but that the other side knows the protocol; not for anything that must be secure. */
#ifndef TETHER_SHA_H
#define TETHER_SHA_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_SIZE = 20, SHA256_SIZE = 32 };

struct sha {
    void (*compress)(uint32_t state[8], const unsigned char *block);
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

void sha1_init(struct sha *hash);
void sha256_init(struct sha *hash);
void sha_add(struct sha *hash, const void *data, size_t length);

/* Writes the first `size` bytes of the hash: SHA1_SIZE or SHA256_SIZE. */
void sha_end(struct sha *hash, uint8_t *out, size_t size);

#endif
