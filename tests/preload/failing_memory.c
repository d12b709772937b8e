/* Preloaded into a program by a test: lets one of its allocations fail, or that one and all after
 * it, as if memory were out.
 *
 *   FAILING_MEMORY_AT    the how manieth fails, from 1
 *   FAILING_MEMORY_ONCE  only that one; otherwise all after it, too
 *   FAILING_MEMORY_IN    only in processes with this first argument ("daemon"), not in what else
 *                        they start
 *   FAILING_MEMORY_TOLD  a file that is made when one has failed */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long count;
static long at;
static bool once;
static const char *told;

static bool is_meant(int argc, char **argv) {
    const char *only = getenv("FAILING_MEMORY_IN");
    return !only || (argc > 1 && strcmp(argv[1], only) == 0);
}

__attribute__((constructor)) static void begin(int argc, char **argv) {
    const char *number = getenv("FAILING_MEMORY_AT");
    once = getenv("FAILING_MEMORY_ONCE") != NULL;
    told = getenv("FAILING_MEMORY_TOLD");
    count = 0;
    at = number && is_meant(argc, argv) ? strtol(number, NULL, 10) : 0;
}

static bool fails(void) {
    long now = at > 0 ? atomic_fetch_add(&count, 1) + 1 : 0;
    if (at == 0 || now < at || (once && now > at))
        return false;
    if (now == at && told)
        close(open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    errno = ENOMEM;
    return true;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t number, size_t size) {
    return fails() ? NULL : __libc_calloc(number, size);
}

EXPORT void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}

EXPORT void *memalign(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
