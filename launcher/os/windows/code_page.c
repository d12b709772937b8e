/* What a console makes of bytes. It takes them for text of a code page, usually an old one of the
 * country's, and keeps that for whoever comes after us. */
#include "win.h"

#include <stdlib.h>

static volatile LONG former; /* the page that is to be there again; 0: none */

static void restore(void) {
    LONG page = InterlockedExchange(&former, 0);
    if (page)
        SetConsoleOutputCP((UINT)page);
}

/* Comes to whoever has not asked for wishes, and is then ended by the system. */
static BOOL WINAPI on_event(DWORD event) {
    (void)event;
    restore();
    return FALSE;
}

static bool is_console(DWORD name) {
    DWORD mode;
    return GetConsoleMode(GetStdHandle(name), &mode);
}

void os_console_speak_utf8(void) {
    UINT page = GetConsoleOutputCP();
    if (page == 0 || page == CP_UTF8 ||
        !(is_console(STD_OUTPUT_HANDLE) || is_console(STD_ERROR_HANDLE)) ||
        !SetConsoleOutputCP(CP_UTF8))
        return;
    former = (LONG)page;
    atexit(restore);
    SetConsoleCtrlHandler(on_event, TRUE);
}
