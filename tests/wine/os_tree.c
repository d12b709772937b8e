/* Trees of processes, and what a console tells. */
#include "tap.h"

#include "os/os_loop.h"
#include "os/os_tree.h"

#define WORD(text) ((char *)(uintptr_t)(text))

static const struct {
    const char *name;
    DWORD flags;
} kinds[] = {
    {"plain", 0},
    {"detached", DETACHED_PROCESS},
    {"new group", CREATE_NEW_PROCESS_GROUP},
    {"no window", CREATE_NO_WINDOW},
    {"new console", CREATE_NEW_CONSOLE},
    {"break away", CREATE_BREAKAWAY_FROM_JOB},
};

enum { KINDS = sizeof kinds / sizeof kinds[0], KEPT = KINDS + 1 };

/* ---- the program in the tree ---- */

static bool start_self(const char *words, DWORD flags, PROCESS_INFORMATION *child) {
    char self[MAX_PATH], line[1024];
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESHOWWINDOW};
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" %s", self, words);
    return CreateProcessA(NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &startup, child);
}

/* Starts one child of each kind and an orphan, and writes their pids; then it waits, or ends. */
static int child_escapes(const char *path, bool stays) {
    PROCESS_INFORMATION child;
    char temporary[MAX_PATH];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file)
        return 3;
    for (int i = 0; i < KINDS; i++)
        fprintf(file, "%lu\n", start_self("sleep", kinds[i].flags, &child) ? child.dwProcessId : 0);
    if (start_self("orphan", DETACHED_PROCESS, &child)) {
        DWORD pid = 0;
        WaitForSingleObject(child.hProcess, INFINITE);
        GetExitCodeProcess(child.hProcess, &pid);
        fprintf(file, "%lu\n", pid);
    }
    fclose(file);
    MoveFileExA(temporary, path, MOVEFILE_REPLACE_EXISTING);
    if (stays)
        Sleep(INFINITE);
    return 42;
}

static int child_orphans(void) {
    PROCESS_INFORMATION child;
    return start_self("sleep", CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS, &child)
               ? (int)child.dwProcessId
               : 0;
}

/* ---- the owner of the tree ---- */

struct run {
    uv_loop_t loop;
    struct os_tree *tree;
    struct os_wishes *wishes;
    char path[MAX_PATH];
    HANDLE kept[KEPT + 1]; /* of those in the tree, and its root */
    int count, refused;
    int started, exited, emptied, drained, wished;
    struct os_exit how;
    struct os_identity root;
    bool stop_at_exit;
};

static void on_started(void *context, const struct os_identity *root) {
    struct run *run = context;
    run->started++;
    run->root = *root;
}

static void on_unstarted(void *context, const struct error *why) {
    (void)context;
    printf("# unstarted: %s\n", why->message);
}

static void on_exited(void *context, const struct os_exit *how) {
    struct run *run = context;
    run->exited++;
    run->how = *how;
    if (run->stop_at_exit)
        uv_stop(&run->loop);
}

static void on_drained(void *context) {
    ((struct run *)context)->drained++;
}

static void on_emptied(void *context) {
    struct run *run = context;
    run->emptied++;
    uv_stop(&run->loop);
}

static void on_said(void *context, const char *text) {
    (void)context;
    printf("# %s\n", text);
}

static void on_wish(void *context, enum os_wish wish) {
    (void)wish;
    ((struct run *)context)->wished++;
}

static const struct os_tree_events events = {on_started, on_unstarted, on_exited,
                                             on_drained, on_emptied,   on_said};

static int run_open(struct run *run, const char *role, struct error *err) {
    char self[MAX_PATH], folder[MAX_PATH];
    char *words[] = {self, WORD(role), run->path, NULL};
    static int number;
    struct os_tree_spec spec = {.stdio = {OS_NO_HANDLE, 1, 2}};
    union {
        char *const *plain;
        const char *const *constant;
    } list = {.plain = words}, environment = {.plain = tap_environment()};
    *run = (struct run){.count = 0};
    GetModuleFileNameA(NULL, self, sizeof self);
    GetTempPathA(MAX_PATH, folder);
    snprintf(run->path, sizeof run->path, "%stree-%lu-%d", folder, GetCurrentProcessId(), ++number);
    spec.words = list.constant;
    spec.environment = environment.constant;
    uv_loop_init(&run->loop);
    int rc = os_wishes_create(&run->wishes, &run->loop, OS_WISH_END, on_wish, run);
    if (rc == 0)
        rc = os_tree_create(&run->tree, &run->loop, &events, run);
    return rc == 0 ? os_tree_start(run->tree, &spec, err) : rc;
}

