/* The tests' hands among the processes of Windows: they run on another system, whose pids, pipes
 * and signals mean nothing here.
 *
 *     host                 listens on 127.0.0.1, prints the port; a connection is one request
 *     host WORDS           plays a role among the others: role.c tells which there are
 *
 * A request is a length (four bytes, the lowest first) and so many bytes: words, each with a NUL
 * behind it. The answer is a line, and what follows depends on the request:
 *
 *     self                 our pid and start, and the SID of our user
 *     stream               a number; the connection is one of a program's streams later on
 *     run LINE FOLDER CONSOLE IN OUT ERR VARIABLE...
 *                          pid, start and the clock before; then, when it has ended, its exit code.
 *                          A stream is the number of one, "null", "same" (as standard output), or
 *                          a path. NAME=VALUE is set, NAME alone is removed
 *     kill|suspend|resume|interrupt PID   "ok", or "gone"
 *     strike PID PORT...   kills it, too: the clock before, and how long it took from then on until
 *                          all of the ports could be had
 *     start PID            when it was created, with "ended" before it; "gone": nobody holds it
 *     attach PID           "ok"; then, when it has ended, its exit code
 *     handles PID          how many it has
 *     await MS PID         "gone", or "there" when the time is over
 *     list                 of each process a word: its pid, its parent's and its program's name
 *     environment|command|folder PID   its words, each with a NUL behind it
 *     connect PIPE         "ok", and the connection is the pipe's from then on
 *     accept PIPE          the same from the other side: "ok" as soon as somebody has come
 *     hold FILE            "ok"; shared with nobody as long as the connection is there
 *
 * The clock counts nanoseconds, and is the one that the test server stamps its starts by. */
#include "host/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iphlpapi.h>
#include <sddl.h>
#include <winternl.h>

#include <tlhelp32.h>

/* One of some thousand processes ends under Wine before it has begun. */
enum { MAX_WORDS = 512, MAX_STREAMS = 4096, TRIES = 3 };

static SOCKET streams[MAX_STREAMS]; /* those that no program has got yet */
static volatile LONG stream_count, pipe_count;

void __attribute__((noreturn)) give_up(const char *what) {
    fprintf(stderr, "host: %s: error %lu\n", what, GetLastError());
    exit(97);
}

wchar_t *wide(const char *text) {
    int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *out = malloc((size_t)length * sizeof *out);
    if (!out)
        give_up("memory");
    MultiByteToWideChar(CP_UTF8, 0, text, -1, out, length);
    return out;
}

void start_thread(LPTHREAD_START_ROUTINE fn, void *context, HANDLE *thread) {
    HANDLE made = CreateThread(NULL, 0, fn, context, 0, NULL);
    if (!made)
        give_up("thread");
    if (thread)
        *thread = made;
    else
        CloseHandle(made);
}

static bool send_all(SOCKET to, const char *data, int length) {
    while (length > 0) {
        int sent = send(to, data, length, 0);
        if (sent <= 0)
            return false;
        data += sent;
        length -= sent;
    }
    return true;
}

static void answer(SOCKET to, const char *text) {
    send_all(to, text, (int)strlen(text));
}

/* ---- passing on between a pipe and a connection ---- */

struct passage {
    HANDLE pipe; /* opened for overlapped use */
    SOCKET socket;
    HANDLE over; /* nobody is at the other end of the connection any more */
};

bool finish(HANDLE pipe, OVERLAPPED *overlapped, BOOL begun, DWORD *count) {
    if (!begun && GetLastError() != ERROR_IO_PENDING)
        return false;
    return GetOverlappedResult(pipe, overlapped, count, TRUE) && *count > 0;
}

