/* Starting another tether. The child's environment is a block of its own, so that of this process
 * is not touched. */
#include "os/os_spawn.h"
#include "start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static bool is_number(const wchar_t *text) {
    size_t digits = wcsspn(text, L"0123456789");
    return digits > 0 && text[digits] == 0;
}

/* An update cannot overwrite a program in use, but may rename it to NAME.old-1 and so on. That goes
 * once nobody uses it any more: the system refuses it until then. */
static void sweep_old(const wchar_t *program) {
    static const wchar_t mark[] = L".old-";
    size_t length = wcslen(program), room = length + sizeof mark / sizeof mark[0] + MAX_PATH;
    wchar_t *path = memory_zeroed(room * sizeof *path), *name;
    WIN32_FIND_DATAW entry;
    HANDLE search;
    if (!path)
        return;
    swprintf(path, room, L"%ls%ls*", program, mark);
    search = FindFirstFileW(path, &entry);
    name = wcsrchr(path, L'\\');
    if (search != INVALID_HANDLE_VALUE && name) {
        size_t start = wcslen(name + 1) - 1; /* without the asterisk */
        do {
            if (wcslen(entry.cFileName) > start && is_number(entry.cFileName + start)) {
                memcpy(name + 1, entry.cFileName, (wcslen(entry.cFileName) + 1) * sizeof *name);
                DeleteFileW(path);
            }
        } while (FindNextFileW(search, &entry));
    }
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
    free(path);
}

/* A daemon has left the jobs that it may leave, and the one in which it was started tells whether
 * it has. Wine does not tell what a job allows. */
bool win_is_bound(void) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    BOOL in_job = FALSE;
    if (win_is_wine() || !IsProcessInJob(GetCurrentProcess(), NULL, &in_job) || !in_job)
        return false;
    return !QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &limits,
                                      sizeof limits, NULL) ||
           !(limits.BasicLimitInformation.LimitFlags &
             (JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK));
}

/* A process is there before its first instruction, and somebody has to let it go on. If we are
 * ended in between, nobody does, and it would keep what it was handed, the lock of an instance, for
 * ever. So until then it is in a job that ends with us. What it starts may leave that one if it may
 * leave those of others. */
static int start_in_cradle(struct start_spec *start, bool lets_go, PROCESS_INFORMATION *started) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    DWORD *flags = &limits.BasicLimitInformation.LimitFlags;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    int rc = job ? 0 : win_error();
    *flags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | (lets_go ? JOB_OBJECT_LIMIT_BREAKAWAY_OK : 0);
    if (rc == 0 &&
        !SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits))
        rc = win_error();
    start->job = job;
    if (rc == 0)
        rc = start_process(start, started);
    start->job = NULL;
    *flags &= ~(DWORD)JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (rc == 0 &&
        !SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits)) {
        rc = win_error(); /* it ends with the job */
        CloseHandle(started->hThread);
        CloseHandle(started->hProcess);
    }
    if (job)
        CloseHandle(job);
    return rc;
}

/* A daemon outlives us also where we are in a job, as those of Steam or of a build server, if the
 * job lets go. Programs from packages may be refused a job of ours. */
static int start_one_way(struct start_spec *start, bool detached, PROCESS_INFORMATION *started) {
    DWORD flags = start->flags;
    int rc = UV_EACCES;
    for (int way = detached ? 0 : 1; way < 4 && rc < 0; way += detached ? 1 : 2) {
        bool leaves = way % 2 == 0;
        start->flags = flags | (leaves ? CREATE_BREAKAWAY_FROM_JOB : 0);
        rc = way < 2 ? start_in_cradle(start, detached ? leaves : !win_is_bound(), started)
                     : start_process(start, started);
    }
    start->flags = flags;
    return rc;
}

/* Missing in some headers. */
WINBASEAPI LONG WINAPI GetCurrentPackageFullName(UINT32 *length, PWSTR name);

static bool is_packaged(void) {
    UINT32 length = 0;
    return GetCurrentPackageFullName(&length, NULL) == ERROR_INSUFFICIENT_BUFFER;
}

/* In a package the user's folder of local data is another, and so would be the daemon's place,
 * which all are to find. A launch leaves it, too, for it looks there for the lock. */
static int start_somehow(struct start_spec *start, bool detached, PROCESS_INFORMATION *started) {
    int rc = UV_EACCES;
    start->leaves_package = is_packaged();
    if (start->leaves_package)
        rc = start_one_way(start, detached, started);
    start->leaves_package = false;
    return rc < 0 ? start_one_way(start, detached, started) : rc;
}

static int start_it(const struct os_spawn_spec *spec, PROCESS_INFORMATION *started) {
    union {
        char *const *plain;
        const char *const *constant;
    } words = {.plain = spec->words}, environment = {.plain = spec->environment};
    HANDLE errors = GetStdHandle(STD_ERROR_HANDLE);
    wchar_t *program = NULL;
    struct start_spec start = {.command_line = start_command_line(words.constant),
                               .environment = start_environment(environment.constant),
                               .stdio = {OS_NO_HANDLE, spec->output, OS_NO_HANDLE},
                               .handed = spec->handed,
                               .handed_count = spec->handed_count,
                               .flags = CREATE_NO_WINDOW};
    int rc = win_path(spec->path, &program);
    if (rc == 0 && (!start.command_line || !start.environment))
        rc = UV_ENOMEM;
    start.program = program;
    /* What an editor without a terminal has for it may be none. */
    if (!spec->detached && errors && errors != INVALID_HANDLE_VALUE &&
        GetFileType(errors) != FILE_TYPE_UNKNOWN)
        start.stdio[2] = (os_handle)errors;
    if (rc == 0 && spec->detached)
        sweep_old(program);
    if (rc == 0)
        rc = start_somehow(&start, spec->detached, started);
    free(program);
    free(start.command_line);
    free(start.environment);
    return rc;
}

int os_spawn(struct os_child *child, const struct os_spawn_spec *spec) {
    PROCESS_INFORMATION started;
    int rc = start_it(spec, &started);
    if (child)
        *child = (struct os_child){0, OS_NO_HANDLE};
    if (rc < 0)
        return rc;
    CloseHandle(started.hThread);
    if (child)
        *child = (struct os_child){started.dwProcessId, (os_handle)started.hProcess};
    else
        CloseHandle(started.hProcess);
    return 0;
}

/* Through the handle that came with the start: it is this child and no other. */
void os_child_finish(struct os_child *child, bool kill_first) {
    if (child->handle != OS_NO_HANDLE && child->pid > 0) {
        if (kill_first)
            TerminateProcess((HANDLE)child->handle, 1);
        WaitForSingleObject((HANDLE)child->handle, INFINITE);
    }
    os_handle_close(&child->handle);
    child->pid = 0;
}

/* Nothing but what is on a list is ever inherited here. */
void os_handles_keep(const os_handle *kept, size_t count) {
    (void)kept;
    (void)count;
}

/* By its name: what an update renames is found by the next start (sweep_old). */
int os_own_program(char *out, size_t size) {
    return uv_exepath(out, &size);
}

/* There is no asking: it is ended, and all that it started with it, by the job that it has. */
void os_program_ask(int64_t pid) {
    uv_kill((int)pid, SIGTERM);
}
