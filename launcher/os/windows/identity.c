/* Who is who, and who still lives. The start of a process is its creation time, in the system's
 * units of 100 ns. */
#include "win.h"

#include <stdio.h>
#include <string.h>

#include <winternl.h>

int win_process_start(HANDLE process, uint64_t *start) {
    FILETIME created, exited, kernel, user;
    if (!GetProcessTimes(process, &created, &exited, &kernel, &user))
        return win_error();
    *start = (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
    return 0;
}

/* The exit code would not do: 259 is both "still active" and a code that a program may choose. */
bool win_has_ended(HANDLE process) {
    return WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
}

/* The system rounds what it is given down to a multiple of 4, and so opens processes that were not
 * meant. */
static bool pid_is_possible(int64_t pid) {
    return pid > 0 && pid <= INT32_MAX && pid % 4 == 0;
}

int win_process_open(struct os_identity *identity, DWORD access, HANDLE *process) {
    uint64_t start = 0;
    int rc = 0;
    *process = NULL;
    if (!pid_is_possible(identity->pid))
        return UV_EINVAL;
    HANDLE opened = OpenProcess(access, FALSE, (DWORD)identity->pid);
    if (!opened)
        return GetLastError() == ERROR_INVALID_PARAMETER ? UV_ESRCH : win_error();
    rc = win_process_start(opened, &start);
    if (rc == 0 && identity->start != 0 && identity->start != start)
        rc = UV_ESRCH;
    if (rc < 0) {
        CloseHandle(opened);
        return rc;
    }
    identity->start = start;
    *process = opened;
    return 0;
}

int os_identity_of(int64_t pid, struct os_identity *identity) {
    struct os_identity found = {.pid = pid};
    HANDLE process;
    int rc = win_process_open(&found, PROCESS_QUERY_LIMITED_INFORMATION, &process);
    if (rc < 0)
        return rc == UV_EINVAL ? UV_ESRCH : rc;
    CloseHandle(process);
    *identity = found;
    return 0;
}

int os_identity_self(struct os_identity *identity) {
    identity->pid = GetCurrentProcessId();
    return win_process_start(GetCurrentProcess(), &identity->start);
}

enum os_life os_liveness(const struct os_identity *identity) {
    struct os_identity asked = *identity;
    HANDLE process;
    int rc = win_process_open(&asked, WIN_ASK, &process);
    if (rc == UV_ESRCH)
        return OS_DEAD;
    if (rc == UV_EACCES) /* somebody has the pid, and hides, as one with more rights may */
        return OS_ALIVE;
    if (rc < 0)
        return OS_UNKNOWN;
    DWORD waited = WaitForSingleObject(process, 0);
    CloseHandle(process);
    return waited == WAIT_OBJECT_0 ? OS_DEAD : waited == WAIT_TIMEOUT ? OS_ALIVE : OS_UNKNOWN;
}

/* All processes of the machine are counted together. */
enum os_answer os_same_namespace(int64_t pid) {
    (void)pid;
    return OS_YES;
}

/* The pid of who started a process, as the system noted it then: it may be another's by now. */
static int noted_parent(HANDLE process, int64_t *parent) {
    PROCESS_BASIC_INFORMATION basic = {0};
    ULONG length;
    if (NtQueryInformationProcess(process, ProcessBasicInformation, &basic, sizeof basic, &length))
        return UV_EACCES;
    *parent = (int64_t)basic.InheritedFromUniqueProcessId;
    return *parent ? 0 : UV_ESRCH;
}

int win_noted_parent(int64_t *parent) {
    return noted_parent(GetCurrentProcess(), parent);
}

/* Who started the process cannot be younger than it. */
static int parent_of(HANDLE process, struct os_identity *parent) {
    struct os_identity found = {0};
    uint64_t start = 0;
    int rc = noted_parent(process, &found.pid);
    if (rc == 0)
        rc = os_identity_of(found.pid, &found);
    if (rc == 0)
        rc = win_process_start(process, &start);
    if (rc == 0 && found.start > start)
        rc = UV_ESRCH;
    if (rc == 0)
        *parent = found;
    return rc;
}

int os_identity_parent(struct os_identity *identity) {
    struct os_identity found;
    int rc = parent_of(GetCurrentProcess(), &found);
    if (rc == 0 && os_liveness(&found) == OS_DEAD) /* its pid is kept while somebody holds it */
        rc = UV_ESRCH;
    if (rc == 0)
        *identity = found;
    return rc;
}

int os_process_parent(const struct os_identity *identity, int64_t *parent) {
    struct os_identity asked = *identity, found;
    HANDLE process;
    int rc = win_process_open(&asked, PROCESS_QUERY_LIMITED_INFORMATION, &process);
    if (rc < 0)
        return rc;
    rc = parent_of(process, &found);
    CloseHandle(process);
    if (rc == 0)
        *parent = found.pid;
    else if (rc == UV_ESRCH) { /* orphaned */
        *parent = 0;
        rc = 0;
    }
    return rc;
}

/* Starts are points in time, not counted from the start of the machine: an identity of an earlier
 * one matches nobody. So it is only the machine that has to be the same. */
void os_place(char out[OS_PLACE_MAX]) {
    static const char before[] = "windows/";
    wchar_t name[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD length = MAX_COMPUTERNAME_LENGTH + 1;
    snprintf(out, OS_PLACE_MAX, "%s", before);
    if (GetComputerNameW(name, &length))
        win_text_into(name, out + sizeof before - 1, OS_PLACE_MAX - (sizeof before - 1));
}

enum os_answer os_place_is_ours(const char *place) {
    char ours[OS_PLACE_MAX];
    os_place(ours);
    return strcmp(ours, place) == 0 && ours[strlen(ours) - 1] != '/' ? OS_YES : OS_MAYBE;
}
