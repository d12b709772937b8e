/* What Wine lacks is tested at the call: the system's functions are replaced by ones that write
 * down how they are called and, where a test asks for it, refuse or answer as Windows does. What is
 * tested then are the calls, not what the system makes of them.
 *
 * The import library defines a pointer for each function; one defined here takes its place. */
#ifndef TETHER_TESTS_WINE_STAND_IN_H
#define TETHER_TESTS_WINE_STAND_IN_H

#include "tap.h"

#include <stdarg.h>

#include "os/os_spawn.h"

#define WORD(text)   ((char *)(uintptr_t)(text))
#define IMPORT(name) __imp_##name
#define ADDRESS(fn)  ((void *)(uintptr_t)(fn))

/* ---- what was called, in order ---- */

static char calls[16384];
static bool recording;

static inline void note(const char *format, ...) {
    size_t used = strlen(calls);
    va_list values;
    if (!recording || used + 256 > sizeof calls)
        return;
    va_start(values, format);
    vsnprintf(calls + used, sizeof calls - used, format, values);
    va_end(values);
    strcat(calls, "\n");
}

static inline void record(void) {
    calls[0] = '\0';
    recording = true;
}

static inline void show(void) {
    char copy[sizeof calls];
    recording = false;
    strcpy(copy, calls);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        printf("# %s\n", line);
}

static inline int count_of(const char *text) {
    int count = 0;
    for (const char *at = strstr(calls, text); at; at = strstr(at + 1, text))
        count++;
    return count;
}

/* Whether the one comes before the other. */
static inline bool in_order(const char *first, const char *second) {
    const char *at = strstr(calls, first);
    return at && strstr(at, second);
}

/* ---- in place of a function ---- */

/* The function itself; one that changes the last error no more than it does. */
#define REAL(module, result, name, ...)                                                            \
    typedef result(WINAPI *name##_type)(__VA_ARGS__);                                              \
    static name##_type real_##name(void) {                                                         \
        static name##_type found;                                                                  \
        if (!found)                                                                                \
            found = (name##_type)(uintptr_t)GetProcAddress(LoadLibraryA(module), #name);           \
        return found;                                                                              \
    }

#define REPLACE(name)                                                                              \
    extern void *IMPORT(name);                                                                     \
    void *IMPORT(name) = ADDRESS(my_##name)

static inline BOOL refuse(DWORD error) {
    SetLastError(error);
    return FALSE;
}

/* ---- calls that start a process ---- */

/* This program, doing nothing; what is called for that is recorded. */
static inline int spawn_with(bool detached, const os_handle *handed, size_t handed_count) {
    char self[MAX_PATH];
    char *words[] = {WORD("tether"), WORD("sleep"), NULL};
    struct os_child child;
    struct os_spawn_spec spec = {.path = self,
                                 .words = words,
                                 .environment = tap_environment(),
                                 .output = OS_NO_HANDLE,
                                 .handed = handed,
                                 .handed_count = handed_count,
                                 .detached = detached};
    GetModuleFileNameA(NULL, self, sizeof self);
    record();
    int rc = os_spawn(&child, &spec);
    show();
    if (rc == 0)
        os_child_finish(&child, true);
    return rc;
}

static inline int spawn_self(bool detached) {
    return spawn_with(detached, NULL, 0);
}

#endif
