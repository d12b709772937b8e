/* The companion server of tests, as ../server.c, for Windows: the same options, as far as
 * there is something like it here. What is asked to end by SIGTERM there is by Ctrl-C here.
 *
 * More options: --kinds FILE starts a child in each way in which one could try to get away, and
 * writes their kinds and pids to the file; --foster FILE starts one more, with the owner as its
 * parent; --window has a window, and ends when that is closed; --interrupts presses Ctrl-C in its
 * own console, and with --ignore-term says that it has heard it; --console FILE adds to the file
 * what would be seen of it: whether it has a console, whether that has a window, and a visible one,
 * and whether its own windows are to be hidden. Each thing that is waited for has a thread of its
 * own.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include <winsock2.h>

#include <shellapi.h>
#include <windows.h>
#include <winternl.h>

#include "../server_options.h"

enum { TRIES = 3, MAX_LISTENERS = 8, CHUNK = 4096, MAX_BOMB = 500, PATH_BYTES = 4096 };

struct kind {
    const char *name;
    DWORD flags;
};

static const struct kind kinds[] = {
    {"plain", 0},
    {"detached", DETACHED_PROCESS},
    {"group", CREATE_NEW_PROCESS_GROUP},
    {"console", CREATE_NEW_CONSOLE},
    {"window", CREATE_NO_WINDOW},
    {"away", CREATE_BREAKAWAY_FROM_JOB | DETACHED_PROCESS},
};

static char **options;
static HANDLE output;
static SOCKET listeners[MAX_LISTENERS];
static int listener_count;
static volatile LONG silent; /* nobody is answered yet */

/* Of the child: it hears no more of Ctrl-C than it was told to. */
static bool is_deaf(void) {
    return find_option(options, "--ignore-term") || find_option(options, "--escape");
}

static wchar_t *wide(const char *text) {
    int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *out = malloc((size_t)length * sizeof *out);
    if (!out)
        exit(1);
    MultiByteToWideChar(CP_UTF8, 0, text, -1, out, length);
    return out;
}

static char *narrow(const wchar_t *text) {
    int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = malloc((size_t)length);
    if (!out)
        exit(1);
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, length, NULL, NULL);
    return out;
}

/* Whole lines, whoever else adds some in the same moment. Returns how long the file is then. */
static LONGLONG append(const char *path, const char *text) {
    wchar_t *name = wide(path);
    HANDLE file = CreateFileW(name, FILE_APPEND_DATA | FILE_READ_ATTRIBUTES,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_ALWAYS, 0, NULL);
    LARGE_INTEGER size = {0};
    DWORD count;
    if (file == INVALID_HANDLE_VALUE || !WriteFile(file, text, (DWORD)strlen(text), &count, NULL))
        fail(1, "cannot append to", path);
    GetFileSizeEx(file, &size);
    CloseHandle(file);
    free(name);
    return size.QuadPart;
}

static void append_pid(const char *path) {
    char line[32];
    snprintf(line, sizeof line, "%lu\n", GetCurrentProcessId());
    append(path, line);
}

static void stamp(void) {
    LARGE_INTEGER now, frequency;
    char line[64];
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    if (text_of(options, "--stamp")) {
        snprintf(line, sizeof line, "%lu %" PRId64 "\n", GetCurrentProcessId(),
                 (int64_t)((double)now.QuadPart * 1e9 / (double)frequency.QuadPart));
        append(text_of(options, "--stamp"), line);
    }
}

static void report_environment(const char *path) {
    char temporary[PATH_BYTES];
    wchar_t *block = GetEnvironmentStringsW(), *from, *to;
    snprintf(temporary, sizeof temporary, "%s.%lu", path, GetCurrentProcessId());
    for (const wchar_t *entry = block; *entry; entry += wcslen(entry) + 1) {
        char *text = narrow(entry);
        append(temporary, text);
        append(temporary, "\n");
        free(text);
    }
    FreeEnvironmentStringsW(block);
    from = wide(temporary);
    to = wide(path);
    if (!MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING))
        fail(1, "cannot write", path);
}

/* ---- children ---- */

