/* What tests do among the processes of Windows, whose pids mean nothing outside of it.
 *
 *     agent                  reads requests, and answers each with one line:
 *         kill PID           ends the process at once: "ok", or "gone"
 *         start PID          when it was created, or "gone"
 *         gone MS PID...     waits for their ends, and names those that are left
 *         find NAME...       the processes of programs of these names
 *         owner              starts a process that does nothing: its pid and when it was created
 *         overwrite PATH     opens a file for writing: 0, or the system's error
 *         set NAME VALUE     in the environment of what it starts from then on: "ok"
 *         spawn COMMAND      starts it, without waiting: "PID TICKS", by the clock before
 *         strike PID         ends the process at once: the clock before, in ticks
 *         free PID PORT...   the same, and then how many ticks it took until all could be had
 *         clock              how many ticks a second has
 *     agent sleep            is such a process
 *     agent reap PID MS PROGRAM   runs the program, and looks so often whether the process is there
 *     agent pipes PROGRAM    runs the program on pipes of this system, and passes on what comes
 *     agent keep PROGRAM     runs it in a job that nobody may leave, as Steam and build servers do,
 * and agent free PROGRAM     in one that lets everybody go; the job ends with the standard input
 *
 * Ends with its standard input. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>
#include <winsock2.h>

#include <tlhelp32.h>

enum { LINE_BYTES = 4096, PIPE_BYTES = 65536 };

static HANDLE open_process(DWORD access, const char *word) {
    DWORD pid = word ? strtoul(word, NULL, 10) : 0;
    return pid ? OpenProcess(access, FALSE, pid) : NULL;
}

static uint64_t start_of(HANDLE process) {
    FILETIME created, exited, kernel, user;
    if (!GetProcessTimes(process, &created, &exited, &kernel, &user))
        return 0;
    return (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
}

static void answer_kill(const char *word) {
    HANDLE process = open_process(PROCESS_TERMINATE | SYNCHRONIZE, word);
    bool ended = process && TerminateProcess(process, 9);
    if (ended)
        WaitForSingleObject(process, INFINITE);
    if (process)
        CloseHandle(process);
    puts(ended ? "ok" : "gone");
}

static void answer_start(const char *word) {
    HANDLE process = open_process(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, word);
    if (process && WaitForSingleObject(process, 0) != WAIT_OBJECT_0)
        printf("%" PRIu64 "\n", start_of(process));
    else
        puts("gone");
    if (process)
        CloseHandle(process);
}

static void answer_gone(char *words) {
    ULONGLONG until = GetTickCount64() + strtoul(words, &words, 10);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        HANDLE process = open_process(SYNCHRONIZE, word);
        ULONGLONG now = GetTickCount64();
        if (process &&
            WaitForSingleObject(process, now < until ? (DWORD)(until - now) : 0) != WAIT_OBJECT_0)
            printf("%s ", word);
        if (process)
            CloseHandle(process);
    }
    putchar('\n');
}

static void answer_find(const char *names) {
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32 entry = {.dwSize = sizeof entry};
    for (BOOL more = Process32First(all, &entry); more; more = Process32Next(all, &entry))
        if (names && strstr(names, entry.szExeFile))
            printf("%lu ", entry.th32ProcessID);
    CloseHandle(all);
    putchar('\n');
}

static bool start(char *line, DWORD flags, STARTUPINFOA *startup, PROCESS_INFORMATION *child) {
    return CreateProcessA(NULL, line, NULL, NULL, startup->hStdOutput != NULL, flags, NULL, NULL,
                          startup, child);
}

static void answer_owner(const char *self) {
    char line[MAX_PATH + 16];
    /* without our own streams, which may be files that are to be read */
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    snprintf(line, sizeof line, "\"%s\" sleep", self);
    if (!start(line, CREATE_NO_WINDOW, &startup, &child)) {
        puts("0 0");
        return;
    }
    printf("%lu %" PRIu64 "\n", child.dwProcessId, start_of(child.hProcess));
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
}

/* ---- what benchmarks ask for ---- */

static int64_t ticks(void) {
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    return now.QuadPart;
}

static void answer_spawn(char *line) {
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    int64_t before = ticks();
    if (!start(line, CREATE_NO_WINDOW, &startup, &child)) {
        puts("0 0");
        return;
    }
    printf("%lu %" PRId64 "\n", child.dwProcessId, before);
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
}

static void answer_strike(const char *word) {
    HANDLE process = open_process(PROCESS_TERMINATE, word);
    printf("%" PRId64 "\n", ticks());
    if (process) {
        TerminateProcess(process, 9);
        CloseHandle(process);
    }
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

static void answer_free(char *words) {
    HANDLE process = open_process(PROCESS_TERMINATE, strtok(words, " "));
    int64_t before = ticks();
    if (process) {
        TerminateProcess(process, 9);
        CloseHandle(process);
    }
    for (const char *port = strtok(NULL, " "); port; port = strtok(NULL, " "))
        while (!can_be_had(port))
            Sleep(0);
    printf("%" PRId64 "\n", ticks() - before);
}

static void answer_overwrite(const char *path) {
    HANDLE file = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                              OPEN_EXISTING, 0, NULL);
    printf("%lu\n", file == INVALID_HANDLE_VALUE ? GetLastError() : 0);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
}

static void answer_set(char *words) {
    char *value = strchr(words, ' ');
    *value++ = '\0';
    puts(SetEnvironmentVariableA(words, value) ? "ok" : "no");
}

