#include "start.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { LINE_SIZE_MAX = 32767 }; /* of a command line, its end included */

void line_put(struct line *line, wchar_t c, size_t times) {
    while (times-- > 0 && !line->failed) {
        if (line->used == line->room) {
            size_t room = line->room ? 2 * line->room : 256;
            wchar_t *text = memory_resize(line->text, room * sizeof *text);
            line->failed = !text;
            if (!text)
                return;
            line->text = text;
            line->room = room;
        }
        line->text[line->used++] = c;
    }
}

/* ---- the environment ---- */

static int compare_names(const wchar_t *a, const wchar_t *b) {
    const wchar_t *end_a = wcschr(a, L'='), *end_b = wcschr(b, L'=');
    int length_a = end_a ? (int)(end_a - a) : (int)wcslen(a);
    int length_b = end_b ? (int)(end_b - b) : (int)wcslen(b);
    return CompareStringOrdinal(a, length_a, b, length_b, TRUE) - CSTR_EQUAL;
}

/* Puts the entry where the order wants it, in place of one with its name. */
static size_t insert(wchar_t **entries, size_t count, wchar_t *entry) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_names(entry, entries[middle]);
        if (order == 0) {
            free(entries[middle]);
            entries[middle] = entry;
            return count;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    memmove(entries + low + 1, entries + low, (count - low) * sizeof *entries);
    entries[low] = entry;
    return count + 1;
}

static wchar_t *join(wchar_t **entries, size_t count) {
    struct line line = {0};
    for (size_t i = 0; i < count; i++)
        for (const wchar_t *p = entries[i];; p++) {
            line_put(&line, *p, 1);
            if (!*p)
                break;
        }
    line_put(&line, 0, count ? 1 : 2);
    if (!line.failed)
        return line.text;
    free(line.text);
    return NULL;
}

wchar_t *start_environment(const char *const *environment) {
    size_t most = 0, count = 0;
    wchar_t **entries, *block = NULL;
    bool failed = false;
    while (environment[most])
        most++;
    entries = memory_zeroed((most + 1) * sizeof *entries);
    for (size_t i = 0; entries && i < most; i++) {
        wchar_t *wide;
        if (environment[i][0] == '=' || !strchr(environment[i], '='))
            continue;
        wide = win_wide(environment[i]);
        failed = failed || !wide;
        if (wide)
            count = insert(entries, count, wide);
    }
    if (entries && !failed)
        block = join(entries, count);
    for (size_t i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return block;
}

/* ---- the start ---- */

/* What the child gets: copies of the standard streams, which it alone inherits, and handles under
 * their own values, which are marked for the moment of the start. */
struct inheritance {
    HANDLE list[16];
    DWORD count;
    HANDLE stdio[3];
};

static int open_nothing(HANDLE *out) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes, .bInheritHandle = TRUE};
    *out = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                       &attributes, OPEN_EXISTING, 0, NULL);
    return *out == INVALID_HANDLE_VALUE ? win_error() : 0;
}

static int prepare_stream(os_handle from, HANDLE *out) {
    HANDLE self = GetCurrentProcess();
    if (from == OS_NO_HANDLE)
        return open_nothing(out);
    return DuplicateHandle(self, win_handle(from), self, out, 0, TRUE, DUPLICATE_SAME_ACCESS)
               ? 0
               : win_error();
}

static void release(struct inheritance *inheritance) {
    for (int i = 0; i < 3; i++)
        if (inheritance->stdio[i] != INVALID_HANDLE_VALUE)
            CloseHandle(inheritance->stdio[i]);
    for (DWORD i = 3; i < inheritance->count; i++)
        SetHandleInformation(inheritance->list[i], HANDLE_FLAG_INHERIT, 0);
}

