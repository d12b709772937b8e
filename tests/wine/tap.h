/* Tests of what is below os/windows: programs that print TAP, and are their own children. cmocka
 * does not come for mingw, and little of it is needed. */
#ifndef TETHER_TESTS_WINE_TAP_H
#define TETHER_TESTS_WINE_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "text_list.h"

/* windows.h comes behind it. */
#include <windows.h>
#include <winsock2.h>

#include <uv.h>

struct tap_test {
    const char *name;
    void (*run)(void);
};

static bool tap_failed;

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("# %s:%d: %s (last error %lu)\n", __FILE__, __LINE__, #condition,               \
                   GetLastError());                                                                \
            tap_failed = true;                                                                     \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define TEST(function)                                                                             \
    { #function, function }

/* Runs those whose name has `only` in it. */
static inline int tap_run(const struct tap_test *tests, size_t count, const char *only) {
    int failed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("1..%d\n", (int)count);
    for (size_t i = 0; i < count; i++) {
        DWORD before = 0, after = 0;
        if (only && !strstr(tests[i].name, only))
            continue;
        tap_failed = false;
        GetProcessHandleCount(GetCurrentProcess(), &before);
        tests[i].run();
        GetProcessHandleCount(GetCurrentProcess(), &after);
        if (after > before + 2) /* the C library and the system keep one now and then */
            printf("# %lu handles before, %lu after\n", before, after);
        printf("%s %d - %s\n", tap_failed ? "not ok" : "ok", (int)i + 1, tests[i].name);
        failed += tap_failed;
    }
    return failed ? 1 : 0;
}

/* This process's environment, to keep. */
static inline char **tap_environment(void) {
    static struct text_list list;
    if (!list.items)
        os_environment(&list);
    return list.items;
}

/* ---- directories ---- */

static char tap_state[OS_PATH_MAX];

/* The state directory of this run of a test program, with a blank and letters of no code page
 * together. */
static inline const char *tap_state_of(DWORD program) {
    wchar_t temporary[MAX_PATH];
    char folder[3 * MAX_PATH];
    if (!tap_state[0]) {
        GetTempPathW(MAX_PATH, temporary);
        WideCharToMultiByte(CP_UTF8, 0, temporary, -1, folder, sizeof folder, NULL, NULL);
        snprintf(tap_state, sizeof tap_state, "%stether %lu \xc3\xa4\xe2\x82\xac\xd0\xb6", folder,
                 program);
    }
    return tap_state;
}

static inline const char *tap_state_dir(void) {
    return tap_state_of(GetCurrentProcessId());
}

static inline int tap_open_dir(struct os_dir *dir, const char *instance) {
    char path[OS_PATH_MAX];
    struct error err = {0};
    int rc = os_instance_path(tap_state_dir(), instance, path, sizeof path, &err);
    if (rc == 0)
        rc = os_dir_open(dir, path, true, &err);
    if (rc < 0)
        printf("# %s\n", err.message);
    return rc;
}

/* ---- children ---- */

/* This program again, with these words; the handle in `hand` is inherited if it is one. */
static inline bool tap_child(PROCESS_INFORMATION *child, const char *words, HANDLE hand) {
    char self[MAX_PATH], line[2048];
    STARTUPINFOA startup = {.cb = sizeof startup};
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" %s", self, words);
    if (hand)
        SetHandleInformation(hand, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    bool started = CreateProcessA(NULL, line, NULL, NULL, hand != NULL, CREATE_NO_WINDOW, NULL,
                                  NULL, &startup, child);
    if (hand)
        SetHandleInformation(hand, HANDLE_FLAG_INHERIT, 0);
    return started;
}

static inline void tap_end(PROCESS_INFORMATION *child) {
    TerminateProcess(child->hProcess, 9);
    WaitForSingleObject(child->hProcess, INFINITE);
    CloseHandle(child->hProcess);
    CloseHandle(child->hThread);
}

#endif