static int run_close(struct run *run) {
    for (int i = 0; i < run->count; i++)
        if (run->kept[i])
            CloseHandle(run->kept[i]);
    os_tree_destroy(run->tree);
    os_wishes_destroy(run->wishes);
    DeleteFileA(run->path);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&run->loop);
}

/* Waits for the file, and holds on to all that it names. */
static bool find_kept(struct run *run) {
    char line[64];
    FILE *file = NULL;
    for (int i = 0; i < 3000 && !file; i++) {
        file = fopen(run->path, "r");
        if (!file)
            Sleep(10);
    }
    while (file && run->count < KEPT && fgets(line, sizeof line, file)) {
        DWORD pid = strtoul(line, NULL, 10);
        run->refused += pid == 0;
        run->kept[run->count++] = pid ? OpenProcess(SYNCHRONIZE, FALSE, pid) : NULL;
    }
    if (file)
        fclose(file);
    return run->count == KEPT;
}

/* How many of them live on; those that do are ended, by their handles. */
static int survivors(const struct run *run) {
    int alive = 0;
    for (int i = 0; i < run->count; i++)
        if (run->kept[i] && WaitForSingleObject(run->kept[i], 5000) != WAIT_OBJECT_0) {
            printf("# %s lives\n", i < KINDS ? kinds[i].name : "the orphan");
            alive++;
        }
    return alive;
}

static void test_nobody_survives_a_kill(void) {
    struct run run;
    struct error err = {0};
    check(run_open(&run, "escape", &err) == 0);
    check(find_kept(&run));
    int64_t before = os_clock_ms();
    os_tree_kill(run.tree);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    printf("# empty after %d ms; %d refused to start\n", (int)(os_clock_ms() - before),
           run.refused);
    int alive = survivors(&run);
    int closed = run_close(&run);
    check(run.started == 1 && run.exited == 1 && run.emptied == 1);
    check(run.how.value == 1 && !run.how.by_signal);
    check(run.refused == 1); /* the one that wanted to break away */
    check(alive == 0);
    check(closed == 0);
}

static void test_the_rest_stays_when_the_program_ends(void) {
    struct run run;
    struct error err = {0};
    check(run_open(&run, "leave", &err) == 0);
    run.stop_at_exit = true;
    check(find_kept(&run));
    uv_run(&run.loop, UV_RUN_DEFAULT);
    int before = run.emptied;
    bool lives = WaitForSingleObject(run.kept[0], 0) == WAIT_TIMEOUT;
    os_tree_kill(run.tree);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    int alive = survivors(&run);
    int closed = run_close(&run);
    check(run.how.value == 42);
    check(before == 0 && lives && run.emptied == 1);
    check(alive == 0 && closed == 0);
}

/* The owner is a process of its own, which is ended as nobody can prevent. */
static void test_nobody_survives_the_owner(void) {
    PROCESS_INFORMATION owner;
    struct run run = {.count = 0};
    char words[MAX_PATH + 16], folder[MAX_PATH];
    GetTempPathA(MAX_PATH, folder);
    snprintf(run.path, sizeof run.path, "%sowner-%lu", folder, GetCurrentProcessId());
    snprintf(words, sizeof words, "own %s", run.path);
    check(start_self(words, CREATE_NO_WINDOW, &owner));
    bool found = find_kept(&run);
    TerminateProcess(owner.hProcess, 9);
    int alive = found ? survivors(&run) : -1;
    tap_end(&owner);
    for (int i = 0; i < run.count; i++)
        if (run.kept[i])
            CloseHandle(run.kept[i]);
    DeleteFileA(run.path);
    check(found);
    check(alive == 0);
}

static int child_owns(const char *path) {
    struct run run;
    struct error err = {0};
    char self[MAX_PATH];
    char *words[] = {self, WORD("escape"), WORD(path), NULL};
    struct os_tree_spec spec = {.stdio = {OS_NO_HANDLE, OS_NO_HANDLE, OS_NO_HANDLE}};
    union {
        char *const *plain;
        const char *const *constant;
    } list = {.plain = words}, environment = {.plain = tap_environment()};
    memset(&run, 0, sizeof run);
    GetModuleFileNameA(NULL, self, sizeof self);
    spec.words = list.constant;
    spec.environment = environment.constant;
    uv_loop_init(&run.loop);
    if (os_tree_create(&run.tree, &run.loop, &events, &run) < 0 ||
        os_tree_start(run.tree, &spec, &err) < 0)
        return 3;
    uv_run(&run.loop, UV_RUN_DEFAULT);
    return 0;
}