static void answer_clock(void) {
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    printf("%" PRId64 "\n", (int64_t)frequency.QuadPart);
}

/* The usual way to tie a server to its owner, kept plain on purpose: a look at the owner's pid, and
 * two that miss it end the server, and it alone. */
static int reap(char *line) {
    DWORD owner = strtoul(line, &line, 10), interval = strtoul(line, &line, 10), missed = 0, code;
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION server;
    if (!start(line + 1, 0, &startup, &server))
        return 97;
    while (missed < 2) {
        HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, owner);
        bool is_there = process && GetExitCodeProcess(process, &code) && code == STILL_ACTIVE;
        missed = is_there ? 0 : missed + 1;
        if (process)
            CloseHandle(process);
        if (missed < 2)
            Sleep(interval);
    }
    TerminateProcess(server.hProcess, 9);
    return 0;
}

static int answer_requests(const char *self) {
    static char line[LINE_BYTES];
    while (fgets(line, sizeof line, stdin)) {
        char *words = strchr(line, ' ');
        line[strcspn(line, "\r\n")] = '\0';
        if (words)
            *words++ = '\0';
        if (strcmp(line, "kill") == 0)
            answer_kill(words);
        else if (strcmp(line, "start") == 0)
            answer_start(words);
        else if (strcmp(line, "gone") == 0)
            answer_gone(words);
        else if (strcmp(line, "spawn") == 0)
            answer_spawn(words);
        else if (strcmp(line, "strike") == 0)
            answer_strike(words);
        else if (strcmp(line, "free") == 0)
            answer_free(words);
        else if (strcmp(line, "overwrite") == 0)
            answer_overwrite(words);
        else if (strcmp(line, "set") == 0)
            answer_set(words);
        else if (strcmp(line, "clock") == 0)
            answer_clock();
        else if (strcmp(line, "find") == 0)
            answer_find(words);
        else
            answer_owner(self);
        fflush(stdout);
    }
    return 0;
}

/* ---- pipes ---- */

struct passage {
    HANDLE from, to;
};

static DWORD WINAPI pass_on(void *context) {
    const struct passage *passage = context;
    char *bytes = malloc(PIPE_BYTES);
    DWORD count, written;
    while (bytes && ReadFile(passage->from, bytes, PIPE_BYTES, &count, NULL) && count > 0)
        if (!WriteFile(passage->to, bytes, count, &written, NULL))
            break;
    CloseHandle(passage->to);
    free(bytes);
    return 0;
}

/* As many programs do it for those that they start: by one end that is for overlapped use. */
static bool make_pipe(const char *what, DWORD direction, HANDLE *ours, HANDLE *theirs) {
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    char name[80];
    snprintf(name, sizeof name, "\\\\.\\pipe\\tether-agent-%lu-%s", GetCurrentProcessId(), what);
    *ours = CreateNamedPipeA(name, direction, PIPE_TYPE_BYTE, 1, PIPE_BYTES, PIPE_BYTES, 0, NULL);
    *theirs = CreateFileA(name, direction == PIPE_ACCESS_INBOUND ? GENERIC_WRITE : GENERIC_READ, 0,
                          &inherited, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, NULL);
    return *ours != INVALID_HANDLE_VALUE && *theirs != INVALID_HANDLE_VALUE;
}

static int run_on_pipes(char *line) {
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    struct passage in = {.from = GetStdHandle(STD_INPUT_HANDLE)},
                   out = {.to = GetStdHandle(STD_OUTPUT_HANDLE)};
    DWORD code = 1;
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!make_pipe("in", PIPE_ACCESS_OUTBOUND, &in.to, &startup.hStdInput) ||
        !make_pipe("out", PIPE_ACCESS_INBOUND, &out.from, &startup.hStdOutput) ||
        !start(line, CREATE_NO_WINDOW, &startup, &child))
        return 97;
    CloseHandle(startup.hStdInput);
    CloseHandle(startup.hStdOutput);
    CreateThread(NULL, 0, pass_on, &in, 0, NULL);
    pass_on(&out);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    return (int)code;
}

/* ---- jobs ---- */

static int run_in_job(char *line, DWORD limits) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION information = {
        .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | limits};
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    HANDLE job = CreateJobObjectA(NULL, NULL);
    if (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &information,
                                 sizeof information) ||
        !start(line, CREATE_SUSPENDED, &startup, &child) ||
        !AssignProcessToJobObject(job, child.hProcess))
        return 97;
    ResumeThread(child.hThread);
    WaitForSingleObject(child.hProcess, INFINITE);
    while (getchar() != EOF)
        ;
    return 0;
}

int main(int argc, char **argv) {
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    if (argc == 2 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    if (argc > 2 && strcmp(argv[1], "pipes") == 0)
        return run_on_pipes(strstr(GetCommandLineA(), " pipes ") + strlen(" pipes "));
    if (argc > 4 && strcmp(argv[1], "reap") == 0)
        return reap(strstr(GetCommandLineA(), " reap ") + strlen(" reap "));
    if (argc > 2 && strcmp(argv[1], "keep") == 0)
        return run_in_job(strstr(GetCommandLineA(), " keep ") + strlen(" keep "), 0);
    if (argc > 2 && strcmp(argv[1], "free") == 0)
        return run_in_job(strstr(GetCommandLineA(), " free ") + strlen(" free "),
                          JOB_OBJECT_LIMIT_BREAKAWAY_OK);
    return answer_requests(argv[0]);
}
