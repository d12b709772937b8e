/* A companion server of Windows for tests: obedient when told nothing, and by words it misbehaves.
 * It stands alone, so that a fault of Tether's cannot hide in shared code.
 *
 *     server [say TEXT] [report FILE] [escape FILE] [foster FILE] [few FILE] [deaf] [no-input]
 *            [interrupts] [window] [stamp FILE] [flood LINES] [exit CODE MS]
 *
 * It listens on TETHER_HTTP_PORT and TETHER_WS_PORT, answers every connection with its pid, and
 * ends with 0 when its input ends or it is interrupted; `deaf` takes no notice of either,
 * and `no-input` none of its input. With `window` it has one, and ends when that is closed; with
 * `interrupts` it interrupts all at its console, and takes no notice of it. */
#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>
#include <winsock2.h>

static const struct {
    const char *name;
    DWORD flags;
} kinds[] = {
    {"plain", 0},
    {"detached", DETACHED_PROCESS},
    {"group", CREATE_NEW_PROCESS_GROUP},
    {"window", CREATE_NO_WINDOW},
    {"console", CREATE_NEW_CONSOLE},
    {"away", CREATE_BREAKAWAY_FROM_JOB},
};

static bool deaf, no_input, interrupts;

static DWORD start_self(const char *word, DWORD flags, bool wait) {
    char self[MAX_PATH], line[MAX_PATH + 32];
    STARTUPINFOA startup = {
        .cb = sizeof startup, .dwFlags = STARTF_USESHOWWINDOW, .wShowWindow = SW_HIDE};
    PROCESS_INFORMATION child;
    DWORD code;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" %s", self, word);
    if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &startup, &child))
        return 0;
    code = child.dwProcessId;
    if (wait) {
        WaitForSingleObject(child.hProcess, INFINITE);
        GetExitCodeProcess(child.hProcess, &code);
    }
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
    return code;
}

/* A job of the server's own, within the one that it is in. */
static HANDLE make_job(DWORD limits) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION information = {.BasicLimitInformation.LimitFlags = limits};
    HANDLE job = CreateJobObjectA(NULL, NULL);
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &information,
                            sizeof information);
    return job;
}

/* A program in a job that lets everybody go starts another one, which leaves. The job stays open as
 * long as the server lives. */
static DWORD escape_nested(DWORD limits, DWORD flags) {
    char self[MAX_PATH], line[MAX_PATH + 32];
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    DWORD pid = 0;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" start %lu", self, flags);
    if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                        &child) ||
        !AssignProcessToJobObject(make_job(limits), child.hProcess))
        return 0;
    ResumeThread(child.hThread);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &pid);
    return pid;
}

/* With a process outside of our tree as its parent, whose job it then is in. */
static DWORD escape_fostered(void) {
    const char *owner = getenv("TETHER_OWNER_PID");
    STARTUPINFOEXA startup = {.StartupInfo.cb = sizeof startup};
    char self[MAX_PATH], line[MAX_PATH + 32];
    PROCESS_INFORMATION child;
    SIZE_T size = 0;
    HANDLE parent =
        owner ? OpenProcess(PROCESS_CREATE_PROCESS, FALSE, strtoul(owner, NULL, 10)) : NULL;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" sleep", self);
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    startup.lpAttributeList = malloc(size);
    if (!parent || !startup.lpAttributeList ||
        !InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS,
                                   &parent, sizeof parent, NULL, NULL) ||
        !CreateProcessA(NULL, line, NULL, NULL, FALSE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                        &startup.StartupInfo, &child))
        return 0;
    return child.dwProcessId;
}

/* One child of each kind, one whose parent has ended, and those that take more trouble; their names
 * and pids go to the file. */
static void escape(const char *path, bool all) {
    char temporary[MAX_PATH];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file)
        exit(96);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        fprintf(file, "%s %lu\n", kinds[i].name, start_self("sleep", kinds[i].flags, false));
    fprintf(file, "orphan %lu\n", start_self("orphan", DETACHED_PROCESS, true));
    fprintf(file, "nested %lu\n",
            escape_nested(JOB_OBJECT_LIMIT_BREAKAWAY_OK, CREATE_BREAKAWAY_FROM_JOB));
    fprintf(file, "silent %lu\n", escape_nested(JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, 0));
    if (all)
        fprintf(file, "fostered %lu\n", escape_fostered());
    fprintf(file, "root %lu\n", GetCurrentProcessId());
    fclose(file);
    MoveFileExA(temporary, path, MOVEFILE_REPLACE_EXISTING);
}

/* A line for each start of the server, and fewer children. */
static void few(const char *path) {
    FILE *file = fopen(path, "a");
    if (!file)
        exit(96);
    fprintf(file, "%lu\n", GetCurrentProcessId());
    fclose(file);
    start_self("sleep", 0, false);
    start_self("sleep", DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP, false);
    start_self("orphan", DETACHED_PROCESS, true);
}

