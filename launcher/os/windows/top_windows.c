#include "top_windows.h"

#include "console.h"

struct search {
    HANDLE job;
    bool asks;
    int count;
};

/* Windows that belong to another go with it. That of our own console is everybody's. */
static BOOL CALLBACK look(HWND window, LPARAM argument) {
    struct search *search = (struct search *)argument;
    DWORD pid = 0;
    if (window == GetConsoleWindow() || GetWindow(window, GW_OWNER))
        return TRUE;
    GetWindowThreadProcessId(window, &pid);
    if (pid != GetCurrentProcessId() && console_is_in_job(pid, search->job) &&
        (!search->asks || PostMessageW(window, WM_CLOSE, 0, 0)))
        search->count++;
    return TRUE;
}

int windows_count(HANDLE job, bool asks) {
    struct search search = {.job = job, .asks = asks};
    EnumWindows(look, (LPARAM)&search);
    return search.count;
}
