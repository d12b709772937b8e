/* Wishes are what a console tells its processes: Ctrl-C, Break, and that it is about to close. They
 * come on a thread of their own, with no context. */
#include "console.h"
#include "os/os_loop.h"

#include <stdlib.h>

#include "memory.h"

enum { PROCESSES = 256, OURS_MS = 2000 };

struct os_wishes {
    uv_async_t told;
    unsigned which;
    volatile LONG wished; /* a sum of wishes that the loop has not seen */
    os_wish_fn fn;
    void *context;
};

/* The one thing here that belongs to the whole process, as its console does. */
static struct {
    SRWLOCK lock;
    struct os_wishes *wishes;
    ULONGLONG ours_until; /* an event until then is what we told the others */
    ULONGLONG over_until; /* one until then is late: nobody listens any more, and the end is near */
    bool has_handler;     /* on_event is the system's, for good */
    bool was_typed; /* an interrupt came that was not ours: all at the console have heard it */
    bool is_ours;   /* it is hidden and was made for us, so that nobody types there */
} console = {.lock = SRWLOCK_INIT};

static unsigned wish_of(DWORD event) {
    switch (event) {
    case CTRL_C_EVENT:
    case CTRL_BREAK_EVENT:
        return OS_WISH_END;
    case CTRL_CLOSE_EVENT:
        return OS_WISH_HANGUP;
    default: /* logging off, shutting down: told to services, and we are none; see docs/windows.md
              */
        return OS_WISH_END;
    }
}

/* True: it is known, and nothing else need be done about it. */
static BOOL WINAPI on_event(DWORD event) {
    unsigned wish = wish_of(event);
    bool known = false, is_key = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
    ULONGLONG now = GetTickCount64();
    AcquireSRWLockExclusive(&console.lock);
    if (is_key && (console.is_ours || now < console.ours_until)) {
        known = true; /* some servers interrupt all at their console to restart their own */
    } else if (console.wishes && (console.wishes->which & wish)) {
        console.was_typed = console.was_typed || is_key;
        InterlockedOr(&console.wishes->wished, (LONG)wish);
        uv_async_send(&console.wishes->told);
        known = true;
    } else {
        known = now < console.over_until;
    }
    ReleaseSRWLockExclusive(&console.lock);
    /* The system ends the process when this returns, or a few seconds later. */
    if (known && !is_key)
        Sleep(INFINITE);
    return known;
}

static void on_told(uv_async_t *async) {
    struct os_wishes *wishes = async->data;
    unsigned wished = (unsigned)InterlockedExchange(&wishes->wished, 0);
    if (wished & OS_WISH_END)
        wishes->fn(wishes->context, OS_WISH_END);
    if (wished & OS_WISH_HANGUP)
        wishes->fn(wishes->context, OS_WISH_HANGUP);
}

static bool console_is_ours(void) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    DWORD pids[2];
    GetStartupInfoW(&startup);
    return startup.dwFlags & STARTF_USESHOWWINDOW && startup.wShowWindow == SW_HIDE &&
           GetConsoleProcessList(pids, 2) == 1;
}

static void set_listener(struct os_wishes *wishes) {
    AcquireSRWLockExclusive(&console.lock);
    console.wishes = wishes;
    console.was_typed = false;
    console.over_until = 0;
    console.is_ours = console_is_ours();
    ReleaseSRWLockExclusive(&console.lock);
}

int os_wishes_create(struct os_wishes **out, uv_loop_t *loop, unsigned which, os_wish_fn fn,
                     void *context) {
    struct os_wishes *wishes = memory_zeroed(sizeof *wishes);
    int rc = wishes ? uv_async_init(loop, &wishes->told, on_told) : UV_ENOMEM;
    *out = NULL;
    if (rc < 0) {
        free(wishes);
        return rc;
    }
    wishes->told.data = wishes;
    uv_unref((uv_handle_t *)&wishes->told); /* to wish is no reason for a loop to go on */
    wishes->which = which;
    wishes->fn = fn;
    wishes->context = context;
    set_listener(wishes);
    /* A process whose parent had interrupts switched off hears of them again. */
    SetConsoleCtrlHandler(NULL, FALSE);
    if (!console.has_handler && !SetConsoleCtrlHandler(on_event, TRUE)) {
        rc = win_error();
        os_wishes_destroy(wishes);
        return rc;
    }
    console.has_handler = true;
    *out = wishes;
    return 0;
}

