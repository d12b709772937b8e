/* Stands among the processes of Windows for a program that runs outside, on the system of the
 * tests:
 *
 *     stand_in PORT WORD...
 *
 * or a copy of it with a file NAME.exe.is beside it, "PORT WORD", whose own words follow that one.
 * It connects to the port four times: for its control, and for the three streams of that program.
 * Whoever listens there (tests/support/stand_in.py) starts the words with the environment that is
 * told. What is asked of this process is asked of that one, which ends with this one, and this one
 * as that one does. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>

#include <shellapi.h>
#include <windows.h>

enum { BYTES = 65536, UNREACHABLE = 97 };

static SOCKET control;

static SOCKET open_connection(int port, const char *role) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET connection = socket(AF_INET, SOCK_STREAM, 0);
    char line[64];
    int length = snprintf(line, sizeof line, "%s %lu\n", role, GetCurrentProcessId());
    address.sin_port = htons((u_short)port);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0 ||
        send(connection, line, length, 0) != length)
        exit(UNREACHABLE);
    return connection;
}

/* Each with a NUL behind it, and one more behind the last. */
static void send_text(const wchar_t *text) {
    int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *bytes = malloc((size_t)length);
    if (!bytes || !WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, length, NULL, NULL))
        exit(UNREACHABLE);
    send(control, bytes, length, 0);
    free(bytes);
}

static void describe(int count, wchar_t **words) {
    uint32_t head = (uint32_t)count;
    const wchar_t *block = GetEnvironmentStringsW();
    send(control, (const char *)&head, sizeof head, 0);
    for (int i = 0; i < count; i++)
        send_text(words[i]);
    for (const wchar_t *entry = block; *entry; entry += wcslen(entry) + 1)
        send_text(entry);
    send(control, "", 1, 0);
}

static DWORD WINAPI pass_input(void *context) {
    SOCKET to = (SOCKET)context;
    char *bytes = malloc(BYTES);
    DWORD count;
    while (bytes && ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, BYTES, &count, NULL) &&
           count > 0)
        if (send(to, bytes, (int)count, 0) <= 0)
            break;
    shutdown(to, SD_SEND);
    free(bytes);
    return 0;
}

struct output {
    SOCKET from;
    HANDLE to;
};

static DWORD WINAPI pass_output(void *context) {
    const struct output *output = context;
    char *bytes = malloc(BYTES);
    int got;
    while (bytes && (got = recv(output->from, bytes, BYTES, 0)) > 0)
        for (DWORD at = 0, count; at < (DWORD)got; at += count)
            if (!WriteFile(output->to, bytes + at, (DWORD)got - at, &count, NULL) || count == 0)
                break;
    free(bytes);
    return 0;
}

static BOOL WINAPI on_console(DWORD event) {
    (void)event;
    send(control, "t", 1, 0);
    return TRUE;
}

/* What a copy stands for. */
static bool read_place(int *port, wchar_t **word) {
    static wchar_t text[MAX_PATH];
    wchar_t path[MAX_PATH + 8];
    char line[MAX_PATH];
    int at = 0;
    GetModuleFileNameW(NULL, path, MAX_PATH);
    FILE *file = _wfopen(wcscat(path, L".is"), L"r");
    if (!file)
        return false;
    bool found = fgets(line, sizeof line, file) && sscanf(line, "%d %n", port, &at) == 1 &&
                 MultiByteToWideChar(CP_UTF8, 0, line + at, -1, text, MAX_PATH) > 0;
    fclose(file);
    *word = text;
    return found;
}

int main(void) {
    WSADATA data;
    struct output out, err;
    HANDLE threads[2];
    char line[32];
    int port = 0, count, got = 0, more;
    wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
    if (!read_place(&port, &words[0])) {
        if (count < 3)
            return 2;
        port = (int)wcstol(words[1], NULL, 10);
        words += 2;
        count -= 2;
    }
    WSAStartup(MAKEWORD(2, 2), &data);
    SOCKET in = open_connection(port, "in");
    out = (struct output){open_connection(port, "out"), GetStdHandle(STD_OUTPUT_HANDLE)};
    err = (struct output){open_connection(port, "err"), GetStdHandle(STD_ERROR_HANDLE)};
    control = open_connection(port, "control");
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(on_console, TRUE);
    describe(count, words);
    CloseHandle(CreateThread(NULL, 0, pass_input, (void *)in, 0, NULL));
    threads[0] = CreateThread(NULL, 0, pass_output, &out, 0, NULL);
    threads[1] = CreateThread(NULL, 0, pass_output, &err, 0, NULL);
    while (got < (int)sizeof line - 1 && (more = recv(control, line + got, 1, 0)) == 1)
        got++;
    line[got] = '\0';
    WaitForMultipleObjects(2, threads, TRUE, INFINITE);
    ExitProcess(got > 0 ? (UINT)strtoul(line, NULL, 10) : UNREACHABLE);
}