/* When the program began, by the clock that all processes share. */
static void stamp(const char *path) {
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    FILE *file = fopen(path, "a");
    if (!file)
        exit(96);
    fprintf(file, "%lu %lld\n", GetCurrentProcessId(), (long long)now.QuadPart);
    fclose(file);
}

static void report(const char *path) {
    const char *pid = getenv("TETHER_OWNER_PID"), *start = getenv("TETHER_OWNER_START");
    FILE *file = fopen(path, "a");
    if (!file)
        exit(96);
    fprintf(file, "%s %s\n", pid ? pid : "-", start ? start : "-");
    fclose(file);
}

static BOOL WINAPI on_console(DWORD event) {
    (void)event;
    if (!deaf) {
        puts("interrupted");
        fflush(stdout);
        ExitProcess(0);
    }
    if (interrupts) {
        puts("an interrupt came");
        fflush(stdout);
    }
    return TRUE;
}

static LRESULT CALLBACK on_window(HWND window, UINT message, WPARAM word, LPARAM detail) {
    if (message == WM_CLOSE) {
        puts("closed");
        fflush(stdout);
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

static DWORD WINAPI await_input(void *context) {
    char bytes[256];
    DWORD count;
    (void)context;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &count, NULL) && count > 0)
        ;
    if (!deaf && !no_input)
        ExitProcess(0);
    return 0;
}

static DWORD WINAPI serve(void *context) {
    SOCKET listener = (SOCKET)context;
    char text[128], request[4096];
    for (;;) {
        SOCKET client = accept(listener, NULL, NULL);
        if (client == INVALID_SOCKET)
            return 0;
        recv(client, request, sizeof request, 0);
        snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%lu",
                 GetCurrentProcessId());
        send(client, text, (int)strlen(text), 0);
        closesocket(client);
    }
}

static void listen_on(const char *variable) {
    const char *port = getenv(variable);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    BOOL on = TRUE;
    if (!port || strcmp(port, "0") == 0)
        return;
    address.sin_port = htons((u_short)strtoul(port, NULL, 10));
    setsockopt(listener, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (char *)&on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 64) < 0)
        exit(98);
    CreateThread(NULL, 0, serve, (void *)listener, 0, NULL);
}

int main(int argc, char **argv) {
    WSADATA data;
    int code = 0;
    DWORD after = INFINITE;
    if (argc == 2 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    if (argc == 2 && strcmp(argv[1], "orphan") == 0)
        return (int)start_self("sleep", CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS, false);
    if (argc == 3 && strcmp(argv[1], "start") == 0)
        return (int)start_self("sleep", strtoul(argv[2], NULL, 10), false);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "deaf") == 0) {
            deaf = true;
        } else if (strcmp(argv[i], "interrupts") == 0) {
            interrupts = deaf = true;
        } else if (strcmp(argv[i], "no-input") == 0) {
            no_input = true;
        } else if (strcmp(argv[i], "window") == 0) {
            HANDLE up = CreateEventA(NULL, TRUE, FALSE, NULL);
            CreateThread(NULL, 0, have_window, up, 0, NULL);
            WaitForSingleObject(up, INFINITE);
        } else if (strcmp(argv[i], "say") == 0 && i + 1 < argc) {
            puts(argv[++i]);
        } else if (strcmp(argv[i], "report") == 0 && i + 1 < argc) {
            report(argv[++i]);
        } else if (strcmp(argv[i], "escape") == 0 && i + 1 < argc) {
            escape(argv[++i], false);
        } else if (strcmp(argv[i], "flood") == 0 && i + 1 < argc) {
            _setmode(_fileno(stdout), _O_BINARY); /* or the C library writes it in small pieces */
            setvbuf(stdout, NULL, _IOFBF, 65536);
            for (long line = strtol(argv[++i], NULL, 10); line > 0; line--)
                printf("%0999ld\n", line);
            puts("flood over");
        } else if (strcmp(argv[i], "stamp") == 0 && i + 1 < argc) {
            stamp(argv[++i]);
        } else if (strcmp(argv[i], "few") == 0 && i + 1 < argc) {
            few(argv[++i]);
        } else if (strcmp(argv[i], "foster") == 0 && i + 1 < argc) {
            escape(argv[++i], true);
        } else if (strcmp(argv[i], "exit") == 0 && i + 2 < argc) {
            code = (int)strtol(argv[++i], NULL, 10);
            after = strtoul(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "server: what is '%s'?\n", argv[i]);
            return 2;
        }
    }
    fflush(stdout);
    SetConsoleCtrlHandler(on_console, TRUE);
    WSAStartup(MAKEWORD(2, 2), &data);
    listen_on("TETHER_HTTP_PORT");
    listen_on("TETHER_WS_PORT");
    CreateThread(NULL, 0, await_input, NULL, 0, NULL);
    printf("server up pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    if (interrupts)
        GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    Sleep(after);
    return code;
}
