/* A9 and G3 for one: who is who, who lives, what is known of others, and starting programs. */
#include "tap.h"

#include "os/os_loop.h"
#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "protocol/launch_run.h"
#include "protocol/message.h"

#include <shellapi.h>

/* A word of a command line, which nobody changes. */
#define WORD(text) ((char *)(uintptr_t)(text))

/* Starts this program and waits until it is up: before that, little is to be seen of it. */
static bool start_up(PROCESS_INFORMATION *child, const char *more) {
    static int number;
    char name[64], words[256];
    bool up = false;
    snprintf(name, sizeof name, "tether-up-%lu-%d", GetCurrentProcessId(), ++number);
    snprintf(words, sizeof words, "sleep %s %s", name, more);
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, name);
    if (event && tap_child(child, words, NULL))
        up = WaitForSingleObject(event, 60000) == WAIT_OBJECT_0;
    CloseHandle(event);
    return up;
}

static int child_sleeps(const char *name) {
    HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name);
    SetEvent(event);
    Sleep(INFINITE);
    return 0;
}

static bool start_sleeper(PROCESS_INFORMATION *child, struct os_identity *identity) {
    bool started = start_up(child, "");
    *identity = (struct os_identity){.pid = child->dwProcessId};
    return started && os_identity_of(identity->pid, identity) == 0;
}

static void test_identity(void) {
    struct os_identity self, again, child_identity, parent = {0};
    PROCESS_INFORMATION child;
    check(os_identity_self(&self) == 0);
    check(os_identity_of(self.pid, &again) == 0);
    check(self.pid == GetCurrentProcessId() && self.start != 0 && again.start == self.start);
    check(start_sleeper(&child, &child_identity));
    int rc = os_process_parent(&child_identity, &parent.pid);
    tap_end(&child);
    check(rc == 0 && parent.pid == self.pid);
    check(child_identity.start > self.start);
    check(os_identity_of(self.pid + 1, &again) == UV_ESRCH); /* the system would open self.pid */
    check(os_identity_of(99999996, &again) == UV_ESRCH);
}

static void test_place(void) {
    char place[OS_PLACE_MAX];
    os_place(place);
    printf("# %s\n", place);
    check(os_place_is_ours(place) == OS_YES);
    check(os_place_is_ours("windows/elsewhere") == OS_MAYBE);
    check(os_place_is_ours("") == OS_MAYBE);
}

static void test_liveness(void) {
    struct os_identity child_identity, other;
    PROCESS_INFORMATION child;
    DWORD code = 0;
    check(start_sleeper(&child, &child_identity));
    other = child_identity;
    other.start++;
    enum os_life alive = os_liveness(&child_identity), recycled = os_liveness(&other);
    other.start = 0;
    enum os_life any = os_liveness(&other);
    other.pid++;
    enum os_life beside = os_liveness(&other);
    TerminateProcess(child.hProcess, 259); /* which looks as if it was still active */
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    enum os_life dead = os_liveness(&child_identity); /* though our handle keeps its pid */
    tap_end(&child);
    check(alive == OS_ALIVE);
    check(recycled == OS_DEAD);
    check(any == OS_ALIVE);
    check(beside == OS_UNKNOWN);
    check(code == 259 && dead == OS_DEAD);
    check(os_liveness(&child_identity) == OS_DEAD);
}

static void test_a_process_that_is_held(void) {
    struct os_identity identity;
    struct os_process process, other;
    PROCESS_INFORMATION child;
    check(start_sleeper(&child, &identity));
    struct os_identity wrong = {identity.pid, identity.start + 1};
    int rc_wrong = os_process_open(&other, &wrong);
    struct os_identity unknown = {identity.pid, 0};
    int rc = os_process_open(&process, &unknown);
    int before = os_process_wait(&process, 0);
    /* Nothing can be done to it through the handle. */
    BOOL ended = TerminateProcess((HANDLE)process.handle, 7);
    DWORD error = GetLastError();
    tap_end(&child);
    int after = os_process_wait(&process, 10000);
    int closed = os_process_open(&other, &identity);
    os_process_close(&process);
    check(rc_wrong == UV_ESRCH);
    check(rc == 0 && process.identity.start == identity.start);
    check(before == UV_ETIMEDOUT);
    check(!ended && error == ERROR_ACCESS_DENIED);
    check(after == 0);
    check(closed == UV_ESRCH);
    check(process.handle == OS_NO_HANDLE);
}

