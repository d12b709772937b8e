/* An allocator for a Godot editor of Windows that runs under Wine 8, whose own heap goes through a
 * list of all free blocks of about a size, often thousands, for each that it gives out: half of
 * what an editor computed in its start was that. This is no part of Tether, nor of what its tests
 * look at.
 *
 * Small blocks of one size share pages of an arena, so that a block's address tells its size; large
 * ones, and all that the C library itself has made, are the C library's. windows_editor.sh makes a
 * library of it that has all else from the C library, and has the editor load that. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define ARENA_BYTES (16ull << 30)
enum {
    PAGE_BITS = 16,
    PAGE_BYTES = 1 << PAGE_BITS,
    STEP = 16,
    MOST = 16384,
    FINE = 512,
    SIZES = 64
};

struct block {
    struct block *next;
};

struct pool {
    SRWLOCK lock;
    size_t size;
    struct block *given_back;
    char *at, *end; /* what was never given out of its last page */
};

static struct pool pools[SIZES];
static uint8_t pool_of_size[MOST / STEP + 1]; /* by the number of steps, rounded up */
static uint8_t pool_of_page[ARENA_BYTES >> PAGE_BITS];
static char *arena;
static volatile LONG64 used;

/* In steps of 16 bytes first, of a quarter then. */
static void make_pools(void) {
    size_t size = STEP, steps = 0;
    for (int i = 0; steps <= MOST / STEP; i++) {
        pools[i].size = size;
        while (steps <= size / STEP)
            pool_of_size[steps++] = (uint8_t)i;
        size += size < FINE ? STEP : size / 4 / STEP * STEP;
        if (size > MOST)
            size = MOST;
    }
}

static bool is_ours(const void *block) {
    return (size_t)((const char *)block - arena) < ARENA_BYTES;
}

static struct pool *pool_of(const void *block) {
    return &pools[pool_of_page[((const char *)block - arena) >> PAGE_BITS]];
}

static bool add_page(struct pool *pool) {
    LONG64 at = InterlockedExchangeAdd64(&used, PAGE_BYTES);
    if ((uint64_t)at >= ARENA_BYTES ||
        !VirtualAlloc(arena + at, PAGE_BYTES, MEM_COMMIT, PAGE_READWRITE))
        return false;
    pool_of_page[at >> PAGE_BITS] = (uint8_t)(pool - pools);
    pool->at = arena + at;
    pool->end = pool->at + PAGE_BYTES;
    return true;
}

void *quick_malloc(size_t size) {
    struct pool *pool = size <= MOST ? &pools[pool_of_size[(size + STEP - 1) / STEP]] : NULL;
    void *found = NULL;
    if (!arena || !pool)
        return malloc(size);
    AcquireSRWLockExclusive(&pool->lock);
    if (pool->given_back) {
        found = pool->given_back;
        pool->given_back = pool->given_back->next;
    } else if (pool->at + pool->size <= pool->end || add_page(pool)) {
        found = pool->at;
        pool->at += pool->size;
    }
    ReleaseSRWLockExclusive(&pool->lock);
    return found ? found : malloc(size);
}

void quick_free(void *block) {
    if (!is_ours(block)) {
        free(block);
        return;
    }
    struct pool *pool = pool_of(block);
    struct block *given_back = block;
    AcquireSRWLockExclusive(&pool->lock);
    given_back->next = pool->given_back;
    pool->given_back = given_back;
    ReleaseSRWLockExclusive(&pool->lock);
}

void *quick_calloc(size_t count, size_t each) {
    size_t size;
    void *block = __builtin_mul_overflow(count, each, &size) ? NULL : quick_malloc(size);
    return block ? memset(block, 0, size) : NULL;
}

void *quick_realloc(void *block, size_t size) {
    if (!block)
        return quick_malloc(size);
    if (!is_ours(block))
        return realloc(block, size);
    if (size == 0) {
        quick_free(block);
        return NULL;
    }
    size_t had = pool_of(block)->size;
    if (size <= had && size > had / 2)
        return block;
    void *other = quick_malloc(size);
    if (other) {
        memcpy(other, block, size < had ? size : had);
        quick_free(block);
    }
    return other;
}

char *quick_strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = quick_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD why, void *context) {
    (void)self;
    (void)context;
    if (why == DLL_PROCESS_ATTACH) {
        make_pools();
        arena = VirtualAlloc(NULL, ARENA_BYTES, MEM_RESERVE, PAGE_READWRITE);
    }
    return TRUE;
}