static void free_wishes(uv_handle_t *handle) {
    free(handle->data);
}

/* The handler stays. An event comes on a thread of its own, which a busy machine starts late: the
 * one with which a server was interrupted may find us at our own end, and the system's handler
 * would cut that off. Nor may it be removed while on_event waits in it: the system has a lock on
 * them. */
void os_wishes_destroy(struct os_wishes *wishes) {
    if (!wishes)
        return;
    AcquireSRWLockExclusive(&console.lock);
    console.wishes = NULL;
    console.over_until = GetTickCount64() + OURS_MS;
    ReleaseSRWLockExclusive(&console.lock);
    uv_close((uv_handle_t *)&wishes->told, free_wishes);
}

/* ---- interrupting others ---- */

bool console_is_there(void) {
    return GetConsoleCP() != 0;
}

enum whose { NOBODY, MEMBER, STRANGER };

/* Who has ended is listed for a moment longer. Who may not be asked is no member. */
static enum whose whose(DWORD pid, HANDLE job) {
    HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION | SYNCHRONIZE, FALSE, pid);
    BOOL in_job = FALSE;
    enum whose it;
    if (!process)
        return GetLastError() == ERROR_INVALID_PARAMETER ? NOBODY : STRANGER;
    it = win_has_ended(process)                            ? NOBODY
         : IsProcessInJob(process, job, &in_job) && in_job ? MEMBER
                                                           : STRANGER;
    CloseHandle(process);
    return it;
}

bool console_is_in_job(DWORD pid, HANDLE job) {
    return whose(pid, job) == MEMBER;
}

/* How many of the job are at our console, and how many others but us. False: more than can be
 * looked at, or no console. */
static bool count_present(HANDLE job, DWORD *members, DWORD *others) {
    DWORD pids[PROCESSES], count = GetConsoleProcessList(pids, PROCESSES);
    *members = *others = 0;
    if (count == 0 || count > PROCESSES)
        return false;
    for (DWORD i = 0; i < count; i++) {
        enum whose it = pids[i] == GetCurrentProcessId() ? NOBODY : whose(pids[i], job);
        *members += it == MEMBER;
        *others += it == STRANGER;
    }
    return true;
}

bool console_is_left(HANDLE job) {
    DWORD members, others;
    return count_present(job, &members, &others) && members == 0;
}

/* An event reaches everybody at the console, be it a shell or whoever else was started there. */
static bool tell_all(DWORD event) {
    bool sent, heard;
    AcquireSRWLockExclusive(&console.lock);
    heard = console.wishes != NULL; /* or it would end us */
    console.ours_until = heard ? GetTickCount64() + OURS_MS : 0;
    ReleaseSRWLockExclusive(&console.lock);
    sent = heard && GenerateConsoleCtrlEvent(event, 0);
    if (!sent) {
        AcquireSRWLockExclusive(&console.lock);
        console.ours_until = 0;
        ReleaseSRWLockExclusive(&console.lock);
    }
    return sent;
}

static bool was_typed(void) {
    bool typed;
    AcquireSRWLockShared(&console.lock);
    typed = console.was_typed;
    ReleaseSRWLockShared(&console.lock);
    return typed;
}

bool console_interrupt(HANDLE job) {
    DWORD members, others;
    if (!count_present(job, &members, &others) || members == 0)
        return false;
    return was_typed() || (others == 0 && tell_all(CTRL_C_EVENT));
}

bool console_break(HANDLE job) {
    DWORD members, others;
    return count_present(job, &members, &others) && members > 0 && others == 0 &&
           tell_all(CTRL_BREAK_EVENT);
}