static bool create_self(const char *words, DWORD flags, bool inherit, STARTUPINFOW *startup,
                        PROCESS_INFORMATION *child) {
    wchar_t self[MAX_PATH], line[PATH_BYTES], *more = wide(words);
    GetModuleFileNameW(NULL, self, MAX_PATH);
    _snwprintf(line, PATH_BYTES, L"\"%ls\" %ls", self, more);
    free(more);
    /* One of some thousand ends under Wine before it has begun. */
    for (int tries = 0; tries < TRIES; tries++) {
        if (CreateProcessW(NULL, line, NULL, NULL, inherit, flags, NULL, NULL, startup, child))
            return true;
        if (GetLastError() != ERROR_INTERNAL_ERROR)
            break;
    }
    return false;
}

/* Its exit code if it is waited for, or its pid. */
static DWORD close_child(PROCESS_INFORMATION *child, bool wait) {
    DWORD code = child->dwProcessId;
    if (wait) {
        WaitForSingleObject(child->hProcess, INFINITE);
        GetExitCodeProcess(child->hProcess, &code);
    }
    CloseHandle(child->hProcess);
    CloseHandle(child->hThread);
    return code;
}

/* Starts this program with other words; 0 if that is not possible. With `wait` the answer is its
 * exit code. */
static DWORD start_self(const char *words, DWORD flags, bool inherit, bool wait) {
    STARTUPINFOW startup = {
        .cb = sizeof startup, .dwFlags = STARTF_USESHOWWINDOW, .wShowWindow = SW_HIDE};
    PROCESS_INFORMATION child;
    return create_self(words, flags, inherit, &startup, &child) ? close_child(&child, wait) : 0;
}

/* A program in a job of our own within the one that we are in starts another one, which leaves
 * ours. That job stays as long as we do. */
static DWORD start_from_job(DWORD limits, DWORD flags) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION information = {.BasicLimitInformation.LimitFlags = limits};
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    char words[40];
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &information,
                            sizeof information);
    snprintf(words, sizeof words, "--start %lu", flags);
    if (!create_self(words, CREATE_SUSPENDED, false, &startup, &child) ||
        !AssignProcessToJobObject(job, child.hProcess))
        return 0;
    ResumeThread(child.hThread);
    return close_child(&child, true);
}

/* With a process outside of our tree as its parent, whose job it then is in. */
static DWORD start_fostered(void) {
    const char *owner = getenv("TETHER_OWNER_PID");
    STARTUPINFOEXW startup = {.StartupInfo.cb = sizeof startup};
    PROCESS_INFORMATION child;
    SIZE_T size = 0;
    HANDLE parent =
        owner ? OpenProcess(PROCESS_CREATE_PROCESS, FALSE, strtoul(owner, NULL, 10)) : NULL;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    startup.lpAttributeList = malloc(size);
    if (!parent || !startup.lpAttributeList ||
        !InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS,
                                   &parent, sizeof parent, NULL, NULL) ||
        !create_self("--idle", EXTENDED_STARTUPINFO_PRESENT, false, &startup.StartupInfo, &child))
        return 0;
    return close_child(&child, false);
}

static void append_kind(const char *path, const char *kind, DWORD pid) {
    char line[64];
    snprintf(line, sizeof line, "%s %lu\n", kind, pid);
    append(path, line);
}

