/* What tests do among the processes of Windows, whose pids mean nothing outside of it.
 *
 *     agent                  reads requests, and answers each with one line:
 *         kill PID           ends the process at once: "ok", or "gone"
 *         start PID          when it was created, or "gone"
 *         gone MS PID...     waits for their ends, and names those that are left
 *         owner              starts a process that does nothing: its pid and when it was created
 *     agent sleep            is such a process
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

static bool start(char *line, DWORD flags, STARTUPINFOA *startup, PROCESS_INFORMATION *child) {
    return CreateProcessA(NULL, line, NULL, NULL, startup->dwFlags != 0, flags, NULL, NULL, startup,
                          child);
}

static void answer_owner(const char *self) {
    char line[MAX_PATH + 16];
    STARTUPINFOA startup = {.cb = sizeof startup};
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
    if (argc == 2 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    if (argc > 2 && strcmp(argv[1], "pipes") == 0)
        return run_on_pipes(strstr(GetCommandLineA(), " pipes ") + strlen(" pipes "));
    if (argc > 2 && strcmp(argv[1], "keep") == 0)
        return run_in_job(strstr(GetCommandLineA(), " keep ") + strlen(" keep "), 0);
    if (argc > 2 && strcmp(argv[1], "free") == 0)
        return run_in_job(strstr(GetCommandLineA(), " free ") + strlen(" free "),
                          JOB_OBJECT_LIMIT_BREAKAWAY_OK);
    return answer_requests(argv[0]);
}
