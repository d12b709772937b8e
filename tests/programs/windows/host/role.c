/* What the host is among other programs, by the words that it is started with.
 *
 *     host idle              does nothing
 *     host interrupt PID     presses Ctrl-C in the console of the process
 *     host parent LINE       starts a program with all that is its own, prints "started PID", waits
 *     host keep LINE         starts one in a job that nobody may leave, as Steam does
 *     host free LINE         the same in one that lets everybody go; both end with standard input
 *     host reap PID MS LINE  starts one, and ends it when that process is gone: looks so often
 *     host peer PIPE         has a connection of its own, and is told what to do by its input
 *     host session PIPE ROLE does the same as tests/support/session_client.py
 *     host sessions PIPE COUNT holds so many, says hello in each with the line that is its input
 *
 * And what a person lacks at a command line, such as tests/windows/run.cmd:
 *
 *     host owner             starts one that does nothing; prints its pid and when it was created
 *     host kill PID          ends the process at once; 1 if there is none
 *     host left MS NAME...   waits so long for the ends of all programs of these names; prints the
 *                            pids of those that are left, and is 1 if there are any */
#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlhelp32.h>

enum { CANNOT_START = 97 };

/* The command line behind so many words. */
static wchar_t *line_behind(int words) {
    wchar_t *at = GetCommandLineW();
    for (; words > 0; words--) {
        at = wcschr(at + 1, *at == L'"' ? L'"' : L' ') + 1;
        while (*at == L' ')
            at++;
    }
    return at;
}

static int be_idle(char **words) {
    (void)words;
    Sleep(INFINITE);
    return 0;
}

static int interrupt(char **words) {
    FreeConsole();
    if (!AttachConsole(strtoul(words[0], NULL, 10)))
        return 1;
    SetConsoleCtrlHandler(NULL, TRUE);
    return GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) ? 0 : 2;
}

static bool start_with_all(DWORD flags, PROCESS_INFORMATION *child) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    return CreateProcessW(NULL, line_behind(2), NULL, NULL, TRUE, flags, NULL, NULL, &startup,
                          child);
}

static int be_a_parent(char **words) {
    PROCESS_INFORMATION child;
    char text[40];
    (void)words;
    if (!start_with_all(0, &child))
        return CANNOT_START;
    snprintf(text, sizeof text, "started %lu\n", child.dwProcessId);
    say(text, (DWORD)strlen(text));
    WaitForSingleObject(child.hProcess, INFINITE);
    return 0;
}

static int run_in_job(DWORD limits) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION information = {
        .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | limits};
    PROCESS_INFORMATION child;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &information,
                                 sizeof information) ||
        !start_with_all(CREATE_SUSPENDED, &child) || !AssignProcessToJobObject(job, child.hProcess))
        return CANNOT_START;
    ResumeThread(child.hThread);
    WaitForSingleObject(child.hProcess, INFINITE);
    while (getchar() != EOF)
        ;
    return 0;
}

static int keep(char **words) {
    (void)words;
    return run_in_job(0);
}

static int let_go(char **words) {
    (void)words;
    return run_in_job(JOB_OBJECT_LIMIT_BREAKAWAY_OK);
}

/* The usual way to tie a server to its owner, kept plain on purpose: a look at the owner's pid, and
 * two that miss it end the server, and it alone. */
static int reap(char **words) {
    DWORD interval = strtoul(words[1], NULL, 10), missed = 0, code;
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION server;
    if (!CreateProcessW(NULL, line_behind(4), NULL, NULL, FALSE, 0, NULL, NULL, &startup, &server))
        return CANNOT_START;
    while (missed < 2) {
        HANDLE owner = open_process(PROCESS_QUERY_LIMITED_INFORMATION, words[0]);
        bool is_there = owner && GetExitCodeProcess(owner, &code) && code == STILL_ACTIVE;
        missed = is_there ? 0 : missed + 1;
        if (owner)
            CloseHandle(owner);
        if (missed < 2)
            Sleep(interval);
    }
    TerminateProcess(server.hProcess, KILLED);
    return 0;
}

static int peer(char **words) {
    return be_a_peer(words[0]);
}

static int session(char **words) {
    return hold_session(words[0], words[1]);
}

static int sessions(char **words) {
    return hold_sessions(words[0], strtol(words[1], NULL, 10));
}

static int start_owner(char **words) {
    wchar_t self[MAX_PATH], line[MAX_PATH + 40];
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    (void)words;
    GetModuleFileNameW(NULL, self, MAX_PATH);
    _snwprintf(line, MAX_PATH + 40, L"\"%ls\" idle", self);
    if (!CreateProcessW(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &startup,
                        &child))
        return CANNOT_START;
    printf("%lu %" PRIu64 "\n", child.dwProcessId, start_of(child.hProcess));
    return 0;
}

static int end_process(char **words) {
    HANDLE process = open_process(PROCESS_TERMINATE | SYNCHRONIZE, words[0]);
    if (!process || WaitForSingleObject(process, 0) == WAIT_OBJECT_0 ||
        !TerminateProcess(process, KILLED))
        return 1;
    WaitForSingleObject(process, INFINITE);
    return 0;
}

static bool is_one_of(const char *name, char **names) {
    for (; *names; names++)
        if (_stricmp(name, *names) == 0)
            return true;
    return false;
}

/* Who may not be waited for is taken for one of another user. */
static int wait_until_none_is_left(char **words) {
    ULONGLONG until = GetTickCount64() + strtoul(words[0], NULL, 10);
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32 entry = {.dwSize = sizeof entry};
    int left = 0;
    for (BOOL more = Process32First(all, &entry); more; more = Process32Next(all, &entry)) {
        ULONGLONG now = GetTickCount64();
        HANDLE process = is_one_of(entry.szExeFile, words + 1)
                             ? OpenProcess(SYNCHRONIZE, FALSE, entry.th32ProcessID)
                             : NULL;
        if (!process)
            continue;
        if (WaitForSingleObject(process, now < until ? (DWORD)(until - now) : 0) != WAIT_OBJECT_0) {
            printf("%lu\n", entry.th32ProcessID);
            left = 1;
        }
        CloseHandle(process);
    }
    CloseHandle(all);
    return left;
}

static const struct {
    const char *name;
    int words; /* at least; of those with a LINE it is the last */
    int (*play)(char **words);
} roles[] = {
    {"idle", 0, be_idle},      {"interrupt", 1, interrupt}, {"parent", 1, be_a_parent},
    {"keep", 1, keep},         {"free", 1, let_go},         {"reap", 3, reap},
    {"peer", 1, peer},         {"session", 2, session},     {"sessions", 2, sessions},
    {"owner", 0, start_owner}, {"kill", 1, end_process},    {"left", 2, wait_until_none_is_left},
};

int play_role(int argc, char **argv) {
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(argv[1], roles[i].name) == 0 && argc >= 2 + roles[i].words)
            return roles[i].play(argv + 2);
    fprintf(stderr, "host: what is '%s'?\n", argv[1]);
    return 2;
}