/* To the pipe, until the connection ends. What the pipe does not take any more is dropped. */
static DWORD WINAPI pass_in(void *context) {
    const struct passage *passage = context;
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    char *bytes = malloc(PIPE_BYTES);
    int got;
    while (bytes && (got = recv(passage->socket, bytes, PIPE_BYTES, 0)) > 0)
        for (DWORD at = 0, count = 0; at < (DWORD)got; at += count)
            if (!finish(passage->pipe, &overlapped,
                        WriteFile(passage->pipe, bytes + at, (DWORD)got - at, NULL, &overlapped),
                        &count))
                break;
    SetEvent(passage->over);
    CloseHandle(overlapped.hEvent);
    free(bytes);
    return 0;
}

/* From the pipe, until either side ends. */
static void pass_out(const struct passage *passage) {
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    HANDLE either[] = {overlapped.hEvent, passage->over};
    char *bytes = malloc(PIPE_BYTES);
    DWORD count;
    while (bytes) {
        BOOL begun = ReadFile(passage->pipe, bytes, PIPE_BYTES, NULL, &overlapped);
        if (!begun && GetLastError() != ERROR_IO_PENDING)
            break;
        if (WaitForMultipleObjects(2, either, FALSE, INFINITE) != WAIT_OBJECT_0) {
            CancelIoEx(passage->pipe, &overlapped);
            GetOverlappedResult(passage->pipe, &overlapped, &count, TRUE);
            break;
        }
        if (!GetOverlappedResult(passage->pipe, &overlapped, &count, TRUE))
            break;
        if (!send_all(passage->socket, bytes, (int)count))
            break;
    }
    CloseHandle(overlapped.hEvent);
    free(bytes);
}

/* Both ways, and closes everything. */
static DWORD WINAPI pass_both(void *context) {
    struct passage *passage = context;
    HANDLE other;
    passage->over = CreateEventW(NULL, TRUE, FALSE, NULL);
    start_thread(pass_in, passage, &other);
    pass_out(passage);
    shutdown(passage->socket, SD_SEND);
    if (WaitForSingleObject(passage->over, 0) == WAIT_OBJECT_0)
        CancelIoEx(passage->pipe, NULL);
    WaitForSingleObject(other, INFINITE);
    CloseHandle(other);
    CloseHandle(passage->pipe);
    closesocket(passage->socket);
    CloseHandle(passage->over);
    free(passage);
    return 0;
}

/* A program's standard input: it ends with the connection. */
static DWORD WINAPI pass_input(void *context) {
    struct passage *passage = context;
    passage->over = CreateEventW(NULL, TRUE, FALSE, NULL);
    pass_in(passage);
    CloseHandle(passage->over);
    CloseHandle(passage->pipe);
    closesocket(passage->socket);
    free(passage);
    return 0;
}

/* ---- running programs ---- */

HANDLE inheritable(HANDLE handle) {
    if (handle != INVALID_HANDLE_VALUE)
        SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    return handle;
}

/* A pipe as programs make it for those that they start; the end that is returned is theirs. */
static HANDLE make_pipe(bool is_input, LPTHREAD_START_ROUTINE fn, SOCKET socket) {
    char name[80];
    struct passage *passage = calloc(1, sizeof *passage);
    HANDLE theirs;
    snprintf(name, sizeof name, "\\\\.\\pipe\\tether-host-%lu-%ld", GetCurrentProcessId(),
             InterlockedIncrement(&pipe_count));
    if (!passage)
        give_up("memory");
    passage->socket = socket;
    passage->pipe = CreateNamedPipeA(
        name, (is_input ? PIPE_ACCESS_OUTBOUND : PIPE_ACCESS_INBOUND) | FILE_FLAG_OVERLAPPED,
        PIPE_TYPE_BYTE, 1, PIPE_BYTES, PIPE_BYTES, 0, NULL);
    theirs = CreateFileA(name, (is_input ? GENERIC_READ : GENERIC_WRITE) | FILE_READ_ATTRIBUTES, 0,
                         NULL, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, NULL);
    if (passage->pipe == INVALID_HANDLE_VALUE || theirs == INVALID_HANDLE_VALUE)
        give_up("pipe");
    start_thread(fn, passage, NULL);
    return inheritable(theirs);
}