static void test_facts(void) {
    struct os_identity identity, self;
    PROCESS_INFORMATION child;
    char command[256], path[512], value[64], small[4], ours[64];
    uint32_t user = 0;
    SetEnvironmentVariableW(L"TETHER_T\u00e4st", L"w\u20ac\U0001f600");
    SetEnvironmentVariableW(L"TETHER_EMPTY", L"");
    check(start_up(&child, "\"a b\""));
    check(os_identity_of(child.dwProcessId, &identity) == 0);
    int rc[6] = {os_process_command(&identity, command, sizeof command),
                 os_process_executable(&identity, path, sizeof path),
                 os_process_variable(&identity, "tether_t\xc3\xa4st", value, sizeof value),
                 os_process_variable(&identity, "TETHER_NONE", ours, sizeof ours),
                 os_process_variable(&identity, "TETHER_T\xc3\xa4st", small, sizeof small),
                 os_process_user(&identity, &user)};
    tap_end(&child);
    SetEnvironmentVariableW(L"TETHER_T\u00e4st", NULL);
    printf("# %s | %s | %s\n", command, path, value);
    for (int i = 0; i < 6; i++)
        check(rc[i] == (i == 3 ? UV_ENOENT : i == 4 ? UV_ENOBUFS : 0));
    check(strstr(command, " \"a b\""));
    check(strstr(path, "os_process.exe"));
    check(strcmp(value, "w\xe2\x82\xac\xf0\x9f\x98\x80") == 0);
    check(user == os_user_self() && user != UINT32_MAX);
    check(os_process_command(&identity, command, sizeof command) == UV_ESRCH);
    check(os_identity_self(&self) == 0);
    check(os_process_command(&self, command, sizeof command) == 0);
}

struct found {
    struct os_identity wanted;
    int count, hits;
};

static bool on_found(const struct os_identity *identity, void *arg) {
    struct found *found = arg;
    found->count++;
    found->hits += identity->pid == found->wanted.pid && identity->start == found->wanted.start;
    return true;
}

static void test_finding_by_variable(void) {
    struct found found = {0};
    PROCESS_INFORMATION child;
    char value[32];
    snprintf(value, sizeof value, "v-%lu", GetCurrentProcessId());
    SetEnvironmentVariableA("TETHER_FIND", value);
    check(start_sleeper(&child, &found.wanted));
    SetEnvironmentVariableA("TETHER_FIND", NULL);
    int rc = os_process_each("TETHER_FIND", value, on_found, &found);
    tap_end(&child);
    check(rc == 0);
    printf("# %d found\n", found.count); /* the host of its console may be another */
    check(found.hits == 1 && found.count <= 2);
}

/* ---- watches ---- */

struct ends {
    int seen, wanted;
    uv_loop_t *loop;
};

static void on_end(void *context, const struct os_identity *identity) {
    struct ends *ends = context;
    (void)identity;
    ends->seen++;
}

