#include "sha1.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, LENGTH_AT = 56, ROUNDS = 80 };

static uint32_t rotate(uint32_t word, unsigned by) {
    return word << by | word >> (32 - by);
}

static uint32_t load(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

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

static void add_block(uint32_t hash[5], const unsigned char block[BLOCK]) {
    uint32_t w[ROUNDS], a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    for (size_t i = 0; i < 16; i++)
        w[i] = load(block + 4 * i);
    for (unsigned i = 16; i < ROUNDS; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

/* The rest of the data, a 1 bit, zeros, and the number of bits: one block or two. */
static void add_end(uint32_t hash[5], const unsigned char *rest, size_t count, uint64_t total) {
    unsigned char blocks[2 * BLOCK] = {0};
    size_t size = count < LENGTH_AT ? BLOCK : 2 * BLOCK;
    if (count)
        memcpy(blocks, rest, count);
    blocks[count] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        blocks[size - 1 - i] = (unsigned char)(total * 8 >> 8 * i);
    for (size_t at = 0; at < size; at += BLOCK)
        add_block(hash, blocks + at);
}

void sha1(const void *data, size_t length, unsigned char out[SHA1_SIZE]) {
    uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const unsigned char *bytes = data;
    size_t at = 0;
    for (; length - at >= BLOCK; at += BLOCK)
        add_block(hash, bytes + at);
    add_end(hash, bytes + at, length - at, length);
    for (unsigned i = 0; i < SHA1_SIZE; i++)
        out[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
}