static HANDLE open_stream(const char *word, bool is_input, HANDLE out) {
    if (strcmp(word, "same") == 0)
        return out;
    if (word[0] >= '0' && word[0] <= '9')
        return make_pipe(is_input, is_input ? pass_input : pass_both,
                         streams[strtoul(word, NULL, 10) % MAX_STREAMS]);
    wchar_t *path = wide(strcmp(word, "null") == 0 ? "NUL" : word);
    HANDLE file = CreateFileW(path, is_input ? GENERIC_READ : GENERIC_WRITE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, 0, NULL);
    free(path);
    return inheritable(file);
}

/* Whether the two are of the same variable; `change` may be the name alone. */
static bool is_same_variable(const wchar_t *entry, const wchar_t *change) {
    size_t name = wcscspn(change, L"=");
    return _wcsnicmp(entry, change, name) == 0 && entry[name] == L'=';
}

/* Our own environment with these changes, in the form that programs are started with. */
static wchar_t *make_environment(char **changes) {
    wchar_t *own = GetEnvironmentStringsW(), *out, *at, *wides[MAX_WORDS];
    size_t count = 0, length = 1;
    for (; changes[count]; count++) {
        wides[count] = wide(changes[count]);
        length += wcslen(wides[count]) + 1;
    }
    for (const wchar_t *entry = own; *entry; entry += wcslen(entry) + 1)
        length += wcslen(entry) + 1;
    at = out = malloc(length * sizeof *out);
    if (!out)
        give_up("memory");
    for (const wchar_t *entry = own; *entry; entry += wcslen(entry) + 1) {
        bool changed = false;
        for (size_t i = 0; i < count; i++)
            changed = changed || is_same_variable(entry, wides[i]);
        if (!changed)
            at = wcscpy(at, entry) + wcslen(entry) + 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (wcschr(wides[i], L'='))
            at = wcscpy(at, wides[i]) + wcslen(wides[i]) + 1;
        free(wides[i]);
    }
    *at = 0;
    FreeEnvironmentStringsW(own);
    return out;
}

uint64_t start_of(HANDLE process) {
    FILETIME created, exited, kernel, user;
    if (!GetProcessTimes(process, &created, &exited, &kernel, &user))
        return 0;
    return (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
}

bool start_program(wchar_t *line, const wchar_t *folder, bool console, wchar_t *environment,
                   HANDLE handles[3], PROCESS_INFORMATION *child) {
    STARTUPINFOEXW startup = {.StartupInfo = {.cb = sizeof startup,
                                              .dwFlags = STARTF_USESTDHANDLES,
                                              .hStdInput = handles[0],
                                              .hStdOutput = handles[1],
                                              .hStdError = handles[2]}};
    size_t count = handles[1] == handles[0] ? 1 : handles[2] == handles[1] ? 2 : 3, size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    startup.lpAttributeList = malloc(size);
    if (!startup.lpAttributeList)
        give_up("memory");
    InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size);
    UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                              handles, count * sizeof handles[0], NULL, NULL);
    bool started =
        CreateProcessW(NULL, line, NULL, NULL, TRUE,
                       EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT |
                           (console ? CREATE_NO_WINDOW : DETACHED_PROCESS),
                       environment, *folder ? folder : NULL, &startup.StartupInfo, child);
    DeleteProcThreadAttributeList(startup.lpAttributeList);
    free(startup.lpAttributeList);
    return started;
}

static int64_t nanoseconds(void) {
    LARGE_INTEGER now, frequency;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    return (int64_t)((double)now.QuadPart * 1e9 / (double)frequency.QuadPart);
}

/* Its handle is kept until the connection ends, as a parent keeps a child that it has not waited
 * for. */