static void test_watches(void) {
    enum { COUNT = 10 };
    struct os_watch *watches[COUNT], *dropped;
    struct os_identity identities[COUNT], dead;
    PROCESS_INFORMATION children[COUNT];
    uv_loop_t loop;
    struct ends ends = {0}, none = {0};
    check(uv_loop_init(&loop) == 0);
    for (int i = 0; i < COUNT; i++) {
        check(start_sleeper(&children[i], &identities[i]));
        check(os_watch_create(&watches[i], &loop, &identities[i], 100, on_end, &ends) == 0);
        for (int k = 0; k < 10; k++) { /* taken back before anything happens, and while it does */
            check(os_watch_create(&dropped, &loop, &identities[i], 100, on_end, &none) == 0);
            os_watch_destroy(dropped);
        }
    }
    uv_run(&loop, UV_RUN_NOWAIT);
    int early = ends.seen;
    for (int i = 0; i < COUNT; i++) {
        check(os_watch_create(&dropped, &loop, &identities[i], 100, on_end, &none) == 0);
        TerminateProcess(children[i].hProcess, 1);
        os_watch_destroy(dropped);
    }
    while (ends.seen < COUNT && uv_run(&loop, UV_RUN_ONCE))
        ;
    for (int i = 0; i < COUNT; i++)
        os_watch_destroy(watches[i]);
    uv_run(&loop, UV_RUN_DEFAULT);
    dead = identities[0];
    int rc = os_watch_create(&dropped, &loop, &dead, 100, on_end, &none);
    for (int i = 0; i < COUNT; i++)
        tap_end(&children[i]);
    int closed = uv_loop_close(&loop);
    check(early == 0 && ends.seen == COUNT && none.seen == 0);
    check(rc == UV_ESRCH && dropped == NULL);
    check(closed == 0);
}

/* ---- starting ---- */

struct reading {
    uv_pipe_t pipe;
    char text[8192];
    size_t used;
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct reading *reading = handle->data;
    (void)suggested;
    *buf = uv_buf_init(reading->text + reading->used,
                       (unsigned)(sizeof reading->text - reading->used - 1));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct reading *reading = stream->data;
    (void)buf;
    if (count > 0)
        reading->used += (size_t)count;
    else if (count < 0)
        uv_close((uv_handle_t *)stream, NULL);
}

/* Starts this program with these words and an environment, and returns what it prints. */
static const char *words_of_child(struct reading *reading, char *const *words,
                                  char *const *environment, const os_handle *handed, size_t count) {
    char self[MAX_PATH];
    struct os_child child;
    struct os_spawn_spec spec = {.path = self,
                                 .words = words,
                                 .environment = environment,
                                 .handed = handed,
                                 .handed_count = count};
    uv_loop_t loop;
    int rc;
    GetModuleFileNameA(NULL, self, sizeof self);
    *reading = (struct reading){.used = 0};
    uv_loop_init(&loop);
    rc = os_pipe_reader(&loop, &reading->pipe, &spec.output);
    reading->pipe.data = reading;
    if (rc == 0)
        rc = os_spawn(&child, &spec);
    os_handle_close(&spec.output);
    if (rc < 0) {
        printf("# %s\n", uv_strerror(rc));
        uv_close((uv_handle_t *)&reading->pipe, NULL);
    } else {
        uv_read_start((uv_stream_t *)&reading->pipe, on_alloc, on_read);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    if (rc == 0)
        os_child_finish(&child, false);
    uv_loop_close(&loop);
    return rc < 0 ? NULL : reading->text;
}

static const char *const awkward[] = {
    "",
    "a b",
    "q\"uote",
    "back\\",
    "b \\",
    "\\\\server\\x y\\",
    "\\\"",
    "a\\\\\"b",
    "tab\tand",
    "%PATH%",
    "&echo no",
    "^|<>",
    "w\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
    "*.c",
    "'single'",
    "end\\\\ ",
};

enum { AWKWARD = sizeof awkward / sizeof awkward[0] };

static void test_words_arrive_as_they_are(void) {
    static struct reading reading;
    char *words[AWKWARD + 3] = {WORD("tether"), WORD("words")};
    char expected[4096] = "";
    for (int i = 0; i < AWKWARD; i++) {
        words[i + 2] = WORD(awkward[i]);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "[%s]\n",
                 awkward[i]);
    }
    const char *said = words_of_child(&reading, words, tap_environment(), NULL, 0);
    check(said);
    if (strcmp(said, expected) != 0)
        printf("# %s\n", said);
    check(strcmp(said, expected) == 0);
}

