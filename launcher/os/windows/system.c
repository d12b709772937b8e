/* The clock, the date, the environment, and the words of the command line. */
#include "win.h"

#include <shellapi.h>
#include <stdlib.h>
#include <time.h>

#include "memory.h"
#include "text_list.h"

int64_t os_clock_ms(void) {
    ULONGLONG ticks = 0; /* of 100 ns, without those spent asleep */
    QueryUnbiasedInterruptTime(&ticks);
    return (int64_t)(ticks / 10000);
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
void os_environment(struct text_list *list) {
    wchar_t *block = GetEnvironmentStringsW();
    list->failed = list->failed || !block;
    for (const wchar_t *at = block; at && *at; at += wcslen(at) + 1)
        if (*at != L'=')
            text_list_take(list, win_text(at, wcslen(at)));
    if (block)
        FreeEnvironmentStringsW(block);
}

/* What the C library makes of the command line is of the system's code page, and it replaces words
 * like "*.c" by names of files. */
char **os_arguments(int *count, char **words) {
    struct text_list list = {0};
    int wide_count;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &wide_count);
    list.failed = !wide;
    for (int i = 0; wide && i < wide_count; i++)
        text_list_take(&list, win_text(wide[i], wcslen(wide[i])));
    LocalFree(wide);
    if (list.failed || !list.items) {
        text_list_finish(&list);
        return words;
    }
    *count = (int)list.count;
    return list.items;
}
