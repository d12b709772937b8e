#include "sha.h"

#include <string.h>

static uint32_t rotate(uint32_t x, unsigned by) {
    return x >> by | x << (32 - by);
}

static uint32_t load(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* ---- SHA-1 ---- */

/* The function and the constant of a round, which change every twenty rounds. */
static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d) {
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void compress1(uint32_t state[8], const unsigned char *block) {
    uint32_t w[80], v[5];
    for (size_t i = 0; i < 16; i++)
        w[i] = load(block + 4 * i);
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 31);
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t next = rotate(v[0], 27) + mix(i, v[1], v[2], v[3]) + v[4] + w[i];
        memmove(v + 1, v, 4 * sizeof v[0]);
        v[2] = rotate(v[2], 2);
        v[0] = next;
    }
    for (int i = 0; i < 5; i++)
        state[i] += v[i];
}

void sha1_init(struct sha *hash) {
    *hash = (struct sha){.compress = compress1,
                         .state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

/* ---- SHA-256 ---- */

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void compress256(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = load(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
        uint32_t s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_init(struct sha *hash) {
    *hash = (struct sha){.compress = compress256,
                         .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

/* ---- data of any length ---- */

void sha_add(struct sha *hash, const void *data, size_t length) {
    const unsigned char *at = data;
    while (length > 0) {
        size_t used = hash->length % 64, room = 64 - used;
        size_t count = length < room ? length : room;
        memcpy(hash->block + used, at, count);
        hash->length += count;
        at += count;
        length -= count;
        if (hash->length % 64 == 0)
            hash->compress(hash->state, hash->block);
    }
}

/* Behind the data: a 1 bit, zeros, and the number of its bits at the end of a block. */
void sha_end(struct sha *hash, uint8_t *out, size_t size) {
    unsigned char tail[72] = {0x80};
    uint64_t bits = hash->length * 8;
    size_t zeros = (119 - hash->length % 64) % 64 + 1; /* the first of them is 0x80 */
    for (size_t i = 0; i < 8; i++)
        tail[zeros + i] = (unsigned char)(bits >> (56 - 8 * i));
    sha_add(hash, tail, zeros + 8);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