static int child_words(void) {
    int count;
    wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
    char text[512];
    for (int i = 2; i < count; i++) {
        WideCharToMultiByte(CP_UTF8, 0, words[i], -1, text, sizeof text, NULL, NULL);
        os_write(1, "[", 1);
        os_write(1, text, strlen(text));
        os_write(1, "]\n", 2);
    }
    LocalFree(words);
    return 0;
}

static int child_variables(void) {
    char line[256];
    static const char *const names[] = {"TETHER_ONE", "TETHER_TWO", "TETHER_\xc3\xa4"};
    for (int i = 0; i < 3; i++) {
        const char *value = os_variable(names[i]);
        snprintf(line, sizeof line, "%s\n", value ? value : "(none)");
        os_write(1, line, strlen(line));
    }
    return 0;
}

static void test_environment_is_the_child_s_own(void) {
    static struct reading reading;
    char *words[] = {WORD("tether"), WORD("variables"), NULL};
    char *environment[600];
    size_t count = 0;
    for (char *const *entry = tap_environment(); *entry && count < 500; entry++)
        environment[count++] = *entry;
    environment[count++] = WORD("TETHER_ONE=first");
    environment[count++] = WORD("zz=z");
    environment[count++] = WORD("Tether_One=1=\xe2\x82\xac");
    environment[count++] = WORD("TETHER_\xc3\xa4=a b");
    environment[count] = NULL;
    const char *said = words_of_child(&reading, words, environment, NULL, 0);
    check(said);
    printf("# %s", said);
    check(strcmp(said, "1=\xe2\x82\xac\n(none)\na b\n") == 0);
    check(os_variable("TETHER_ONE") == NULL);
}

/* Tells which of the handles it was named it has. */
static int child_handles(int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        DWORD flags;
        HANDLE handle = (HANDLE)(uintptr_t)strtoull(argv[i], NULL, 10);
        os_write(1, GetHandleInformation(handle, &flags) ? "y" : "n", 1);
    }
    os_write(1, GetConsoleWindow() && IsWindowVisible(GetConsoleWindow()) ? "v" : "h", 1);
    return 0;
}

static void test_handles_are_handed_down(void) {
    static struct reading reading;
    char numbers[2][32];
    os_handle read_end, write_end, stranger_read, stranger_write;
    check(os_pipe(&read_end, &write_end) == 0);
    check(os_pipe(&stranger_read, &stranger_write) == 0);
    SetHandleInformation((HANDLE)stranger_write, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    snprintf(numbers[0], sizeof numbers[0], "%lld", (long long)write_end);
    /* A value that a handle of the child's own is most unlikely to have. */
    HANDLE far_away = NULL;
    for (int i = 0; i < 3000; i++)
        if (DuplicateHandle(GetCurrentProcess(), (HANDLE)stranger_write, GetCurrentProcess(),
                            &far_away, 0, TRUE, DUPLICATE_SAME_ACCESS) &&
            (uintptr_t)far_away > 6000)
            break;
    snprintf(numbers[1], sizeof numbers[1], "%lld", (long long)(intptr_t)far_away);
    char *words[] = {WORD("tether"), WORD("handles"), numbers[0], numbers[1], NULL};
    const char *said = words_of_child(&reading, words, tap_environment(), &write_end, 1);
    DWORD flags = 9;
    GetHandleInformation((HANDLE)write_end, &flags);
    os_handle_close(&read_end);
    os_handle_close(&write_end);
    os_handle_close(&stranger_read);
    check(said);
    printf("# %s\n", said);
    check(strcmp(said, "ynh") == 0);
    check(!(flags & HANDLE_FLAG_INHERIT));
}

static void test_a_program_that_is_not_there(void) {
    char *words[] = {WORD("x"), NULL};
    struct os_child child;
    struct os_spawn_spec spec = {.path = "C:\\none\\tether.exe",
                                 .words = words,
                                 .environment = tap_environment(),
                                 .output = OS_NO_HANDLE};
    check(os_spawn(&child, &spec) == UV_ENOENT);
    spec.path = "relative.exe";
    check(os_spawn(&child, &spec) == UV_EINVAL);
    os_child_finish(&child, true);
}

static void test_a_detached_child(void) {
    char self[MAX_PATH];
    char *words[] = {WORD("tether"), WORD("sleep"), NULL};
    struct os_child child;
    struct os_spawn_spec spec = {.path = self,
                                 .words = words,
                                 .environment = tap_environment(),
                                 .output = OS_NO_HANDLE,
                                 .detached = true};
    struct os_identity identity = {0};
    GetModuleFileNameA(NULL, self, sizeof self);
    check(os_spawn(&child, &spec) == 0);
    int rc = os_identity_of(child.pid, &identity);
    enum os_life life = os_liveness(&identity);
    os_child_finish(&child, true);
    check(rc == 0 && life == OS_ALIVE);
    check(os_liveness(&identity) == OS_DEAD);
}

/* ---- tether launch ---- */

/* Has its output inherited, as by a program that is started in the same moment, and ends. */
static int child_launches(void) {
    char self[MAX_PATH], line[2 * MAX_PATH], said[64];
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION holder;
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" sleep", self);
    DuplicateHandle(GetCurrentProcess(), GetStdHandle(STD_OUTPUT_HANDLE), GetCurrentProcess(),
                    &startup.hStdOutput, 0, TRUE, DUPLICATE_SAME_ACCESS);
    if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, CREATE_NO_WINDOW, NULL, NULL, &startup,
                        &holder))
        return 1;
    snprintf(said, sizeof said, "{\"holder\":%lu}\n", holder.dwProcessId);
    return os_write(1, said, strlen(said)) < 0;
}