static void answer_run(SOCKET to, char **words) {
    wchar_t *line = wide(words[1]), *folder = wide(words[2]), *block = make_environment(words + 7);
    HANDLE handles[3];
    PROCESS_INFORMATION child;
    int64_t before = 0;
    char text[80];
    DWORD code;
    handles[0] = open_stream(words[4], true, NULL);
    handles[1] = open_stream(words[5], false, NULL);
    handles[2] = open_stream(words[6], false, handles[1]);
    bool started = false;
    for (int tries = 0; tries < TRIES && !started; tries++) {
        before = nanoseconds();
        started = start_program(line, folder, words[3][0] == '1', block, handles, &child);
        if (!started && GetLastError() != ERROR_INTERNAL_ERROR)
            break;
    }
    snprintf(text, sizeof text, "error %lu 0\n", GetLastError());
    for (int i = 0; i < (handles[2] == handles[1] ? 2 : 3); i++)
        CloseHandle(handles[i]);
    free(line);
    free(folder);
    free(block);
    if (started)
        snprintf(text, sizeof text, "%lu %" PRIu64 " %" PRId64 "\n", child.dwProcessId,
                 start_of(child.hProcess), before);
    answer(to, text);
    if (!started)
        return;
    CloseHandle(child.hThread);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    snprintf(text, sizeof text, "%lu\n", code);
    answer(to, text);
    while (recv(to, text, sizeof text, 0) > 0)
        ;
    CloseHandle(child.hProcess);
}

/* ---- others ---- */

HANDLE open_process(DWORD access, const char *pid) {
    return OpenProcess(access, FALSE, strtoul(pid, NULL, 10));
}

static bool press_ctrl_c(const char *pid) {
    char self[MAX_PATH], line[MAX_PATH + 40];
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    DWORD code = 1;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" interrupt %s", self, pid);
    if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &startup,
                        &child))
        return false;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
    return code == 0;
}

typedef LONG NTAPI process_fn(HANDLE process);

static bool call_native(const char *name, HANDLE process) {
    union {
        FARPROC found;
        process_fn *fn;
    } native = {GetProcAddress(GetModuleHandleA("ntdll"), name)};
    return native.fn && native.fn(process) == 0;
}

static void answer_act(SOCKET to, const char *what, const char *pid) {
    HANDLE process = open_process(PROCESS_TERMINATE | PROCESS_SUSPEND_RESUME | SYNCHRONIZE, pid);
    bool done = process && WaitForSingleObject(process, 0) != WAIT_OBJECT_0;
    if (done && strcmp(what, "kill") == 0) {
        done = TerminateProcess(process, KILLED);
        if (done)
            WaitForSingleObject(process, INFINITE);
    } else if (done && strcmp(what, "interrupt") == 0) {
        done = press_ctrl_c(pid);
    } else if (done) {
        done = call_native(strcmp(what, "suspend") == 0 ? "NtSuspendProcess" : "NtResumeProcess",
                           process);
    }
    if (process)
        CloseHandle(process);
    answer(to, done ? "ok\n" : "gone\n");
}

static bool can_be_had(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET opened = socket(AF_INET, SOCK_STREAM, 0);
    BOOL on = TRUE;
    address.sin_port = htons((u_short)strtoul(port, NULL, 10));
    setsockopt(opened, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof on);
    bool bound = bind(opened, (struct sockaddr *)&address, sizeof address) == 0;
    closesocket(opened);
    return bound;
}

/* Looks at the ports again and again, for the system tells nobody when one is free. */
static void answer_strike(SOCKET to, char **words) {
    HANDLE process = open_process(PROCESS_TERMINATE, words[1]);
    int64_t before = nanoseconds();
    char text[64];
    if (process) {
        TerminateProcess(process, KILLED);
        CloseHandle(process);
    }
    for (char **port = words + 2; *port; port++)
        while (!can_be_had(*port))
            Sleep(0);
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64 "\n", before, nanoseconds() - before);
    answer(to, text);
}