static int prepare(struct inheritance *inheritance, const struct start_spec *spec) {
    int rc = 0;
    *inheritance = (struct inheritance){0};
    for (int i = 0; i < 3; i++)
        inheritance->stdio[i] = INVALID_HANDLE_VALUE;
    if (spec->handed_count + 3 > sizeof inheritance->list / sizeof inheritance->list[0])
        return UV_E2BIG;
    for (int i = 0; i < 3 && rc == 0; i++) {
        rc = prepare_stream(spec->stdio[i], &inheritance->stdio[i]);
        inheritance->list[inheritance->count++] = inheritance->stdio[i];
    }
    for (size_t i = 0; i < spec->handed_count && rc == 0; i++) {
        HANDLE handle = (HANDLE)spec->handed[i];
        rc = SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) ? 0
                                                                                    : win_error();
        if (rc == 0)
            inheritance->list[inheritance->count++] = handle;
    }
    if (rc < 0)
        release(inheritance);
    return rc;
}

enum { START_TRIES = 3 };

/* Missing in some headers. What is called BREAKAWAY_OVERRIDE would be the opposite: to stay. */
enum {
    DESKTOP_APP_POLICY = 0x20012, /* PROC_THREAD_ATTRIBUTE_… */
    LEAVES_PACKAGE = 1,           /* PROCESS_CREATION_DESKTOP_APP_BREAKAWAY_ENABLE_PROCESS_TREE */
};

/* Programs look for their own files beside themselves, and not all know what "\\\\?\\" means. */
const wchar_t *start_plain_path(const wchar_t *path) {
    bool is_plain = wcsncmp(path, L"\\\\?\\", 4) == 0 && path[4] && path[5] == L':' &&
                    wcslen(path + 4) < MAX_PATH;
    return is_plain ? path + 4 : path;
}

static int create(const struct start_spec *spec, struct inheritance *inheritance,
                  LPPROC_THREAD_ATTRIBUTE_LIST attributes, PROCESS_INFORMATION *started) {
    STARTUPINFOEXW startup = {.lpAttributeList = attributes};
    DWORD flags = spec->flags | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    DWORD policy = LEAVES_PACKAGE;
    HANDLE job = spec->job;
    startup.StartupInfo.cb = sizeof startup;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES | STARTF_USESHOWWINDOW;
    startup.StartupInfo.wShowWindow = SW_HIDE;
    startup.StartupInfo.hStdInput = inheritance->stdio[0];
    startup.StartupInfo.hStdOutput = inheritance->stdio[1];
    startup.StartupInfo.hStdError = inheritance->stdio[2];
    if (!UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                   inheritance->list, inheritance->count * sizeof(HANDLE), NULL,
                                   NULL) ||
        (job && !UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &job,
                                           sizeof job, NULL, NULL)) ||
        (spec->leaves_package && !UpdateProcThreadAttribute(attributes, 0, DESKTOP_APP_POLICY,
                                                            &policy, sizeof policy, NULL, NULL)))
        return win_error();
    for (int tries = 1;; tries++) {
        if (CreateProcessW(start_plain_path(spec->program), spec->command_line, NULL, NULL, TRUE,
                           flags, spec->environment, spec->directory, &startup.StartupInfo,
                           started))
            return 0;
        /* Nothing that the program is to blame for: Wine loses one of some thousand so. */
        if (GetLastError() != ERROR_INTERNAL_ERROR || tries == START_TRIES)
            return win_error();
    }
}

int start_process(const struct start_spec *spec, PROCESS_INFORMATION *started) {
    struct inheritance inheritance;
    LPPROC_THREAD_ATTRIBUTE_LIST attributes;
    SIZE_T size = 0;
    int rc = wcslen(spec->command_line) < LINE_SIZE_MAX ? prepare(&inheritance, spec) : UV_E2BIG;
    if (rc < 0)
        return rc;
    InitializeProcThreadAttributeList(NULL, 3, 0, &size);
    attributes = memory_zeroed(size);
    if (!attributes)
        rc = UV_ENOMEM;
    else if (!InitializeProcThreadAttributeList(attributes, 3, 0, &size))
        rc = win_error();
    else {
        rc = create(spec, &inheritance, attributes, started);
        DeleteProcThreadAttributeList(attributes);
    }
    free(attributes);
    release(&inheritance);
    return rc;
}