static void on_launched(void *context, const json_t *result, const char *why) {
    (void)why;
    *(int64_t *)context = message_number(result, "holder", -1);
}

static void on_late(uv_timer_t *timer) {
    uv_stop(timer->loop);
}

static void test_a_launch_that_has_ended_though_its_output_is_held_open(void) {
    char self[MAX_PATH];
    char *words[] = {WORD("tether"), WORD("launches"), NULL};
    struct os_spawn_spec spec = {.path = self, .words = words, .environment = tap_environment()};
    struct launch_run *run;
    int64_t holder = 0;
    uv_loop_t loop;
    uv_timer_t late;
    GetModuleFileNameA(NULL, self, sizeof self);
    uv_loop_init(&loop);
    uv_timer_init(&loop, &late);
    check(launch_run_start(&run, &loop, &spec, NULL, on_launched, &holder) == 0);
    uv_timer_start(&late, on_late, 30000, 0);
    while (holder == 0 && uv_is_active((uv_handle_t *)&late))
        uv_run(&loop, UV_RUN_ONCE);
    HANDLE process = OpenProcess(PROCESS_TERMINATE | SYNCHRONIZE, FALSE, (DWORD)holder);
    bool was_held = process && TerminateProcess(process, 9);
    if (holder == 0)
        launch_run_abort(run);
    uv_close((uv_handle_t *)&late, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    int closed = uv_loop_close(&loop);
    CloseHandle(process);
    check(holder > 0 && was_held);
    check(closed == 0);
}

/* ---- pipes ---- */

static void test_last_words(void) {
    uv_loop_t loop;
    uv_pipe_t reader;
    os_handle writing;
    char got[16];
    uv_loop_init(&loop);
    check(os_pipe_reader(&loop, &reader, &writing) == 0);
    int64_t nothing = os_pipe_read_now(&reader, got, sizeof got);
    os_write(writing, "last words", 10);
    int64_t some = os_pipe_read_now(&reader, got, 4), rest = os_pipe_read_now(&reader, got, 16);
    bool gone_before = os_reader_gone(writing);
    os_handle_close(&writing);
    int64_t end = os_pipe_read_now(&reader, got, sizeof got);
    uv_close((uv_handle_t *)&reader, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    check(nothing == UV_EAGAIN && some == 4 && rest == 6 && end == 0);
    check(!gone_before);
}

static void test_a_reader_that_goes(void) {
    os_handle reading, writing;
    char got[8];
    check(os_pipe(&reading, &writing) == 0);
    check(os_write(writing, "abc", 3) == 0);
    check(os_read(reading, got, sizeof got) == 3);
    bool before = os_reader_gone(writing);
    os_handle_close(&reading);
    bool after = os_reader_gone(writing);
    int rc = os_write(writing, "x", 1);
    os_handle_close(&writing);
    check(!before && after);
    check(rc == UV_EPIPE || rc == UV_EOF);
}

/* Without a console, whose host would inherit the streams under Wine. */
static bool start_with_streams(PROCESS_INFORMATION *child, const char *name, HANDLE input,
                               HANDLE output) {
    char self[MAX_PATH], line[2 * MAX_PATH];
    STARTUPINFOA startup = {.cb = sizeof startup,
                            .dwFlags = STARTF_USESTDHANDLES,
                            .hStdInput = input,
                            .hStdOutput = output,
                            .hStdError = INVALID_HANDLE_VALUE};
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" lets_go %s", self, name);
    SetHandleInformation(input, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(output, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    return CreateProcessA(NULL, line, NULL, NULL, TRUE, DETACHED_PROCESS, NULL, NULL, &startup,
                          child);
}

static int child_lets_go(const char *name) {
    HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name);
    char byte;
    if (os_write(1, "before", 6) < 0 || os_stdio_let_go() < 0 || os_write(1, "x", 1) < 0 ||
        os_read(0, &byte, 1) != 0)
        return 1;
    puts("nobody");
    fflush(stdout);
    SetEvent(event);
    Sleep(INFINITE);
    return 0;
}

static void test_streams_that_are_let_go(void) {
    os_handle input[2], output[2];
    PROCESS_INFORMATION child;
    char name[64], got[16];
    snprintf(name, sizeof name, "tether-let-go-%lu", GetCurrentProcessId());
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, name);
    check(os_pipe(&input[0], &input[1]) == 0 && os_pipe(&output[0], &output[1]) == 0);
    check(start_with_streams(&child, name, (HANDLE)input[0], (HANDLE)output[1]));
    os_handle_close(&input[0]);
    os_handle_close(&output[1]);
    HANDLE either[] = {event, child.hProcess};
    bool is_up = WaitForMultipleObjects(2, either, FALSE, 60000) == WAIT_OBJECT_0;
    int64_t some = is_up ? os_read(output[0], got, sizeof got) : 0;
    bool ended = !PeekNamedPipe((HANDLE)output[0], NULL, 0, NULL, NULL, NULL);
    bool unread = os_reader_gone(input[1]);
    tap_end(&child);
    CloseHandle(event);
    os_handle_close(&input[1]);
    os_handle_close(&output[0]);
    check(is_up && some == 6);
    check(ended && unread);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_identity),
        TEST(test_place),
        TEST(test_liveness),
        TEST(test_a_process_that_is_held),
        TEST(test_facts),
        TEST(test_finding_by_variable),
        TEST(test_watches),
        TEST(test_words_arrive_as_they_are),
        TEST(test_environment_is_the_child_s_own),
        TEST(test_handles_are_handed_down),
        TEST(test_a_program_that_is_not_there),
        TEST(test_a_detached_child),
        TEST(test_a_launch_that_has_ended_though_its_output_is_held_open),
        TEST(test_last_words),
        TEST(test_a_reader_that_goes),
        TEST(test_streams_that_are_let_go),
    };
    const char *role = argc > 1 ? argv[1] : "";
    if (strcmp(role, "sleep") == 0)
        return child_sleeps(argc > 2 ? argv[2] : "");
    if (strcmp(role, "words") == 0)
        return child_words();
    if (strcmp(role, "variables") == 0)
        return child_variables();
    if (strcmp(role, "lets_go") == 0)
        return child_lets_go(argc > 2 ? argv[2] : "");
    if (strcmp(role, "launches") == 0)
        return child_launches();
    if (strcmp(role, "handles") == 0)
        return child_handles(argc, argv);
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? role : NULL);
}
