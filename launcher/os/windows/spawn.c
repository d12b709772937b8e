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

/* It outlives us also where we are in a job, as those of Steam or of a build server, if the job
 * lets go. */
static int start_detached(struct start_spec *start, PROCESS_INFORMATION *started) {
    DWORD flags = start->flags;
    int rc;
    start->flags = flags | CREATE_BREAKAWAY_FROM_JOB;
    rc = start_process(start, started);
    start->flags = flags;
    return rc == UV_EACCES ? start_process(start, started) : rc;
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
    if (!spec->detached && errors && errors != INVALID_HANDLE_VALUE)
        start.stdio[2] = (os_handle)errors;
    if (rc == 0 && spec->detached)
        sweep_old(program);
    if (rc == 0)
        rc = spec->detached ? start_detached(&start, started) : start_process(&start, started);
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