/* The file is there when it is whole. */
static void start_kinds(const char *path) {
    char temporary[PATH_BYTES];
    wchar_t *from, *to;
    snprintf(temporary, sizeof temporary, "%s.new", path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        append_kind(temporary, kinds[i].name, start_self("--idle", kinds[i].flags, false, false));
    append_kind(temporary, "orphan", start_self("--orphan --idle", DETACHED_PROCESS, false, true));
    append_kind(temporary, "nested",
                start_from_job(JOB_OBJECT_LIMIT_BREAKAWAY_OK, CREATE_BREAKAWAY_FROM_JOB));
    append_kind(temporary, "silent", start_from_job(JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, 0));
    append_kind(temporary, "root", GetCurrentProcessId());
    from = wide(temporary);
    to = wide(path);
    MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
}

/* As the other server does: in the same group, in one of its own, without the console, and double
 * orphaned; the root is the fifth. */
static void start_escapes(const char *file, bool obedient) {
    static const DWORD ways[] = {0, CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS};
    char words[PATH_BYTES];
    snprintf(words, sizeof words, "%s \"%s\"", obedient ? "--escaped-obedient" : "--escaped", file);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        start_self(words, ways[i], false, false);
    snprintf(words, sizeof words, "--orphan %s \"%s\"",
             obedient ? "--escaped-obedient" : "--escaped", file);
    start_self(words, DETACHED_PROCESS, false, true);
    append_pid(file);
}

static BOOL WINAPI ignore(DWORD event) {
    (void)event;
    return TRUE;
}

static void escape_and_wait(const char *file, bool obedient) {
    if (!obedient)
        SetConsoleCtrlHandler(ignore, TRUE);
    append_pid(file);
    Sleep(INFINITE);
}

/* Every process of the bomb starts others as long as fewer than `limit` were ever started. */
static void start_bomb(long limit) {
    char name[64], words[64];
    HANDLE count;
    snprintf(name, sizeof name, "tether-bomb-%s",
             getenv("TETHER_MARK") ? getenv("TETHER_MARK") : "none");
    if (limit == 0)
        return;
    count = CreateSemaphoreA(NULL, limit, limit, name);
    snprintf(words, sizeof words, "--bomb %ld", limit);
    while (WaitForSingleObject(count, 0) == WAIT_OBJECT_0)
        start_self(words, 0, false, false);
}

/* ---- ends ---- */

static void put(const char *data, size_t length);

static void end_by_itself(void) {
    ExitProcess((UINT)number_of(text_of(options, "--exit"), 1));
}

/* Only the first starts crash with --exit-times: each start adds a byte to the file. */
static bool is_to_end(void) {
    char **times = find_option(options, "--exit-times");
    if (times)
        return append(times[2], ".") <= number_of(times[1], 0);
    return find_option(options, "--exit") != NULL;
}

static BOOL WINAPI on_console(DWORD event) {
    (void)event;
    if (!is_deaf()) {
        Sleep((DWORD)number_option(options, "--term-delay-ms"));
        ExitProcess(0);
    }
    if (find_option(options, "--interrupts"))
        put("an interrupt came\n", strlen("an interrupt came\n"));
    return TRUE;
}

static DWORD WINAPI await_input(void *context) {
    char bytes[256];
    DWORD count;
    (void)context;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &count, NULL) && count > 0)
        ;
    ExitProcess(0);
}

static DWORD WINAPI await_end(void *context) {
    Sleep((DWORD)(uintptr_t)context);
    end_by_itself();
    return 0;
}

static void start_thread(LPTHREAD_START_ROUTINE fn, void *context) {
    HANDLE thread = CreateThread(NULL, 0, fn, context, 0, NULL);
    if (!thread)
        exit(1);
    CloseHandle(thread);
}

static LRESULT CALLBACK on_window(HWND window, UINT message, WPARAM word, LPARAM detail) {
    if (message == WM_CLOSE) {
        put("closed\n", strlen("closed\n"));
        ExitProcess(0);
    }
    return DefWindowProcA(window, message, word, detail);
}

static DWORD WINAPI have_window(void *context) {
    WNDCLASSA kind = {.lpfnWndProc = on_window, .lpszClassName = "server"};
    MSG message;
    if (!RegisterClassA(&kind) || !CreateWindowA("server", "server", WS_OVERLAPPEDWINDOW, 0, 0, 99,
                                                 99, NULL, NULL, NULL, NULL))
        exit(95);
    SetEvent(context);
    while (GetMessageA(&message, NULL, 0, 0) > 0)
        DispatchMessageA(&message);
    return 0;
}

static void show_window(void) {
    HANDLE up = CreateEventA(NULL, TRUE, FALSE, NULL);
    start_thread(have_window, up);
    WaitForSingleObject(up, INFINITE);
    CloseHandle(up);
}

/* ---- output ---- */

static void put(const char *data, size_t length) {
    DWORD count;
    for (; length > 0; data += count, length -= count)
        if (!WriteFile(output, data, (DWORD)length, &count, NULL) || count == 0)
            return; /* nobody reads; the server goes on */
}

static void say_words(void) {
    const char *say = text_of(options, "--say");
    char line[64];
    int length = snprintf(line, sizeof line, "server up pid %lu\n", GetCurrentProcessId());
    put(line, (size_t)length);
    if (say) {
        put(say, strlen(say));
        put("\n", 1);
    }
}

/* Lines of 80 bytes with the line feed, one line without an end, or noise. */
static void put_much(const char *kind) {
    long bytes = number_option(options, kind);
    uint32_t noise = GetCurrentProcessId();
    char chunk[CHUNK - CHUNK % 80];
    memset(chunk, 'x', sizeof chunk);
    for (size_t i = 79; strcmp(kind, "--flood") == 0 && i < sizeof chunk; i += 80)
        chunk[i] = '\n';
    while (bytes > 0) {
        size_t length = bytes < (long)sizeof chunk ? (size_t)bytes : sizeof chunk;
        for (size_t i = 0; strcmp(kind, "--binary") == 0 && i < length; i++) {
            noise = noise * 1664525u + 1013904223u;
            chunk[i] = (char)(noise >> 24);
        }
        put(chunk, length);
        bytes -= (long)length;
    }
}

