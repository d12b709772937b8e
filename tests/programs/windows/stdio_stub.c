/* As much of tests/support/stdio_stub.py, an MCP server over standard input and output, as has to
 * be a program of Windows itself: one whose number is told, which starts another, and hears Ctrl-C.
 * --deaf: it ends neither with its input nor when it is asked to. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <io.h>

#include <windows.h>

enum { LINE_SIZE = 1 << 20, WORD_SIZE = 4096 };

static const char reading[] = "\"inputSchema\": {\"type\": \"object\"}, "
                              "\"annotations\": {\"readOnlyHint\": true}}";

/* The value as it is written; empty: there is none. */
static const char *written(const char *line, const char *key, char *out) {
    const char *at = strstr(line, key);
    size_t length;
    *out = '\0';
    if (!at)
        return out;
    at += strlen(key);
    at += strspn(at, " ");
    length = *at == '"' ? strcspn(at + 1, "\"") + 2 : strcspn(at, ",}\r\n");
    snprintf(out, WORD_SIZE, "%.*s", (int)length, at);
    return out;
}

/* The value, of a text without the quotation marks; empty: there is none. */
static const char *value_of(const char *line, const char *key, char *out) {
    written(line, key, out);
    if (*out == '"') {
        memmove(out, out + 1, strlen(out));
        out[strcspn(out, "\"")] = '\0';
    }
    return out;
}

static void fill(FILE *file, char c, long count) {
    while (count-- > 0)
        putc(c, file);
}

static void begin(const char *id) {
    printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": ", id);
}

static void finish(const char *result) {
    printf("%s}\n", result);
    fflush(stdout);
}

static void say(const char *id, const char *text, long filling) {
    begin(id);
    printf("{\"content\": [{\"type\": \"text\", \"text\": \"%s", text);
    fill(stdout, 'x', filling);
    finish("\"}]}");
}

/* It does nothing, and has no console. */
static DWORD start_idle(void) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    wchar_t line[] = L"stub --idle", program[MAX_PATH];
    GetModuleFileNameW(NULL, program, MAX_PATH);
    if (!CreateProcessW(program, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &startup,
                        &child))
        return 0;
    return child.dwProcessId;
}

static void call(const char *line, const char *id) {
    char name[WORD_SIZE], text[WORD_SIZE];
    long size = strtol(value_of(line, "\"size\":", text), NULL, 10);
    value_of(line, "\"name\":", name);
    if (strcmp(name, "echo") == 0) {
        say(id, value_of(line, "\"text\":", text), 0);
    } else if (strcmp(name, "huge") == 0) {
        say(id, "", size);
    } else if (strcmp(name, "noise") == 0) {
        fill(stderr, 'n', size);
        fputs("\n", stderr);
        fflush(stderr);
        say(id, "noisy", 0);
    } else {
        snprintf(text, sizeof text, "%lu",
                 strcmp(name, "spawn") == 0 ? start_idle() : GetCurrentProcessId());
        say(id, text, 0);
    }
}

static void answer(const char *line) {
    char method[WORD_SIZE], id[WORD_SIZE];
    value_of(line, "\"method\":", method);
    if (!*written(line, "\"id\":", id))
        return;
    if (strcmp(method, "tools/call") == 0) {
        call(line, id);
    } else if (strcmp(method, "initialize") == 0) {
        begin(id);
        finish("{\"protocolVersion\": \"2025-06-18\", \"capabilities\": {\"tools\": {}}, "
               "\"serverInfo\": {\"name\": \"stub\", \"version\": \"1\"}}");
    } else if (strcmp(method, "tools/list") == 0) {
        begin(id);
        printf("{\"tools\": [{\"name\": \"echo\", %s, {\"name\": \"pid\", %s", reading, reading);
        finish("]}");
    } else {
        printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": "
               "{\"code\": -32601, \"message\": \"no such method\"",
               id);
        finish("}");
    }
}

static bool is_deaf;

/* As the system does by itself; Wine then says that all went well. */
static BOOL WINAPI on_console(DWORD event) {
    (void)event;
    if (!is_deaf)
        ExitProcess((UINT)STATUS_CONTROL_C_EXIT);
    return TRUE;
}

int main(int argc, char **argv) {
    static char line[LINE_SIZE], errors[65536];
    is_deaf = argc > 1 && strcmp(argv[1], "--deaf") == 0;
    if (argc > 1 && strcmp(argv[1], "--idle") == 0)
        Sleep(INFINITE);
    for (int stream = 0; stream <= 2; stream++)
        _setmode(stream, _O_BINARY);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(on_console, TRUE);
    setvbuf(stderr, errors, _IOFBF, sizeof errors);
    fprintf(stderr, "stub %lu\n", GetCurrentProcessId());
    fflush(stderr);
    while (fgets(line, sizeof line, stdin))
        answer(line);
    fprintf(stderr, "end of input\n");
    fflush(stderr);
    while (is_deaf)
        Sleep(INFINITE);
    return 0;
}
