/* The states that a search has seen, each a string of bytes of the same length, with the way to it.
 */
#ifndef TETHER_EXPLORE_SPACE_H
#define TETHER_EXPLORE_SPACE_H

#include <stddef.h>
#include <stdint.h>

#define NO_STATE UINT32_MAX

struct space {
    uint8_t *nodes; /* one after another, `width` bytes each */
    uint32_t *parent;
    uint8_t *move; /* index in the parent's list of moves */
    uint32_t count, room;
    uint32_t *table; /* open hashing into `nodes` */
    uint32_t slots;
    size_t width;
};

/* The width is a multiple of 8. Ends the program when there is no memory. */
void space_open(struct space *s, size_t width);
void space_close(struct space *s);

/* The number of a state, or NO_STATE. */
uint32_t space_find(const struct space *s, const uint8_t *bytes);

/* Adds a state that is reached from `parent` by its move of that number, unless it is there. */
void space_add(struct space *s, const uint8_t *bytes, uint32_t parent, unsigned move);

static inline const uint8_t *space_node(const struct space *s, uint32_t state) {
    return s->nodes + state * s->width;
}

#endif