static void answer_self(SOCKET to) {
    union {
        TOKEN_USER user;
        BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } found;
    char text[300], *sid = NULL;
    HANDLE token;
    DWORD length;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) ||
        !GetTokenInformation(token, TokenUser, &found, sizeof found, &length) ||
        !ConvertSidToStringSidA(found.user.User.Sid, &sid))
        give_up("user");
    snprintf(text, sizeof text, "%lu %" PRIu64 " %s\n", GetCurrentProcessId(),
             start_of(GetCurrentProcess()), sid);
    LocalFree(sid);
    CloseHandle(token);
    answer(to, text);
}

static void answer_start(SOCKET to, const char *pid) {
    HANDLE process = open_process(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, pid);
    char text[40] = "gone\n";
    if (process && WaitForSingleObject(process, 0) == WAIT_OBJECT_0)
        snprintf(text, sizeof text, "ended %" PRIu64 "\n", start_of(process));
    else if (process)
        snprintf(text, sizeof text, "%" PRIu64 "\n", start_of(process));
    if (process)
        CloseHandle(process);
    answer(to, text);
}

static void answer_attach(SOCKET to, const char *pid) {
    HANDLE process = open_process(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, pid);
    char text[32];
    DWORD code = 0;
    answer(to, process ? "ok\n" : "gone\n");
    if (!process)
        return;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    snprintf(text, sizeof text, "%lu\n", code);
    answer(to, text);
}

static void answer_handles(SOCKET to, const char *pid) {
    HANDLE process = open_process(PROCESS_QUERY_INFORMATION, pid);
    char text[32];
    DWORD count = 0;
    if (process && GetProcessHandleCount(process, &count))
        CloseHandle(process);
    snprintf(text, sizeof text, "%lu\n", count);
    answer(to, text);
}

static void answer_await(SOCKET to, const char *ms, const char *pid) {
    HANDLE process = open_process(SYNCHRONIZE, pid);
    bool there = process && WaitForSingleObject(process, strtoul(ms, NULL, 10)) != WAIT_OBJECT_0;
    if (process)
        CloseHandle(process);
    answer(to, there ? "there\n" : "gone\n");
}

static void answer_list(SOCKET to) {
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    char text[40 + 3 * MAX_PATH];
    for (BOOL more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry)) {
        int length =
            snprintf(text, sizeof text, "%lu %lu ", entry.th32ProcessID, entry.th32ParentProcessID);
        length += WideCharToMultiByte(CP_UTF8, 0, entry.szExeFile, -1, text + length,
                                      (int)sizeof text - length, NULL, NULL);
        send_all(to, text, length);
    }
    CloseHandle(all);
}

/* What stands in the process's parameters: the environment, or a text as one word. */
static void answer_parameters(SOCKET to, const char *pid, const char *what) {
    bool environment = strcmp(what, "environment") == 0;
    HANDLE process = open_process(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, pid);
    PROCESS_BASIC_INFORMATION basic;
    char *parameters = NULL, *at = NULL;
    SIZE_T got = 0, size = 0;
    UNICODE_STRING line = {0};
    wchar_t *text = NULL;
    if (process && NtQueryInformationProcess(process, ProcessBasicInformation, &basic, sizeof basic,
                                             NULL) == 0)
        ReadProcessMemory(process, (char *)basic.PebBaseAddress + 0x20, &parameters, 8, &got);
    if (parameters && environment) {
        ReadProcessMemory(process, parameters + 0x80, &at, 8, &got);
        ReadProcessMemory(process, parameters + 0x3f0, &size, 8, &got);
    } else if (parameters) {
        ReadProcessMemory(process, parameters + (strcmp(what, "command") == 0 ? 0x70 : 0x38), &line,
                          sizeof line, &got);
        at = (char *)line.Buffer;
        size = line.Length;
    }
    text = calloc(1, size + 2 * sizeof *text);
    if (at && text && ReadProcessMemory(process, at, text, size, &got))
        for (wchar_t *entry = text; *entry; entry += wcslen(entry) + 1) {
            int length = WideCharToMultiByte(CP_UTF8, 0, entry, -1, NULL, 0, NULL, NULL);
            char *bytes = malloc((size_t)length);
            WideCharToMultiByte(CP_UTF8, 0, entry, -1, bytes, length, NULL, NULL);
            send_all(to, bytes, length);
            free(bytes);
        }
    free(text);
    if (process)
        CloseHandle(process);
}