static void test_a_program_that_is_not_there(void) {
    static const char *const words[] = {"tether-none-such", NULL};
    struct run run = {.count = 0};
    struct error err = {0};
    union {
        char *const *plain;
        const char *const *constant;
    } environment = {.plain = tap_environment()};
    struct os_tree_spec spec = {.words = words,
                                .environment = environment.constant,
                                .stdio = {OS_NO_HANDLE, OS_NO_HANDLE, OS_NO_HANDLE}};
    uv_loop_init(&run.loop);
    check(os_tree_create(&run.tree, &run.loop, &events, &run) == 0);
    int rc = os_tree_start(run.tree, &spec, &err);
    os_tree_destroy(run.tree);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    printf("# %s\n", err.message);
    check(rc == UV_ENOENT);
    check(run.started == 0);
}

/* ---- asking ---- */

static HANDLE interrupted;

static BOOL WINAPI on_interrupt(DWORD event) {
    if (event == CTRL_C_EVENT)
        SetEvent(interrupted);
    return TRUE;
}

/* Ends with 7 when it is interrupted. */
static int child_listens(const char *path) {
    interrupted = CreateEventA(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(on_interrupt, TRUE);
    fclose(fopen(path, "w"));
    return WaitForSingleObject(interrupted, 60000) == WAIT_OBJECT_0 ? 7 : 8;
}

/* Asks a program to end, as a daemon at a hidden console of its own; tells by its exit code. */
static int child_asks(void) {
    struct run run;
    struct error err = {0};
    FILE *file = NULL;
    if (run_open(&run, "listen", &err) < 0)
        return 20;
    for (int i = 0; i < 3000 && !file; i++) {
        file = fopen(run.path, "r");
        if (!file)
            Sleep(10);
    }
    if (!file)
        return 21;
    fclose(file);
    if (!os_tree_ask(run.tree))
        return 22;
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_run(&run.loop, UV_RUN_NOWAIT);
    int value = (int)run.how.value, wished = run.wished;
    run_close(&run);
    return wished ? 23 : value;
}

static void test_a_program_is_asked_by_the_console(void) {
    PROCESS_INFORMATION owner;
    DWORD code = 0;
    check(start_self("ask", CREATE_NO_WINDOW, &owner));
    WaitForSingleObject(owner.hProcess, 90000);
    GetExitCodeProcess(owner.hProcess, &code);
    tap_end(&owner);
    printf("# it ended with %lu\n", code);
    check(code == 7);
}

/* A person's Ctrl-C has reached the program when it comes to us: it is not sent a second time. The
 * one here comes before the program listens, which therefore hears of none. */
static int child_is_interrupted(void) {
    struct run run;
    struct error err = {0};
    FILE *file = NULL;
    if (run_open(&run, "listen", &err) < 0)
        return 20;
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    while (!run.wished)
        uv_run(&run.loop, UV_RUN_ONCE);
    for (int i = 0; i < 3000 && !file; i++) {
        file = fopen(run.path, "r");
        if (!file)
            Sleep(10);
    }
    if (!file)
        return 21;
    fclose(file);
    if (!os_tree_ask(run.tree))
        return 22;
    uv_run(&run.loop, UV_RUN_NOWAIT);
    int code = WaitForSingleObject(OpenProcess(SYNCHRONIZE, FALSE, (DWORD)run.root.pid), 1000) ==
                       WAIT_TIMEOUT
                   ? 7
                   : 24;
    os_tree_kill(run.tree);
    while (!run.emptied)
        uv_run(&run.loop, UV_RUN_ONCE);
    run_close(&run);
    return code;
}

/* As from a terminal: not by somebody who wants it hidden. */
static bool start_shown(const char *words, PROCESS_INFORMATION *child) {
    char self[MAX_PATH], line[1024];
    STARTUPINFOA startup = {.cb = sizeof startup};
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" %s", self, words);
    return CreateProcessA(NULL, line, NULL, NULL, FALSE, CREATE_NO_WINDOW, NULL, NULL, &startup,
                          child);
}

