/* What the system tells of other processes.
 *
 * Their environment is nowhere to be asked for: it is read out of their memory, from the place that
 * debuggers know. That of a 32-bit program is elsewhere, and counts as hidden. */
#include "win.h"

#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>
#include <winternl.h>

#include "memory.h"
#include "readable.h"

#define READ_MEMORY (PROCESS_QUERY_INFORMATION | PROCESS_VM_READ)

enum { COMMAND_LINE_INFORMATION = 60, VALUE_BYTES = 256 };
enum { ENVIRONMENT_BYTES = 2 << 20, TEXT_BYTES = 65536 + sizeof(UNICODE_STRING) };

/* Where things are in the memory of a 64-bit process: its block, and from there its parameters. */
enum { BLOCK_PARAMETERS = 0x20 };
enum { PARAMETERS_COMMAND = 0x70, PARAMETERS_VARIABLES = 0x80, PARAMETERS_VARIABLES_SIZE = 0x3f0 };

static void show(const wchar_t *wide, size_t length, char *out, size_t size) {
    char *text = win_text(wide, length);
    if (text)
        readable_cut(text, strlen(text), out, size);
    free(text);
}

/* ---- its memory ---- */

static int peek(HANDLE process, uintptr_t from, void *out, size_t size) {
    SIZE_T got = 0;
    return ReadProcessMemory(process, (const void *)from, out, size, &got) && got == size
               ? 0
               : UV_EACCES;
}

static int find_parameters(HANDLE process, uintptr_t *parameters) {
    PROCESS_BASIC_INFORMATION basic = {0};
    ULONG length;
    BOOL is_32_bit = TRUE;
    if (!IsWow64Process(process, &is_32_bit) || is_32_bit ||
        NtQueryInformationProcess(process, ProcessBasicInformation, &basic, sizeof basic, &length))
        return UV_EACCES;
    return peek(process, (uintptr_t)basic.PebBaseAddress + BLOCK_PARAMETERS, parameters,
                sizeof *parameters);
}

/* ---- its command ---- */

/* Since Windows 8.1 the system copies it for whoever may ask about the process at all. */
static int ask_command(HANDLE process, UNICODE_STRING *answer) {
    ULONG length;
    return NtQueryInformationProcess(process, (PROCESSINFOCLASS)COMMAND_LINE_INFORMATION, answer,
                                     TEXT_BYTES, &length)
               ? UV_EACCES
               : 0;
}

static int peek_command(const struct os_identity *identity, UNICODE_STRING *answer) {
    struct os_identity asked = *identity;
    UNICODE_STRING command = {0};
    uintptr_t parameters;
    HANDLE process;
    int rc = win_process_open(&asked, READ_MEMORY, &process);
    if (rc < 0)
        return rc;
    rc = find_parameters(process, &parameters);
    if (rc == 0)
        rc = peek(process, parameters + PARAMETERS_COMMAND, &command, sizeof command);
    if (rc == 0) {
        answer->Length = command.Length;
        answer->Buffer = (wchar_t *)(answer + 1);
        rc = peek(process, (uintptr_t)command.Buffer, answer->Buffer, command.Length);
    }
    CloseHandle(process);
    return rc;
}

int os_process_command(const struct os_identity *identity, char *out, size_t size) {
    struct os_identity asked = *identity;
    UNICODE_STRING *answer;
    HANDLE process;
    int rc;
    if (size == 0)
        return UV_EINVAL;
    out[0] = '\0';
    rc = win_process_open(&asked, WIN_ASK, &process);
    if (rc < 0)
        return rc;
    answer = win_has_ended(process) ? NULL : memory_zeroed(TEXT_BYTES);
    if (!answer)
        rc = win_has_ended(process) ? UV_ESRCH : UV_ENOMEM;
    if (rc == 0 && ask_command(process, answer) < 0)
        rc = peek_command(&asked, answer);
    if (rc == 0)
        show(answer->Buffer, answer->Length / sizeof(wchar_t), out, size);
    free(answer);
    CloseHandle(process);
    return rc;
}

int os_process_executable(const struct os_identity *identity, char *out, size_t size) {
    struct os_identity asked = *identity;
    wchar_t *path;
    DWORD length = 32768;
    HANDLE process;
    int rc;
    if (size == 0)
        return UV_EINVAL;
    out[0] = '\0';
    rc = win_process_open(&asked, PROCESS_QUERY_LIMITED_INFORMATION, &process);
    if (rc < 0)
        return rc;
    path = memory_zeroed(length * sizeof *path);
    if (!path)
        rc = UV_ENOMEM;
    else if (!QueryFullProcessImageNameW(process, 0, path, &length))
        rc = os_liveness(&asked) == OS_DEAD ? UV_ESRCH : UV_EACCES;
    if (rc == 0)
        show(path, length, out, size);
    free(path);
    CloseHandle(process);
    return rc;
}

