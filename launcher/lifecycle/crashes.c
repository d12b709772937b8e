#include "crashes.h"

#include <string.h>

#include "lifecycle.h"
#include "must.h"

static uint32_t random_below(struct crashes *crashes, uint32_t bound) {
    crashes->random = crashes->random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(crashes->random >> 8) * bound) >> 24);
}

/* The first restart in a row is immediate. The k-th after it waits for a time drawn evenly from
 * [first * 2^(k-1), first * 2^k], with the upper end cut at the cap and the lower at half of it:
 * several programs that crashed together do not come back together. */
uint32_t crashes_delay(struct crashes *crashes, const struct lifecycle_config *config) {
    uint64_t cap = config->backoff_cap_ms;
    if (crashes->attempt <= 1)
        return 0;
    uint64_t low = config->backoff_first_ms;
    for (uint32_t k = 2; k < crashes->attempt && low < cap; k++)
        low *= 2;
    uint64_t high = low * 2;
    if (high > cap) {
        high = cap;
        low = low < (cap + 1) / 2 ? low : (cap + 1) / 2;
    }
    return (uint32_t)low + random_below(crashes, (uint32_t)(high - low) + 1);
}

bool crashes_note(struct crashes *crashes, const struct lifecycle_config *config, uint64_t now_ms) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < crashes->count; i++)
        if (now_ms - crashes->at[i] < config->crash_window_ms)
            crashes->at[kept++] = crashes->at[i];
    must(kept < CRASHES_MOST); /* the limit is met before */
    crashes->at[kept++] = now_ms;
    crashes->count = kept;
    memset(&crashes->at[kept], 0, (CRASHES_MOST - kept) * sizeof crashes->at[0]);
    if (crashes->attempt < 64)
        crashes->attempt++;
    return crashes->count >= config->crash_limit;
}

void crashes_forget(struct crashes *crashes) {
    memset(crashes->at, 0, sizeof crashes->at);
    crashes->count = 0;
    crashes->attempt = 0;
}
