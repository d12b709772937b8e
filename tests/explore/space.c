#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) {
        fprintf(stderr, "explore: out of memory\n");
        exit(2);
    }
    return memory;
}

void space_open(struct space *s, size_t width) {
    memset(s, 0, sizeof *s);
    s->width = width;
    s->room = 1u << 12;
    s->slots = 1u << 14;
    s->nodes = checked(malloc(s->room * s->width));
    s->parent = checked(malloc(s->room * sizeof *s->parent));
    s->move = checked(malloc(s->room));
    s->table = checked(malloc(s->slots * sizeof *s->table));
    memset(s->table, 0xff, s->slots * sizeof *s->table);
}

void space_close(struct space *s) {
    free(s->nodes);
    free(s->parent);
    free(s->move);
    free(s->table);
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t length) {
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t *space_slot(const struct space *s, const uint8_t *bytes) {
    uint32_t slot = (uint32_t)hash_bytes(bytes, s->width) & (s->slots - 1);
    while (s->table[slot] != NO_STATE &&
           memcmp(s->nodes + s->table[slot] * s->width, bytes, s->width) != 0)
        slot = (slot + 1) & (s->slots - 1);
    return &s->table[slot];
}

static void space_grow(struct space *s) {
    s->room *= 2;
    s->slots *= 2;
    s->nodes = checked(realloc(s->nodes, s->room * s->width));
    s->parent = checked(realloc(s->parent, s->room * sizeof *s->parent));
    s->move = checked(realloc(s->move, s->room));
    s->table = checked(realloc(s->table, s->slots * sizeof *s->table));
    memset(s->table, 0xff, s->slots * sizeof *s->table);
    for (uint32_t i = 0; i < s->count; i++)
        *space_slot(s, s->nodes + i * s->width) = i;
}

uint32_t space_find(const struct space *s, const uint8_t *bytes) {
    return *space_slot(s, bytes);
}

void space_add(struct space *s, const uint8_t *bytes, uint32_t parent, unsigned move) {
    uint32_t *slot = space_slot(s, bytes);
    if (*slot != NO_STATE)
        return;
    if (s->count == s->room) {
        space_grow(s);
        slot = space_slot(s, bytes);
    }
    memcpy(s->nodes + s->count * s->width, bytes, s->width);
    s->parent[s->count] = parent;
    s->move[s->count] = (uint8_t)move;
    *slot = s->count++;
}