HANDLE connect_pipe(const char *name) {
    wchar_t *path = wide(name);
    HANDLE pipe;
    do {
        pipe = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                           FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
                           NULL);
    } while (pipe == INVALID_HANDLE_VALUE && GetLastError() == ERROR_PIPE_BUSY &&
             WaitNamedPipeW(path, 10000));
    free(path);
    return pipe;
}

/* True if the connection is another's now. */
static bool answer_connect(SOCKET to, const char *name) {
    HANDLE pipe = connect_pipe(name);
    struct passage *passage;
    if (pipe == INVALID_HANDLE_VALUE) {
        answer(to, "gone\n");
        return false;
    }
    passage = calloc(1, sizeof *passage);
    if (!passage)
        give_up("memory");
    *passage = (struct passage){.pipe = pipe, .socket = to};
    answer(to, "ok\n");
    pass_both(passage);
    return true;
}

/* Waits until the other end of this connection is closed, or the event is there: true. */
static bool is_there_first(HANDLE event, SOCKET connection) {
    WSAEVENT closed = WSACreateEvent();
    HANDLE either[] = {event, closed};
    u_long waiting = 0;
    WSAEventSelect(connection, closed, FD_CLOSE);
    bool first = WaitForMultipleObjects(2, either, FALSE, INFINITE) == WAIT_OBJECT_0;
    WSAEventSelect(connection, NULL, 0);
    ioctlsocket(connection, FIONBIO, &waiting);
    WSACloseEvent(closed);
    return first;
}

static bool answer_accept(SOCKET to, const char *name) {
    wchar_t *path = wide(name);
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    struct passage *passage = calloc(1, sizeof *passage);
    if (!passage)
        give_up("memory");
    passage->socket = to;
    passage->pipe =
        CreateNamedPipeW(path, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE,
                         PIPE_UNLIMITED_INSTANCES, PIPE_BYTES, PIPE_BYTES, 0, NULL);
    free(path);
    if (passage->pipe == INVALID_HANDLE_VALUE)
        give_up("pipe");
    answer(to, "waiting\n");
    if (!ConnectNamedPipe(passage->pipe, &overlapped) && GetLastError() == ERROR_PIPE_CONNECTED)
        SetEvent(overlapped.hEvent);
    bool there = is_there_first(overlapped.hEvent, to);
    if (!there) {
        CancelIoEx(passage->pipe, &overlapped);
        CloseHandle(passage->pipe);
        free(passage);
    }
    CloseHandle(overlapped.hEvent);
    if (there) {
        answer(to, "ok\n");
        pass_both(passage);
    }
    return there;
}

static void answer_hold(SOCKET to, const char *name) {
    wchar_t *path = wide(name);
    char byte;
    HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_ALWAYS, 0, NULL);
    free(path);
    answer(to, file == INVALID_HANDLE_VALUE ? "gone\n" : "ok\n");
    while (recv(to, &byte, 1, 0) > 0)
        ;
    CloseHandle(file);
}

/* ---- requests ---- */

static bool receive(SOCKET from, char *data, uint32_t length) {
    while (length > 0) {
        int got = recv(from, data, (int)length, 0);
        if (got <= 0)
            return false;
        data += got;
        length -= (uint32_t)got;
    }
    return true;
}