/* ---- sockets ---- */

static DWORD WINAPI serve_client(void *context) {
    SOCKET client = (SOCKET)context;
    char data[CHUNK], body[32], text[256];
    int length = snprintf(body, sizeof body, "server %lu\n", GetCurrentProcessId());
    if (recv(client, data, sizeof data, 0) > 0) {
        length = snprintf(text, sizeof text,
                          "HTTP/1.1 %ld Test\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                          "Connection: close\r\n\r\n%s",
                          number_of(text_of(options, "--http-status"), 200), length, body);
        send(client, text, length, 0);
        shutdown(client, SD_SEND);
        while (recv(client, data, sizeof data, 0) > 0)
            ;
    }
    closesocket(client);
    return 0;
}

static DWORD WINAPI serve(void *context) {
    SOCKET listener = (SOCKET)context;
    for (;;) {
        if (find_option(options, "--slow-accept"))
            Sleep(SLOW_ACCEPT_MS);
        SOCKET client = accept(listener, NULL, NULL);
        if (client == INVALID_SOCKET)
            return 0;
        start_thread(serve_client, (void *)client);
    }
}

static void listen_on(long port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    BOOL on = TRUE;
    address.sin_port = htons((u_short)port);
    setsockopt(listener, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (char *)&on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 128) < 0) {
        fprintf(stderr, "server: cannot listen on 127.0.0.1:%ld: error %d\n", port,
                WSAGetLastError());
        exit(EXIT_PORT_TAKEN);
    }
    SetHandleInformation((HANDLE)listener, HANDLE_FLAG_INHERIT,
                         find_option(options, "--hold-socket-child") ? HANDLE_FLAG_INHERIT : 0);
    listeners[listener_count++] = listener;
}

static void take_listeners(void) {
    const char *handles = getenv("TETHER_LISTEN_HANDLES");
    char *end = NULL;
    if (!handles) {
        fprintf(stderr, "server: no sockets were handed down to this process\n");
        exit(EXIT_NO_SOCKETS);
    }
    for (const char *at = handles; *at && listener_count < MAX_LISTENERS;
         at = *end ? end + 1 : end) {
        listeners[listener_count] = (SOCKET)strtoull(at, &end, 10);
        SetHandleInformation((HANDLE)listeners[listener_count++], HANDLE_FLAG_INHERIT, 0);
    }
}

static void notify_ready(void) {
    const char *name = getenv("TETHER_READY_EVENT");
    HANDLE event = name ? OpenEventA(EVENT_MODIFY_STATE, FALSE, name) : NULL;
    if (!event || !SetEvent(event)) {
        fprintf(stderr, "server: no usable TETHER_READY_EVENT\n");
        exit(1);
    }
    CloseHandle(event);
}

static void become_ready(void) {
    static const char *const ports[][2] = {{"--http", "TETHER_HTTP_PORT"},
                                           {"--ws", "TETHER_WS_PORT"}};
    bool handed_down = find_option(options, "--listen-fds");
    if (handed_down)
        take_listeners();
    for (int i = 0; i < 2 && !handed_down; i++) {
        const char *given = text_of(options, ports[i][0]);
        long port = number_of(given ? given : getenv(ports[i][1]), 0);
        if (port > 0)
            listen_on(port);
    }
    if (find_option(options, "--hold-socket-child"))
        start_self("--idle", CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS, true, false);
    if (find_option(options, "--notify"))
        notify_ready();
}

static void answer_all(void) {
    for (int i = 0; i < listener_count; i++)
        start_thread(serve, (void *)listeners[i]);
    listener_count = 0;
}

static DWORD WINAPI be_ready_later(void *context) {
    Sleep((DWORD)(uintptr_t)context);
    become_ready();
    if (!silent)
        answer_all();
    return 0;
}

/* ---- all of it ---- */

static void suspend_self(void) {
    union {
        FARPROC found;
        LONG(NTAPI *fn)(HANDLE process);
    } native = {GetProcAddress(GetModuleHandleA("ntdll"), "NtSuspendProcess")};
    native.fn(GetCurrentProcess());
}

