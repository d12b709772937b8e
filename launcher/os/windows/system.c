/* The clock, randomness, the date, and the environment. */
#define _CRT_RAND_S /* for rand_s, which is the system's own source of randomness */

#include "win.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"

int64_t os_clock_ms(void) {
    ULONGLONG ticks = 0; /* of 100 ns, without those spent asleep */
    QueryUnbiasedInterruptTime(&ticks);
    return (int64_t)(ticks / 10000);
}

int os_random(void *out, size_t size) {
    unsigned char *at = out;
    while (size > 0) {
        unsigned int word;
        size_t part = size < sizeof word ? size : sizeof word;
        if (rand_s(&word) != 0)
            return UV_EIO;
        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
    return 0;
}

bool os_utc(int64_t seconds, struct tm *parts) {
    __time64_t when = seconds;
    return _gmtime64_s(parts, &when) == 0;
}

/* Nothing ends by a signal here. */
const char *os_signal_name(int number) {
    (void)number;
    return "unknown";
}

void os_ignore_broken_pipes(void) {
}

bool win_is_wine(void) {
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll && GetProcAddress(ntdll, "wine_get_version");
}

/* What the C library has is of the system's code page, so it is not asked. Nobody frees the text:
 * few variables are asked for, each once. */
const char *os_variable(const char *name) {
    wchar_t *wide_name = win_wide(name), *wide = NULL;
    DWORD size = wide_name ? GetEnvironmentVariableW(wide_name, NULL, 0) : 0;
    char *text = NULL;
    if (size)
        wide = memory_zeroed(size * sizeof *wide);
    if (wide && GetEnvironmentVariableW(wide_name, wide, size) < size)
        text = win_text(wide, wcslen(wide));
    free(wide);
    free(wide_name);
    return text;
}

/* A block of the system's, in which names like "=C:" are its own affair. */
static size_t count_variables(const wchar_t *block) {
    size_t count = 0;
    for (const wchar_t *at = block; *at; at += wcslen(at) + 1)
        count += *at != L'=';
    return count;
}

/* Belongs to nobody, as the table of other systems does: it is asked for once for each start of a
 * server. Another thread's change shows in the next. */
char *const *os_environment(void) {
    static char *const nothing[] = {NULL};
    wchar_t *block = GetEnvironmentStringsW();
    char **list = block ? memory_zeroed((count_variables(block) + 1) * sizeof *list) : NULL;
    size_t count = 0;
    for (const wchar_t *at = block; list && *at; at += wcslen(at) + 1) {
        if (*at == L'=')
            continue;
        list[count] = win_text(at, wcslen(at));
        if (list[count])
            count++;
    }
    if (block)
        FreeEnvironmentStringsW(block);
    return list ? list : nothing;
}