static bool carry_out(SOCKET to, char **words, size_t count) {
    char text[64];
    if (strcmp(words[0], "self") == 0) {
        answer_self(to);
    } else if (strcmp(words[0], "stream") == 0) {
        LONG number = InterlockedIncrement(&stream_count);
        streams[number % MAX_STREAMS] = to;
        snprintf(text, sizeof text, "%ld\n", number);
        answer(to, text);
        return true;
    } else if (strcmp(words[0], "run") == 0 && count >= 7) {
        answer_run(to, words);
    } else if (strcmp(words[0], "strike") == 0 && count >= 2) {
        answer_strike(to, words);
    } else if (strcmp(words[0], "start") == 0 && count == 2) {
        answer_start(to, words[1]);
    } else if (strcmp(words[0], "attach") == 0 && count == 2) {
        answer_attach(to, words[1]);
    } else if (strcmp(words[0], "handles") == 0 && count == 2) {
        answer_handles(to, words[1]);
    } else if (strcmp(words[0], "await") == 0 && count == 3) {
        answer_await(to, words[1], words[2]);
    } else if (strcmp(words[0], "list") == 0) {
        answer_list(to);
    } else if (strcmp(words[0], "connect") == 0 && count == 2) {
        return answer_connect(to, words[1]);
    } else if (strcmp(words[0], "accept") == 0 && count == 2) {
        return answer_accept(to, words[1]);
    } else if (strcmp(words[0], "hold") == 0 && count == 2) {
        answer_hold(to, words[1]);
    } else if (strcmp(words[0], "environment") == 0 || strcmp(words[0], "command") == 0 ||
               strcmp(words[0], "folder") == 0) {
        answer_parameters(to, words[1], words[0]);
    } else {
        answer_act(to, words[0], words[1]);
    }
    return false;
}

static DWORD WINAPI serve(void *context) {
    SOCKET connection = (SOCKET)context;
    uint32_t length;
    char *words[MAX_WORDS] = {NULL}, *data = NULL;
    size_t count = 0;
    bool given_away = false;
    if (receive(connection, (char *)&length, sizeof length) && (data = malloc(length + 1)) &&
        receive(connection, data, length)) {
        for (char *at = data; at < data + length && count < MAX_WORDS - 1; at += strlen(at) + 1)
            words[count++] = at;
        given_away = count > 0 && carry_out(connection, words, count);
    }
    free(data);
    if (!given_away)
        closesocket(connection);
    return 0;
}

/* Ends with standard input, whose other end the tests hold. */
static DWORD WINAPI await_end(void *context) {
    char bytes[64];
    DWORD count;
    (void)context;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &count, NULL) && count > 0)
        ;
    ExitProcess(0);
}

static int listen_for_requests(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof address;
    SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 64) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        give_up("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    start_thread(await_end, NULL, NULL);
    for (;;) {
        SOCKET connection = accept(listener, NULL, NULL);
        if (connection != INVALID_SOCKET)
            start_thread(serve, (void *)connection, NULL);
    }
}

/* Wine's own drivers come up beside us, and nothing tells when they have, or that they never will:
 * a program is told then that there are neither networks nor disks. */
static void wait_for_drivers(void) {
    enum { AGAIN_MS = 10, PATIENCE_MS = 20000 };
    for (int waited = 0; waited < PATIENCE_MS; waited += AGAIN_MS, Sleep(AGAIN_MS)) {
        ULONG size = 0;
        WCHAR name[MAX_PATH];
        if (GetAdaptersAddresses(AF_UNSPEC, 0, NULL, NULL, &size) != ERROR_FILE_NOT_FOUND &&
            GetVolumeInformationW(L"C:\\", NULL, 0, NULL, NULL, NULL, name, MAX_PATH))
            return;
    }
    give_up("wait for the drivers");
}

int main(int argc, char **argv) {
    WSADATA data;
    if (argc > 1)
        return play_role(argc, argv);
    WSAStartup(MAKEWORD(2, 2), &data);
    wait_for_drivers();
    return listen_for_requests();
}
