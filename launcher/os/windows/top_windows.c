#include "top_windows.h"

#include "console.h"

struct search {
    HANDLE job;
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
        PostMessageW(window, WM_CLOSE, 0, 0))
        search->count++;
    return TRUE;
}

int windows_close(HANDLE job) {
    struct search search = {.job = job};
    EnumWindows(look, (LPARAM)&search);
    return search.count;
}
