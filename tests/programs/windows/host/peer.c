/* Who has connections with a daemon, and is told by standard input what to do with them. */
#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a peer ---- */

static HANDLE peer_pipe = INVALID_HANDLE_VALUE;

void say(const char *data, DWORD length) {
    DWORD count;
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), data, length, &count, NULL);
}

static DWORD WINAPI show_pipe(void *context) {
    static char bytes[PIPE_BYTES];
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    DWORD count;
    while (finish((HANDLE)context, &overlapped,
                  ReadFile((HANDLE)context, bytes, sizeof bytes, NULL, &overlapped), &count))
        say(bytes, count);
    say("closed\n", 7);
    CloseHandle(overlapped.hEvent);
    return 0;
}

static void peer_connect(const char *name) {
    peer_pipe = connect_pipe(name);
    if (peer_pipe == INVALID_HANDLE_VALUE) {
        say("refused 0\n", 10);
        return;
    }
    say("connected\n", 10);
    start_thread(show_pipe, peer_pipe, NULL);
}

static void peer_send(const char *text) {
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    DWORD count;
    finish(peer_pipe, &overlapped,
           WriteFile(peer_pipe, text, (DWORD)strlen(text), NULL, &overlapped), &count);
    CloseHandle(overlapped.hEvent);
}

static void peer_close(void) {
    CancelIoEx(peer_pipe, NULL);
    CloseHandle(peer_pipe);
}

/* A child that has the pipe open, too, and nothing else. */
static void peer_fork(void) {
    wchar_t self[MAX_PATH], line[MAX_PATH + 40];
    char text[40];
    HANDLE handles[] = {inheritable(peer_pipe), peer_pipe, peer_pipe};
    PROCESS_INFORMATION child = {0};
    GetModuleFileNameW(NULL, self, MAX_PATH);
    _snwprintf(line, MAX_PATH + 40, L"\"%ls\" idle", self);
    start_program(line, L"", false, NULL, handles, &child);
    snprintf(text, sizeof text, "forked %lu\n", child.dwProcessId);
    say(text, (DWORD)strlen(text));
}

/* Says on the pipe what it reads after "send ", and prints what the pipe says. */
int be_a_peer(const char *name) {
    static char line[PIPE_BYTES], path[MAX_PATH];
    snprintf(path, sizeof path, "%s", name);
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "path ", 5) == 0)
            snprintf(path, sizeof path, "%.*s", (int)strcspn(line + 5, "\r\n"), line + 5);
        else if (strncmp(line, "connect", 7) == 0)
            peer_connect(path);
        else if (strncmp(line, "close", 5) == 0)
            peer_close();
        else if (strncmp(line, "fork", 4) == 0)
            peer_fork();
        else if (strncmp(line, "send ", 5) == 0)
            peer_send(line + 5);
    }
    return 0;
}

/* ---- a session ---- */

static DWORD read_pipe(HANDLE pipe, char *bytes, DWORD size) {
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    DWORD count = 0;
    if (!finish(pipe, &overlapped, ReadFile(pipe, bytes, size, NULL, &overlapped), &count))
        count = 0;
    CloseHandle(overlapped.hEvent);
    return count;
}

static DWORD WINAPI drop_messages(void *context) {
    static char bytes[PIPE_BYTES];
    while (read_pipe((HANDLE)context, bytes, sizeof bytes) > 0)
        ;
    say("closed\n", 7);
    return 0;
}

/* The text behind `key` up to the next quotation mark. */
static void value_of(const char *line, const char *key, char *out, size_t size) {
    const char *at = strstr(line, key);
    at = at ? at + strlen(key) : "-";
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

static void say_hello(const char *name, const char *role) {
    static char line[PIPE_BYTES];
    char text[512], kind[32], more[64];
    size_t length = 0;
    peer_pipe = connect_pipe(name);
    if (peer_pipe == INVALID_HANDLE_VALUE)
        exit(1);
    if (strcmp(role, "anonymous") == 0)
        snprintf(text, sizeof text, "{\"type\":\"status\",\"id\":1}\n");
    else
        snprintf(
            text, sizeof text,
            "{\"type\":\"hello\",\"protocol\":1,\"role\":\"%s\",\"version\":\"0.0.1\",\"pid\":%lu,"
            "\"start\":\"%" PRIu64 "\",\"project\":\"/projects/%lu\"}\n",
            role, GetCurrentProcessId(), start_of(GetCurrentProcess()), GetCurrentProcessId());
    peer_send(text);
    while (length < sizeof line - 1 && read_pipe(peer_pipe, line + length, 1) == 1 &&
           line[length] != '\n')
        length++;
    line[length] = '\0';
    value_of(line, "\"type\":\"", kind, sizeof kind);
    bool good = strcmp(kind, "welcome") == 0 || strcmp(kind, "status") == 0;
    value_of(line, good ? "\"session\":\"" : "\"code\":\"", more, sizeof more);
    snprintf(text, sizeof text, "%s %s\n", good ? "welcome" : "error", more);
    say(text, (DWORD)strlen(text));
    start_thread(drop_messages, peer_pipe, NULL);
}

int hold_session(const char *name, const char *role) {
    char line[256], text[300];
    say_hello(name, role);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strncmp(line, "leave ", 6) == 0) {
            snprintf(text, sizeof text, "{\"type\":\"leave\",\"reason\":\"%s\"}\n", line + 6);
            peer_send(text);
        } else if (strcmp(line, "hello") == 0) {
            say_hello(name, role);
        } else if (strcmp(line, "close") == 0) {
            peer_close();
        }
        snprintf(text, sizeof text, "done %s\n", line);
        say(text, (DWORD)strlen(text));
    }
    return 0;
}

/* Reads nothing of what comes after the first words. */
int hold_sessions(const char *name, long count) {
    static char hello[PIPE_BYTES], answer[200];
    if (!fgets(hello, sizeof hello, stdin))
        return 1;
    for (long i = 0; i < count; i++) {
        peer_pipe = connect_pipe(name);
        if (peer_pipe == INVALID_HANDLE_VALUE)
            return 1;
        peer_send(hello);
        if (read_pipe(peer_pipe, answer, sizeof answer - 1) == 0 || !strstr(answer, "welcome"))
            return 1;
    }
    say("holding\n", 8);
    while (fgets(hello, sizeof hello, stdin))
        ;
    return 0;
}