void win_name_of(int64_t pid, char *out, size_t size) {
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    out[0] = '\0';
    if (all == INVALID_HANDLE_VALUE)
        return;
    for (bool more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry))
        if (entry.th32ProcessID == pid)
            show(entry.szExeFile, wcslen(entry.szExeFile), out, size);
    CloseHandle(all);
}

/* ---- its environment ---- */

static int peek_environment(HANDLE process, wchar_t **block, size_t *length) {
    uintptr_t parameters = 0, from = 0;
    uint64_t bytes = 0;
    int rc = find_parameters(process, &parameters);
    *block = NULL;
    if (rc == 0)
        rc = peek(process, parameters + PARAMETERS_VARIABLES, &from, sizeof from);
    if (rc == 0)
        rc = peek(process, parameters + PARAMETERS_VARIABLES_SIZE, &bytes, sizeof bytes);
    if (rc == 0 && (bytes < sizeof(wchar_t) || bytes > ENVIRONMENT_BYTES))
        rc = UV_EACCES;
    if (rc < 0)
        return rc;
    *length = (size_t)bytes / sizeof(wchar_t);
    *block = memory_zeroed((*length + 1) * sizeof **block); /* ended, whatever it holds */
    return *block ? peek(process, from, *block, *length * sizeof **block) : UV_ENOMEM;
}

/* Names of variables are the same in either case. */
static int take_value(const wchar_t *block, size_t length, const wchar_t *name, char *out,
                      size_t size) {
    size_t named = wcslen(name);
    for (const wchar_t *at = block; at < block + length && *at; at += wcslen(at) + 1) {
        char *value;
        int rc = UV_ENOBUFS;
        if (wcslen(at) <= named || at[named] != L'=' ||
            CompareStringOrdinal(at, (int)named, name, (int)named, TRUE) != CSTR_EQUAL)
            continue;
        value = win_text(at + named + 1, wcslen(at + named + 1));
        if (!value)
            return UV_ENOMEM;
        if (strlen(value) < size) {
            memcpy(out, value, strlen(value) + 1);
            rc = 0;
        }
        free(value);
        return rc;
    }
    return UV_ENOENT;
}

static int read_variable(HANDLE process, const char *name, char *out, size_t size) {
    wchar_t *block = NULL, *wide = win_wide(name);
    size_t length = 0;
    int rc = wide ? peek_environment(process, &block, &length) : UV_EINVAL;
    if (rc == 0)
        rc = take_value(block, length, wide, out, size);
    free(block);
    free(wide);
    return rc;
}

int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size) {
    struct os_identity asked = *identity;
    HANDLE process;
    int rc;
    if (size == 0 || !name[0] || strchr(name, '='))
        return UV_EINVAL;
    out[0] = '\0';
    rc = win_process_open(&asked, READ_MEMORY | SYNCHRONIZE, &process);
    if (rc < 0)
        return rc;
    rc = win_has_ended(process) ? UV_ESRCH : read_variable(process, name, out, size);
    CloseHandle(process);
    return rc;
}

static bool is_wanted(struct os_identity *identity, const char *name, const char *value) {
    char found[VALUE_BYTES];
    struct win_user user;
    HANDLE process;
    bool wanted;
    if (win_process_open(identity, READ_MEMORY | SYNCHRONIZE, &process) < 0)
        return false;
    wanted = !win_has_ended(process) && win_user_of(process, &user) == 0 &&
             win_is_self(&user.sid) && read_variable(process, name, found, sizeof found) == 0 &&
             strcmp(found, value) == 0;
    CloseHandle(process);
    return wanted;
}

int os_process_each(const char *name, const char *value, os_identity_fn fn, void *arg) {
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    HANDLE all;
    bool more;
    if (!name[0] || strchr(name, '=') || strlen(value) >= VALUE_BYTES)
        return UV_EINVAL;
    all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (all == INVALID_HANDLE_VALUE)
        return win_error();
    for (more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry)) {
        struct os_identity identity = {.pid = entry.th32ProcessID};
        if (is_wanted(&identity, name, value) && !fn(&identity, arg))
            break;
    }
    CloseHandle(all);
    return 0;
}