static void refuse_what_there_is_not(void) {
    if (find_option(options, "--signal")) {
        fprintf(stderr, "server: there is no --signal on Windows\n");
        exit(EXIT_USAGE);
    }
}

/* What children are started with. */
static void be_a_child(int count, char **words) {
    if (count >= 2 && strcmp(words[0], "--orphan") == 0) {
        char line[PATH_BYTES];
        snprintf(line, sizeof line, count == 3 ? "%s \"%s\"" : "%s", words[1],
                 count == 3 ? words[2] : "");
        exit((int)start_self(line, CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS, false, false));
    }
    if (count == 1 && strcmp(words[0], "--idle") == 0) {
        SetConsoleCtrlHandler(ignore, TRUE);
        Sleep(INFINITE);
    }
    if (count == 2 && strcmp(words[0], "--start") == 0)
        exit((int)start_self("--idle", strtoul(words[1], NULL, 10), false, false));
    if (count == 2 && strncmp(words[0], "--escaped", 9) == 0)
        escape_and_wait(words[1], words[0][9] != '\0');
    if (count == 2 && strcmp(words[0], "--bomb") == 0) {
        SetConsoleCtrlHandler(ignore, TRUE);
        start_bomb(strtol(words[1], NULL, 10));
        Sleep(INFINITE);
    }
}

static char **take_options(int *count) {
    int words;
    wchar_t **wides = CommandLineToArgvW(GetCommandLineW(), &words);
    char **taken = calloc((size_t)words + 1, sizeof *taken);
    if (!taken)
        exit(1);
    for (int i = 1; i < words; i++)
        taken[i - 1] = narrow(wides[i]);
    *count = words - 1;
    return taken;
}

static void misbehave(bool ends) {
    say_words();
    if (ends) /* its last words are said by then */
        start_thread(await_end, (void *)(uintptr_t)number_option(options, "--after-ms"));
    put_much("--flood");
    put_much("--endless");
    put_much("--binary");
    start_bomb(number_option(options, "--fork-bomb"));
}

static void report_console(const char *path) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    HWND window = GetConsoleWindow();
    DWORD pids[1];
    char text[100];
    GetStartupInfoW(&startup);
    snprintf(text, sizeof text, "%lu: console %d, window %d, visible %d, hide %d\n",
             GetCurrentProcessId(), GetConsoleProcessList(pids, 1) > 0, window != NULL,
             window && IsWindowVisible(window),
             startup.dwFlags & STARTF_USESHOWWINDOW && startup.wShowWindow == SW_HIDE);
    append(path, text);
}

int main(void) {
    WSADATA data;
    int count;
    long ready_after;
    bool ends;
    options = take_options(&count);
    stamp();
    be_a_child(count, options);
    check_options(options);
    refuse_what_there_is_not();
    output = GetStdHandle(find_option(options, "--stderr") ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(on_console, TRUE);
    WSAStartup(MAKEWORD(2, 2), &data);
    if (text_of(options, "--owner-report"))
        report_environment(text_of(options, "--owner-report"));
    if (text_of(options, "--console"))
        report_console(text_of(options, "--console"));
    if (text_of(options, "--kinds"))
        start_kinds(text_of(options, "--kinds"));
    if (text_of(options, "--foster"))
        append_kind(text_of(options, "--foster"), "fostered", start_fostered());
    if (text_of(options, "--escape"))
        start_escapes(text_of(options, "--escape"), false);
    if (text_of(options, "--escape-obedient"))
        start_escapes(text_of(options, "--escape-obedient"), true);
    if (find_option(options, "--window"))
        show_window();
    if (find_option(options, "--exit-on-stdin-eof"))
        start_thread(await_input, NULL);
    ends = is_to_end();
    if (ends && !find_option(options, "--after-ms")) { /* at once: it never listens */
        say_words();
        end_by_itself();
    }
    InterlockedExchange(&silent, 1);
    ready_after = number_option(options, "--ready-after-ms");
    if (ready_after > 0)
        start_thread(be_ready_later, (void *)(uintptr_t)ready_after);
    else if (!find_option(options, "--never-ready"))
        become_ready();
    misbehave(ends);
    InterlockedExchange(&silent, 0);
    answer_all();
    if (find_option(options, "--interrupts"))
        GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    if (find_option(options, "--stop-self"))
        suspend_self();
    Sleep(INFINITE);
    return 0;
}