static void test_G4_a_typed_interrupt_is_not_sent_again(void) {
    PROCESS_INFORMATION owner;
    DWORD code = 0;
    check(start_shown("interrupted", &owner));
    WaitForSingleObject(owner.hProcess, 90000);
    GetExitCodeProcess(owner.hProcess, &code);
    tap_end(&owner);
    printf("# it ended with %lu\n", code);
    check(code == 7);
}

/* ---- ends ---- */

static bool open_wishes(struct run *run, unsigned which) {
    *run = (struct run){.count = 0};
    uv_loop_init(&run->loop);
    return os_wishes_create(&run->wishes, &run->loop, which, on_wish, run) == 0;
}

/* It comes on a thread of its own, which a busy machine starts late. */
static int child_is_interrupted_late(void) {
    struct run run;
    if (!open_wishes(&run, OS_WISH_END))
        return 20;
    os_wishes_destroy(run.wishes);
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0))
        return 21;
    Sleep(500);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&run.loop) == 0 ? 7 : 22;
}

static void on_limit(uv_timer_t *timer) {
    (void)timer;
}

/* The system waits in its handlers for our end, and keeps others from changing them meanwhile. */
static int child_closes(void) {
    struct run run;
    uv_timer_t limit;
    LPTHREAD_START_ROUTINE tell = (LPTHREAD_START_ROUTINE)(void (*)(void))GetProcAddress(
        GetModuleHandleA("kernelbase"), "CtrlRoutine");
    if (!tell || !open_wishes(&run, OS_WISH_END | OS_WISH_HANGUP))
        return 20;
    CloseHandle(CreateThread(NULL, 0, tell, (void *)(uintptr_t)CTRL_CLOSE_EVENT, 0, NULL));
    uv_timer_init(&run.loop, &limit);
    uv_timer_start(&limit, on_limit, 10000, 0);
    while (!run.wished && uv_run(&run.loop, UV_RUN_ONCE))
        ;
    uv_close((uv_handle_t *)&limit, NULL);
    if (!run.wished)
        return 21;
    os_wishes_destroy(run.wishes);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&run.loop) == 0 ? 7 : 22;
}

static DWORD end_of(const char *words) {
    PROCESS_INFORMATION child;
    DWORD code = 0;
    if (!start_shown(words, &child))
        return 0;
    if (WaitForSingleObject(child.hProcess, 20000) == WAIT_TIMEOUT)
        TerminateProcess(child.hProcess, 30);
    GetExitCodeProcess(child.hProcess, &code);
    tap_end(&child);
    printf("# it ended with %lu\n", code);
    return code;
}

static void test_G4_an_end_is_not_cut_off_by_an_interrupt_that_comes_late(void) {
    check(end_of("late") == 7);
}

static void test_G4_an_end_of_which_the_console_told_comes_to_its_end(void) {
    check(end_of("closes") == 7);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_nobody_survives_a_kill),
        TEST(test_the_rest_stays_when_the_program_ends),
        TEST(test_nobody_survives_the_owner),
        TEST(test_a_program_that_is_not_there),
        TEST(test_a_program_is_asked_by_the_console),
        TEST(test_G4_a_typed_interrupt_is_not_sent_again),
        TEST(test_G4_an_end_is_not_cut_off_by_an_interrupt_that_comes_late),
        TEST(test_G4_an_end_of_which_the_console_told_comes_to_its_end),
    };
    const char *role = argc > 1 ? argv[1] : "";
    if (strcmp(role, "sleep") == 0)
        Sleep(120000);
    if (strcmp(role, "orphan") == 0)
        return child_orphans();
    if (argc == 3 && strcmp(role, "escape") == 0)
        return child_escapes(argv[2], true);
    if (argc == 3 && strcmp(role, "leave") == 0)
        return child_escapes(argv[2], false);
    if (argc == 3 && strcmp(role, "own") == 0)
        return child_owns(argv[2]);
    if (argc == 3 && strcmp(role, "listen") == 0)
        return child_listens(argv[2]);
    if (strcmp(role, "ask") == 0)
        return child_asks();
    if (strcmp(role, "interrupted") == 0)
        return child_is_interrupted();
    if (strcmp(role, "late") == 0)
        return child_is_interrupted_late();
    if (strcmp(role, "closes") == 0)
        return child_closes();
    if (strcmp(role, "sleep") == 0)
        return 0;
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? role : NULL);
}
