/* What Wine lacks, at the call (stand_in.h): jobs, consoles, pipes and files. */
#include "stand_in.h"

#include <sddl.h>

#include "os/os_loop.h"
#include "os/os_spawn.h"
#include "os/os_tree.h"

/* ---- what the tests want the system to answer ---- */

static struct {
    bool no_job_list, no_assign, no_break_away, no_impersonation, others_pipe, denied, taken_name;
    bool posix_rename, no_wine, other_user, at_console, bound, cut_off;
    int sharing_violations; /* so many moves fail before one succeeds */
    DWORD limits;           /* of the job that we are in */
    int refused_pipes, refused_waits;
    DWORD root;
    DWORD present; /* at the console, too */
    bool window;   /* the tree has one */
} want;

/* ---- processes and jobs ---- */

REAL("kernel32", BOOL, CreateProcessW, LPCWSTR, LPWSTR, LPSECURITY_ATTRIBUTES,
     LPSECURITY_ATTRIBUTES, BOOL, DWORD, LPVOID, LPCWSTR, LPSTARTUPINFOW, LPPROCESS_INFORMATION)
static BOOL WINAPI my_CreateProcessW(LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process,
                                     LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags,
                                     LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW startup,
                                     LPPROCESS_INFORMATION started) {
    BOOL done;
    note("CreateProcess program=%s inherit=%d%s%s%s%s%s%s", program ? "path" : "none", inherit,
         flags & CREATE_NO_WINDOW ? " NO_WINDOW" : "",
         flags & CREATE_BREAKAWAY_FROM_JOB ? " BREAKAWAY" : "",
         flags & CREATE_SUSPENDED ? " SUSPENDED" : "",
         flags & (DETACHED_PROCESS | CREATE_NEW_CONSOLE) ? " CONSOLE" : "",
         flags & CREATE_NEW_PROCESS_GROUP ? " GROUP" : "",
         startup->dwFlags & STARTF_USESHOWWINDOW && startup->wShowWindow == SW_HIDE ? " HIDE" : "");
    if (want.no_break_away && flags & CREATE_BREAKAWAY_FROM_JOB)
        return refuse(ERROR_ACCESS_DENIED);
    if (want.cut_off) /* it lets its child go on only at its end */
        flags |= CREATE_SUSPENDED;
    done = real_CreateProcessW()(program, line, process, thread, inherit, flags, environment,
                                 directory, startup, started);
    if (done)
        want.root = started->dwProcessId;
    if (want.cut_off)
        TerminateProcess(GetCurrentProcess(), want.root);
    return done;
}
REPLACE(CreateProcessW);

REAL("kernel32", BOOL, UpdateProcThreadAttribute, LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR,
     PVOID, SIZE_T, PVOID, PSIZE_T)
static BOOL WINAPI my_UpdateProcThreadAttribute(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags,
                                                DWORD_PTR attribute, PVOID value, SIZE_T size,
                                                PVOID previous, PSIZE_T returned) {
    bool is_job = attribute == PROC_THREAD_ATTRIBUTE_JOB_LIST;
    note("attribute %s %d", is_job ? "JOB_LIST" : "HANDLE_LIST", (int)(size / sizeof(HANDLE)));
    if (is_job && want.no_job_list)
        return refuse(ERROR_NOT_SUPPORTED);
    return real_UpdateProcThreadAttribute()(list, flags, attribute, value, size, previous,
                                            returned);
}
REPLACE(UpdateProcThreadAttribute);

REAL("kernel32", HANDLE, CreateJobObjectW, LPSECURITY_ATTRIBUTES, LPCWSTR)
static HANDLE WINAPI my_CreateJobObjectW(LPSECURITY_ATTRIBUTES attributes, LPCWSTR name) {
    note("CreateJobObject %s%s", name ? "named" : "unnamed",
         attributes && attributes->bInheritHandle ? " inherited" : "");
    return real_CreateJobObjectW()(attributes, name);
}
REPLACE(CreateJobObjectW);

REAL("kernel32", BOOL, SetInformationJobObject, HANDLE, JOBOBJECTINFOCLASS, LPVOID, DWORD)
static BOOL WINAPI my_SetInformationJobObject(HANDLE job, JOBOBJECTINFOCLASS kind, LPVOID value,
                                              DWORD size) {
    if (kind == JobObjectExtendedLimitInformation)
        note("job limits %lx",
             ((JOBOBJECT_EXTENDED_LIMIT_INFORMATION *)value)->BasicLimitInformation.LimitFlags);
    return real_SetInformationJobObject()(job, kind, value, size);
}
REPLACE(SetInformationJobObject);

REAL("kernel32", BOOL, AssignProcessToJobObject, HANDLE, HANDLE)
static BOOL WINAPI my_AssignProcessToJobObject(HANDLE job, HANDLE process) {
    note("assign");
    return want.no_assign ? refuse(ERROR_ACCESS_DENIED)
                          : real_AssignProcessToJobObject()(job, process);
}
REPLACE(AssignProcessToJobObject);

REAL("kernel32", DWORD, ResumeThread, HANDLE)
static DWORD WINAPI my_ResumeThread(HANDLE thread) {
    note("resume");
    return real_ResumeThread()(thread);
}
REPLACE(ResumeThread);

REAL("kernel32", BOOL, TerminateProcess, HANDLE, UINT)
static BOOL WINAPI my_TerminateProcess(HANDLE process, UINT code) {
    note("TerminateProcess");
    return real_TerminateProcess()(process, code);
}
REPLACE(TerminateProcess);

REAL("kernel32", BOOL, TerminateJobObject, HANDLE, UINT)
static BOOL WINAPI my_TerminateJobObject(HANDLE job, UINT code) {
    note("TerminateJobObject");
    return real_TerminateJobObject()(job, code);
}
REPLACE(TerminateJobObject);

REAL("kernel32", BOOL, IsProcessInJob, HANDLE, HANDLE, PBOOL)
static BOOL WINAPI my_IsProcessInJob(HANDLE process, HANDLE job, PBOOL result) {
    if (!job && want.bound) {
        *result = TRUE;
        return TRUE;
    }
    return real_IsProcessInJob()(process, job, result);
}
REPLACE(IsProcessInJob);

REAL("kernel32", BOOL, QueryInformationJobObject, HANDLE, JOBOBJECTINFOCLASS, LPVOID, DWORD,
     LPDWORD)
static BOOL WINAPI my_QueryInformationJobObject(HANDLE job, JOBOBJECTINFOCLASS kind, LPVOID value,
                                                DWORD size, LPDWORD length) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION *limits = value;
    if (job || kind != JobObjectExtendedLimitInformation)
        return real_QueryInformationJobObject()(job, kind, value, size, length);
    limits->BasicLimitInformation.LimitFlags = want.limits;
    return TRUE;
}
REPLACE(QueryInformationJobObject);

REAL("kernel32", HANDLE, OpenProcess, DWORD, BOOL, DWORD)
static HANDLE WINAPI my_OpenProcess(DWORD access, BOOL inherit, DWORD pid) {
    note("OpenProcess %lx", access);
    if (want.denied) {
        SetLastError(ERROR_ACCESS_DENIED);
        return NULL;
    }
    return real_OpenProcess()(access, inherit, pid);
}
REPLACE(OpenProcess);

/* ---- consoles ---- */

static UINT WINAPI my_GetConsoleCP(void) {
    return want.at_console ? 437 : 0;
}
REPLACE(GetConsoleCP);

static DWORD WINAPI my_GetConsoleProcessList(LPDWORD pids, DWORD count) {
    (void)count;
    pids[0] = GetCurrentProcessId();
    pids[1] = want.root;
    pids[2] = want.present;
    return want.at_console ? want.present ? 3 : 2 : 0;
}
REPLACE(GetConsoleProcessList);

static BOOL WINAPI my_GenerateConsoleCtrlEvent(DWORD event, DWORD group) {
    note("event %s %lu", event == CTRL_C_EVENT ? "C" : "BREAK", group);
    return TRUE;
}
REPLACE(GenerateConsoleCtrlEvent);

static BOOL WINAPI my_EnumWindows(WNDENUMPROC fn, LPARAM argument) {
    note("EnumWindows");
    return !want.window || fn((HWND)(intptr_t)0x10, argument);
}
REPLACE(EnumWindows);

static DWORD WINAPI my_GetWindowThreadProcessId(HWND window, LPDWORD pid) {
    (void)window;
    *pid = want.root;
    return 1;
}
REPLACE(GetWindowThreadProcessId);

static BOOL WINAPI my_PostMessageW(HWND window, UINT message, WPARAM word, LPARAM argument) {
    (void)window, (void)word, (void)argument;
    note("post %s", message == WM_CLOSE ? "WM_CLOSE" : "another");
    return TRUE;
}
REPLACE(PostMessageW);

/* ---- pipes and users ---- */

REAL("kernel32", HANDLE, CreateNamedPipeW, LPCWSTR, DWORD, DWORD, DWORD, DWORD, DWORD, DWORD,
     LPSECURITY_ATTRIBUTES)
static HANDLE WINAPI my_CreateNamedPipeW(LPCWSTR name, DWORD open, DWORD mode, DWORD most,
                                         DWORD out, DWORD in, DWORD time,
                                         LPSECURITY_ATTRIBUTES attributes) {
    char *text = NULL;
    if (attributes && attributes->lpSecurityDescriptor)
        ConvertSecurityDescriptorToStringSecurityDescriptorA(
            attributes->lpSecurityDescriptor, SDDL_REVISION_1,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &text, NULL);
    note("pipe%s%s%s %s", open & FILE_FLAG_FIRST_PIPE_INSTANCE ? " FIRST" : "",
         open & FILE_FLAG_OVERLAPPED ? " OVERLAPPED" : "",
         mode & PIPE_REJECT_REMOTE_CLIENTS ? " LOCAL" : "", text ? text : "no descriptor");
    LocalFree(text);
    if (want.taken_name && open & FILE_FLAG_FIRST_PIPE_INSTANCE) {
        SetLastError(ERROR_ACCESS_DENIED); /* as Windows says that somebody has the name */
        return INVALID_HANDLE_VALUE;
    }
    if (want.refused_pipes > 0) {
        want.refused_pipes--;
        SetLastError(ERROR_NO_SYSTEM_RESOURCES);
        return INVALID_HANDLE_VALUE;
    }
    return real_CreateNamedPipeW()(name, open, mode, most, out, in, time, attributes);
}
REPLACE(CreateNamedPipeW);

REAL("kernel32", BOOL, RegisterWaitForSingleObject, PHANDLE, HANDLE, WAITORTIMERCALLBACK, PVOID,
     ULONG, ULONG)
static BOOL WINAPI my_RegisterWaitForSingleObject(PHANDLE wait, HANDLE object,
                                                  WAITORTIMERCALLBACK fn, PVOID context, ULONG time,
                                                  ULONG flags) {
    if (want.refused_waits > 0) {
        want.refused_waits--;
        return refuse(ERROR_NO_SYSTEM_RESOURCES);
    }
    return real_RegisterWaitForSingleObject()(wait, object, fn, context, time, flags);
}
REPLACE(RegisterWaitForSingleObject);

REAL("advapi32", BOOL, ImpersonateNamedPipeClient, HANDLE)
static BOOL WINAPI my_ImpersonateNamedPipeClient(HANDLE pipe) {
    note("impersonate");
    return want.no_impersonation ? refuse(ERROR_CANNOT_IMPERSONATE)
                                 : real_ImpersonateNamedPipeClient()(pipe);
}
REPLACE(ImpersonateNamedPipeClient);

/* The user of another process, when that is wanted: guest of this machine, whose number differs. */
REAL("advapi32", BOOL, GetTokenInformation, HANDLE, TOKEN_INFORMATION_CLASS, LPVOID, DWORD, PDWORD)
static BOOL WINAPI my_GetTokenInformation(HANDLE token, TOKEN_INFORMATION_CLASS kind, LPVOID out,
                                          DWORD size, PDWORD length) {
    BOOL done = real_GetTokenInformation()(token, kind, out, size, length);
    note("token");
    if (done && kind == TokenUser && want.other_user) {
        SID *sid = ((TOKEN_USER *)out)->User.Sid;
        sid->SubAuthority[sid->SubAuthorityCount - 1] = 501;
    }
    return done;
}
REPLACE(GetTokenInformation);

REAL("kernel32", BOOL, WriteFile, HANDLE, LPCVOID, DWORD, LPDWORD, LPOVERLAPPED)
static BOOL WINAPI my_WriteFile(HANDLE file, LPCVOID data, DWORD length, LPDWORD count,
                                LPOVERLAPPED overlapped) {
    if (GetFileType(file) == FILE_TYPE_PIPE)
        note("write to a pipe");
    return real_WriteFile()(file, data, length, count, overlapped);
}
REPLACE(WriteFile);

/* ---- files ---- */

REAL("kernel32", HANDLE, CreateFileW, LPCWSTR, DWORD, DWORD, LPSECURITY_ATTRIBUTES, DWORD, DWORD,
     HANDLE)
static HANDLE WINAPI my_CreateFileW(LPCWSTR path, DWORD access, DWORD share,
                                    LPSECURITY_ATTRIBUTES attributes, DWORD disposition,
                                    DWORD flags, HANDLE model) {
    const wchar_t *name = wcsrchr(path, L'\\');
    note("CreateFile %ls share=%lx%s%s", name ? name + 1 : path, share,
         wcsncmp(path, L"\\\\?\\", 4) == 0 ? " VERBATIM" : "",
         flags & SECURITY_SQOS_PRESENT && (flags & SECURITY_DELEGATION) == SECURITY_IDENTIFICATION
             ? " IDENTIFICATION"
             : "");
    return real_CreateFileW()(path, access, share, attributes, disposition, flags, model);
}
REPLACE(CreateFileW);

REAL("kernel32", BOOL, SetFileInformationByHandle, HANDLE, FILE_INFO_BY_HANDLE_CLASS, LPVOID, DWORD)
static BOOL WINAPI my_SetFileInformationByHandle(HANDLE file, FILE_INFO_BY_HANDLE_CLASS kind,
                                                 LPVOID value, DWORD size) {
    if (kind == 22)
        note("rename POSIX flags=%lx", ((FILE_RENAME_INFO *)value)->Flags);
    if (kind == 22 && want.posix_rename) { /* as Windows would, by the one way that Wine has */
        wchar_t from[1024];
        GetFinalPathNameByHandleW(file, from, 1024, 0);
        return MoveFileExW(from, ((FILE_RENAME_INFO *)value)->FileName, MOVEFILE_REPLACE_EXISTING);
    }
    return real_SetFileInformationByHandle()(file, kind, value, size);
}
REPLACE(SetFileInformationByHandle);

REAL("kernel32", BOOL, MoveFileExW, LPCWSTR, LPCWSTR, DWORD)
static BOOL WINAPI my_MoveFileExW(LPCWSTR from, LPCWSTR to, DWORD flags) {
    note("move flags=%lx", flags);
    if (want.sharing_violations > 0)
        return refuse(want.sharing_violations-- % 2 ? ERROR_SHARING_VIOLATION
                                                    : ERROR_ACCESS_DENIED);
    return real_MoveFileExW()(from, to, flags);
}
REPLACE(MoveFileExW);

/* What tells Wine from Windows is found in this module. */
REAL("kernel32", HMODULE, GetModuleHandleW, LPCWSTR)
static HMODULE WINAPI my_GetModuleHandleW(LPCWSTR name) {
    if (want.no_wine && name && wcscmp(name, L"ntdll.dll") == 0)
        return NULL;
    return real_GetModuleHandleW()(name);
}
REPLACE(GetModuleHandleW);

/* ---- trees ---- */

struct run {
    uv_loop_t loop;
    struct os_tree *tree;
    struct os_wishes *wishes;
    uv_timer_t end;
    int started, exited, emptied, said;
};

static void on_started(void *context, const struct os_identity *root) {
    (void)root;
    ((struct run *)context)->started++;
}

static void on_unstarted(void *context, const struct error *why) {
    (void)context;
    printf("# %s\n", why->message);
}

static void on_exited(void *context, const struct os_exit *how) {
    (void)how;
    ((struct run *)context)->exited++;
}

static void on_drained(void *context) {
    (void)context;
}

static void on_emptied(void *context) {
    ((struct run *)context)->emptied++;
}

static void on_said(void *context, const char *text) {
    printf("# said: %s\n", text);
    ((struct run *)context)->said++;
}

static void on_wish(void *context, enum os_wish wish) {
    (void)context;
    (void)wish;
}

static void on_end(uv_timer_t *timer) {
    os_tree_kill(((struct run *)timer->data)->tree);
}

/* A run of this program that sleeps; it is killed after a while, so that the loop comes to an end.
 */
static int run_start(struct run *run, uint32_t grace_ms) {
    static const struct os_tree_events events = {on_started, on_unstarted, on_exited,
                                                 on_drained, on_emptied,   on_said};
    static char self[MAX_PATH];
    static const char *words[] = {self, "sleep", NULL};
    struct error err = {0};
    union {
        char *const *plain;
        const char *const *constant;
    } environment = {.plain = tap_environment()};
    struct os_tree_spec spec = {.words = words,
                                .environment = environment.constant,
                                .stdio = {OS_NO_HANDLE, OS_NO_HANDLE, OS_NO_HANDLE},
                                .grace_ms = grace_ms};
    *run = (struct run){.started = 0};
    GetModuleFileNameA(NULL, self, sizeof self);
    uv_loop_init(&run->loop);
    uv_timer_init(&run->loop, &run->end);
    run->end.data = run;
    uv_timer_start(&run->end, on_end, 3 * grace_ms + 100, 0);
    int rc = os_wishes_create(&run->wishes, &run->loop, OS_WISH_END, on_wish, run);
    if (rc == 0)
        rc = os_tree_create(&run->tree, &run->loop, &events, run);
    if (rc == 0)
        rc = os_tree_start(run->tree, &spec, &err);
    if (rc < 0)
        printf("# %s\n", err.message);
    return rc;
}

static void run_end(struct run *run) {
    while (run->started && !run->emptied && uv_run(&run->loop, UV_RUN_ONCE))
        ;
    uv_close((uv_handle_t *)&run->end, NULL);
    os_tree_destroy(run->tree);
    os_wishes_destroy(run->wishes);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    uv_loop_close(&run->loop);
}

static void test_G2_the_job_is_ours_alone_and_lets_nobody_go(void) {
    struct run run;
    record();
    int rc = run_start(&run, 0);
    run.started = rc == 0;
    run_end(&run);
    show();
    check(rc == 0);
    check(count_of("CreateJobObject unnamed\n") == 1 && count_of("CreateJobObject") == 1);
    check(count_of("job limits 2000\n") == 1 && count_of("job limits") == 1); /* kill on close */
    check(in_order("job limits", "attribute JOB_LIST 1\nCreateProcess program=path"));
    check(count_of("attribute HANDLE_LIST 3") == 1);
    check(count_of("SUSPENDED") + count_of("BREAKAWAY") + count_of(" GROUP") == 0);
    check(count_of("TerminateProcess") == 0 && count_of("TerminateJobObject") >= 1);
}

static void test_G2_where_a_start_in_the_job_is_refused_it_is_entered_before_anything_runs(void) {
    struct run run;
    record();
    want.no_job_list = true;
    int rc = run_start(&run, 0);
    want.no_job_list = false;
    run.started = rc == 0;
    run_end(&run);
    show();
    check(rc == 0);
    check(in_order("SUSPENDED", "assign\nresume"));
    check(run.emptied == 1);
}

static void test_G2_what_cannot_enter_the_job_never_runs(void) {
    struct run run;
    record();
    want.no_job_list = want.no_assign = true;
    int rc = run_start(&run, 0);
    want.no_job_list = want.no_assign = false;
    run_end(&run);
    show();
    check(rc == UV_EACCES);
    check(in_order("assign", "TerminateProcess") && count_of("resume") == 0);
}

static int said_in_a_job(DWORD limits) {
    struct run run;
    want.bound = want.no_wine = true;
    want.limits = limits;
    int rc = run_start(&run, 0);
    want.bound = want.no_wine = false;
    run.started = rc == 0;
    run_end(&run);
    return rc < 0 ? rc : run.said;
}

static void test_G2_a_job_that_we_cannot_leave_is_told(void) {
    check(said_in_a_job(0) == 1);
    check(said_in_a_job(JOB_OBJECT_LIMIT_BREAKAWAY_OK) == 0); /* as that of our own start */
}

static void test_G4_first_an_interrupt_then_break_and_the_windows_in_the_middle_of_the_grace(void) {
    struct run run;
    want.at_console = true;
    int rc = run_start(&run, 400);
    record();
    bool asked = rc == 0 && os_tree_ask(run.tree), again = rc == 0 && os_tree_ask(run.tree);
    int at_once = count_of("event");
    run.started = rc == 0;
    run_end(&run);
    want.at_console = false;
    show();
    check(rc == 0 && asked && again);
    check(at_once == 1 && count_of("event C 0") == 1 && count_of("event BREAK 0") == 1);
    check(in_order("event C 0", "event BREAK 0") && in_order("event BREAK 0", "EnumWindows"));
    check(in_order("EnumWindows", "TerminateJobObject"));
}

static void test_G4_without_a_console_the_windows_are_asked_at_once(void) {
    struct run run;
    int rc = run_start(&run, 400);
    record();
    bool asked = rc == 0 && os_tree_ask(run.tree);
    int at_once = count_of("EnumWindows");
    run.started = rc == 0;
    run_end(&run);
    show();
    check(rc == 0 && !asked && at_once == 1);
    check(count_of("event") == 0);
}

/* Who asks "Save?" asks once. */
static void test_G4_windows_are_asked_to_close_once(void) {
    struct run run;
    int rc = run_start(&run, 400);
    record();
    want.window = true;
    bool asked = rc == 0 && os_tree_ask(run.tree);
    run.started = rc == 0;
    run_end(&run);
    want.window = false;
    show();
    check(rc == 0 && asked);
    check(count_of("post WM_CLOSE") == 1 && in_order("WM_CLOSE", "TerminateJobObject"));
}

/* Whether the tree is interrupted, with one more process at the console. */
static bool is_asked_beside(DWORD other) {
    struct run run;
    want.at_console = true;
    want.present = other;
    int rc = run_start(&run, 0);
    record();
    bool asked = rc == 0 && os_tree_ask(run.tree);
    want.at_console = false;
    want.present = 0;
    run.started = rc == 0;
    run_end(&run);
    show();
    return asked && count_of("event C 0") == 1;
}

/* The system lists for a moment who has just ended. */
static void test_G4_who_is_at_the_console_no_more_is_no_stranger_there(void) {
    PROCESS_INFORMATION stranger;
    check(tap_child(&stranger, "sleep", NULL));
    bool living = is_asked_beside(stranger.dwProcessId);
    TerminateProcess(stranger.hProcess, 9);
    WaitForSingleObject(stranger.hProcess, INFINITE);
    bool ended = is_asked_beside(stranger.dwProcessId);
    tap_end(&stranger);
    bool gone = is_asked_beside(0x7ffffffc);
    check(!living && ended && gone);
}

/* ---- starting ourselves ---- */

/* Starts a daemon that is handed the lock, as a launch does, and is ended before that has begun. */
static int child_is_cut_off(const char *parent) {
    struct os_dir dir;
    struct error err;
    os_handle lock;
    tap_state_of(strtoul(parent, NULL, 10));
    if (tap_open_dir(&dir, "calls-cut") < 0 || os_lock_take(&lock, &dir, "lock", &err) < 0)
        return 0;
    want.cut_off = true;
    spawn_with(true, &lock, 1);
    return 0;
}

static void test_E6_a_daemon_that_was_never_born_keeps_no_lock(void) {
    PROCESS_INFORMATION launcher;
    struct os_dir dir;
    char words[64];
    DWORD pid = 0;
    HANDLE unborn;
    bool gone = true;
    snprintf(words, sizeof words, "cut-off %lu", GetCurrentProcessId());
    check(tap_open_dir(&dir, "calls-cut") == 0);
    check(tap_child(&launcher, words, NULL));
    WaitForSingleObject(launcher.hProcess, INFINITE);
    GetExitCodeProcess(launcher.hProcess, &pid);
    tap_end(&launcher);
    unborn = real_OpenProcess()(SYNCHRONIZE | PROCESS_TERMINATE, FALSE, pid);
    if (unborn) {
        gone = WaitForSingleObject(unborn, 10000) == WAIT_OBJECT_0;
        TerminateProcess(unborn, 1);
        CloseHandle(unborn);
    }
    int held = os_lock_is_held(&dir, "lock");
    os_dir_finish(&dir);
    check(pid != 0 && gone && held == 0);
}

static void test_E6_a_daemon_that_was_born_outlives_who_started_it(void) {
    check(spawn_self(true) == 0);
    check(count_of("CreateJobObject unnamed\n") == 1 && count_of("CreateJobObject") == 1);
    check(in_order("job limits 2800\n", "CreateProcess")); /* kill on close, breakaway */
    check(in_order("CreateProcess", "job limits 800\n"));  /* no more than breakaway */
    check(spawn_self(false) == 0);                         /* a launch lets its daemon go, too */
    check(in_order("job limits 2800\n", "CreateProcess"));
    check(in_order("CreateProcess", "job limits 800\n"));
    want.bound = want.no_wine = true;
    want.limits = 0;
    int rc = spawn_self(false);
    want.bound = want.no_wine = false;
    check(rc == 0 && count_of("job limits 0\n") == 1); /* or does not, where we are kept, too */
}

static void test_G2_a_daemon_leaves_the_job_of_who_starts_it_if_it_may(void) {
    check(spawn_self(true) == 0);
    check(count_of("CreateProcess") == 1 && count_of("BREAKAWAY") == 1);
    want.no_break_away = true;
    int rc = spawn_self(true);
    want.no_break_away = false;
    check(rc == 0);
    check(count_of("CreateProcess") == 2 && count_of("BREAKAWAY") == 1);
    check(count_of("job limits 0\n") == 1); /* by which it knows that it is bound */
    want.no_job_list = true;
    rc = spawn_self(true);
    want.no_job_list = false;
    check(rc == 0);
    check(count_of("CreateProcess") == 1 && count_of("BREAKAWAY") == 1);
}

static void test_G7_what_we_start_shows_no_window(void) {
    check(spawn_self(true) == 0);
    check(count_of("NO_WINDOW") == 1 && count_of("HIDE") == 1 && count_of("CONSOLE") == 0);
    check(spawn_self(false) == 0);
    check(count_of("NO_WINDOW") == 1 && count_of("HIDE") == 1 && count_of("CONSOLE") == 0);
    check(count_of("BREAKAWAY") == 0);
    struct run run;
    record(); /* without a console of our own the server gets a hidden one */
    int rc = run_start(&run, 0);
    run.started = rc == 0;
    run_end(&run);
    show();
    check(rc == 0 && count_of("NO_WINDOW") == 1 && count_of("HIDE") == 1);
}

/* ---- asking whether a process lives ---- */

static bool mask_has(unsigned long right) {
    for (const char *at = strstr(calls, "OpenProcess "); at; at = strstr(at + 1, "OpenProcess "))
        if (strtoul(at + strlen("OpenProcess "), NULL, 16) & right)
            return true;
    return false;
}

static void on_death(void *context, const struct os_identity *identity) {
    (void)identity;
    ++*(int *)context;
}

static void test_G3_asking_takes_no_right_to_end(void) {
    struct os_identity self;
    struct os_process process;
    char text[512];
    uint32_t user;
    check(os_identity_self(&self) == 0);
    record();
    os_liveness(&self);
    if (os_process_open(&process, &self) == 0)
        os_process_close(&process);
    os_process_command(&self, text, sizeof text);
    os_process_executable(&self, text, sizeof text);
    os_process_variable(&self, "PATH", text, sizeof text);
    os_process_user(&self, &user);
    show();
    check(count_of("OpenProcess") >= 6);
    check(!mask_has(PROCESS_TERMINATE | PROCESS_VM_WRITE | PROCESS_CREATE_THREAD));
    check(count_of("Terminate") == 0);
}

static void test_A9_G3_whom_we_may_not_ask_is_not_dead(void) {
    struct os_identity self;
    struct os_watch *watch = NULL;
    struct os_process process;
    uv_loop_t loop;
    int deaths = 0;
    check(os_identity_self(&self) == 0);
    struct os_identity without_start = {self.pid, 0};
    uv_loop_init(&loop);
    want.denied = true;
    enum os_life life = os_liveness(&self), any = os_liveness(&without_start);
    int opened = os_process_open(&process, &self);
    int rc = os_watch_create(&watch, &loop, &self, 10, on_death, &deaths);
    for (int i = 0; i < 10; i++) {
        Sleep(10);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    want.denied = false;
    os_watch_destroy(watch);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    check(life == OS_ALIVE && any == OS_ALIVE);
    check(opened == UV_EACCES);
    check(rc == 0 && deaths == 0);
}

/* ---- the control pipe ---- */

struct endpoint {
    uv_loop_t loop;
    struct os_control *control;
    struct os_dir dir;
    uv_pipe_t client, server;
    int connected;
    bool is_open;
};

static void on_connected(void *context) {
    struct endpoint *endpoint = context;
    endpoint->connected += os_control_accept(endpoint->control, &endpoint->server) == 0;
}

static int endpoint_open(struct endpoint *endpoint, const char *instance) {
    struct error err = {0};
    *endpoint = (struct endpoint){.connected = 0};
    uv_loop_init(&endpoint->loop);
    uv_pipe_init(&endpoint->loop, &endpoint->client, 0);
    uv_pipe_init(&endpoint->loop, &endpoint->server, 0);
    int rc = tap_open_dir(&endpoint->dir, instance);
    if (rc == 0)
        rc = os_control_listen(&endpoint->control, &endpoint->loop, &endpoint->dir, 4, on_connected,
                               endpoint, &err);
    endpoint->is_open = rc == 0;
    if (rc < 0)
        printf("# %s\n", err.message);
    return rc;
}

static int endpoint_connect(struct endpoint *endpoint) {
    char name[OS_ENDPOINT_MAX];
    os_control_name(&endpoint->dir, false, name, NULL);
    int rc = os_control_connect(&endpoint->client, name);
    while (rc == 0 && !endpoint->connected)
        uv_run(&endpoint->loop, UV_RUN_ONCE);
    return rc;
}

static void endpoint_close(struct endpoint *endpoint) {
    if (endpoint->is_open)
        os_control_close(endpoint->control);
    uv_close((uv_handle_t *)&endpoint->client, NULL);
    uv_close((uv_handle_t *)&endpoint->server, NULL);
    uv_run(&endpoint->loop, UV_RUN_DEFAULT);
    uv_loop_close(&endpoint->loop);
    os_dir_finish(&endpoint->dir);
}

/* The descriptor of the design, with our user in the places of "me". */
static void expected_pipe(char *out, size_t size, const char *flags) {
    union {
        TOKEN_USER user;
        BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } answer;
    HANDLE token;
    DWORD length;
    char *me = NULL;
    OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token);
    real_GetTokenInformation()(token, TokenUser, &answer, sizeof answer, &length);
    CloseHandle(token);
    ConvertSidToStringSidA(answer.user.User.Sid, &me);
    snprintf(out, size, "pipe%s OVERLAPPED LOCAL O:%sD:P(A;;GA;;;%s)(A;;GA;;;SY)\n", flags, me, me);
    LocalFree(me);
}

static void test_G5_the_pipe_is_for_our_user_and_this_machine(void) {
    struct endpoint endpoint;
    char first[512], next[512];
    record();
    int rc = endpoint_open(&endpoint, "calls-pipe");
    if (rc == 0)
        rc = endpoint_connect(&endpoint);
    endpoint_close(&endpoint);
    show();
    expected_pipe(first, sizeof first, " FIRST");
    expected_pipe(next, sizeof next, "");
    check(rc == 0);
    check(count_of(first) == 1 && count_of(next) == 1 && count_of(" LOCAL ") == 2);
    check(count_of(" share=0 IDENTIFICATION") == 1); /* who serves may not act in our name */
}

static void test_G5_a_name_that_another_has_taken_is_not_shared(void) {
    struct endpoint endpoint;
    want.taken_name = true;
    int rc = endpoint_open(&endpoint, "calls-taken");
    want.taken_name = false;
    endpoint_close(&endpoint);
    check(rc == UV_EACCES);
}

static void test_G5_a_client_says_nothing_to_a_server_of_another_user(void) {
    struct endpoint endpoint;
    char name[OS_ENDPOINT_MAX];
    check(os_user_self() != OS_USER_UNKNOWN); /* asked for before anybody is another */
    int rc = endpoint_open(&endpoint, "calls-foreign");
    os_control_name(&endpoint.dir, false, name, NULL);
    record();
    want.other_user = true;
    int connected = rc == 0 ? os_control_connect(&endpoint.client, name) : 0;
    want.other_user = false;
    endpoint_close(&endpoint);
    show();
    check(connected == UV_EACCES);
    check(count_of("token") == 1 && count_of("write") == 0);
}

static void peer_as(bool other, bool no_impersonation, int *rc, struct os_peer *peer) {
    struct endpoint endpoint;
    *rc = endpoint_open(&endpoint, "calls-peer");
    if (*rc == 0)
        *rc = endpoint_connect(&endpoint);
    record();
    want.other_user = other;
    want.no_impersonation = no_impersonation;
    if (*rc == 0)
        *rc = os_control_peer(&endpoint.server, peer);
    want.other_user = want.no_impersonation = false;
    show();
    if (*rc == 0)
        os_process_close(&peer->process);
    endpoint_close(&endpoint);
}

static void test_G5_a_server_learns_the_client_s_user_before_a_word(void) {
    struct os_peer peer;
    int rc;
    peer_as(false, false, &rc, &peer);
    check(rc == 0 && peer.user == os_user_self());
    check(peer.process.identity.pid == GetCurrentProcessId());
    check(in_order("impersonate", "token"));
    peer_as(true, false, &rc, &peer);
    check(rc == 0 && peer.user != os_user_self());
    peer_as(false, true, &rc, &peer); /* as Windows answers for a client that set no limit */
    check(rc == 0 && peer.user == os_user_self());
    peer_as(true, true, &rc, &peer);
    check(rc == 0 && peer.user != os_user_self());
}

/* Turns the loop until the client is taken, for a while. */
static bool is_taken(struct endpoint *endpoint) {
    for (int i = 0; i < 200 && !endpoint->connected; i++) {
        uv_run(&endpoint->loop, UV_RUN_NOWAIT);
        Sleep(10);
    }
    return endpoint->connected == 1;
}

/* One client, and then another, while the system refuses some of what is needed to take them. */
static bool hears_both(const char *instance, int pipes, int waits) {
    struct endpoint endpoint;
    char name[OS_ENDPOINT_MAX];
    bool first = false, second = false;
    int rc = endpoint_open(&endpoint, instance);
    os_control_name(&endpoint.dir, false, name, NULL);
    want.refused_pipes = pipes;
    want.refused_waits = waits;
    if (rc == 0 && os_control_connect(&endpoint.client, name) == 0)
        first = is_taken(&endpoint);
    int refused_more = want.refused_pipes + want.refused_waits;
    want.refused_pipes = want.refused_waits = 0;
    uv_close((uv_handle_t *)&endpoint.client, NULL);
    uv_close((uv_handle_t *)&endpoint.server, NULL);
    for (int i = 0; i < 20; i++) {
        uv_run(&endpoint.loop, UV_RUN_NOWAIT);
        Sleep(10);
    }
    uv_pipe_init(&endpoint.loop, &endpoint.client, 0);
    uv_pipe_init(&endpoint.loop, &endpoint.server, 0);
    endpoint.connected = 0;
    if (first && os_control_connect(&endpoint.client, name) == 0)
        second = is_taken(&endpoint);
    endpoint_close(&endpoint);
    printf("# %s: first %d, second %d\n", instance, first, second);
    return second && refused_more == 0;
}

static void test_G5_what_the_system_refuses_once_makes_no_endpoint_deaf(void) {
    bool hears = hears_both("calls-deaf-0", 0, 0);
    bool after_pipes = hears_both("calls-deaf-1", 3, 0);
    bool after_wait = hears_both("calls-deaf-2", 0, 1);
    check(hears && after_pipes && after_wait);
}

/* ---- files ---- */

static void test_G1_a_file_is_replaced_whole_and_again_where_somebody_looks_at_it(void) {
    struct os_dir dir;
    int rc[4];
    check(tap_open_dir(&dir, "calls-files") == 0);
    record();
    want.posix_rename = true;
    rc[0] = os_file_write(&dir, "state.json", "1", 1, NULL);
    want.posix_rename = false;
    int posix = count_of("rename POSIX flags=3"), moves = count_of("move");
    rc[1] = os_file_write(&dir, "state.json", "2", 1, NULL); /* here Wine says that it has none */
    int then = count_of("move flags=1");
    want.sharing_violations = 4;
    rc[2] = os_file_write(&dir, "state.json", "3", 1, NULL);
    want.sharing_violations = 1000;
    rc[3] = os_file_write(&dir, "state.json", "4", 1, NULL);
    want.sharing_violations = 0;
    show();
    char got[8];
    int read = os_file_read(&dir, "state.json", got, sizeof got, NULL);
    os_dir_finish(&dir);
    check(rc[0] == 0 && posix == 1 && moves == 1); /* that one is how the test renames */
    check(rc[1] == 0 && then >= 2);
    check(rc[2] == 0);
    check(rc[3] < 0 && read == 0 && strcmp(got, "3") == 0);
}

static void test_G1_a_lock_is_open_and_shared_with_nobody(void) {
    struct os_dir dir;
    os_handle lock;
    check(tap_open_dir(&dir, "calls-lock") == 0);
    record();
    int rc = os_lock_take(&lock, &dir, "lock", NULL);
    show();
    os_handle_close(&lock);
    os_dir_finish(&dir);
    check(rc == 0);
    check(count_of("CreateFile lock share=0 VERBATIM") == 1 && count_of("CreateFile") == 1);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_G2_the_job_is_ours_alone_and_lets_nobody_go),
        TEST(test_G2_where_a_start_in_the_job_is_refused_it_is_entered_before_anything_runs),
        TEST(test_G2_what_cannot_enter_the_job_never_runs),
        TEST(test_G2_a_job_that_we_cannot_leave_is_told),
        TEST(test_G4_first_an_interrupt_then_break_and_the_windows_in_the_middle_of_the_grace),
        TEST(test_G4_without_a_console_the_windows_are_asked_at_once),
        TEST(test_G4_windows_are_asked_to_close_once),
        TEST(test_G4_who_is_at_the_console_no_more_is_no_stranger_there),
        TEST(test_E6_a_daemon_that_was_never_born_keeps_no_lock),
        TEST(test_E6_a_daemon_that_was_born_outlives_who_started_it),
        TEST(test_G2_a_daemon_leaves_the_job_of_who_starts_it_if_it_may),
        TEST(test_G7_what_we_start_shows_no_window),
        TEST(test_G3_asking_takes_no_right_to_end),
        TEST(test_A9_G3_whom_we_may_not_ask_is_not_dead),
        TEST(test_G5_the_pipe_is_for_our_user_and_this_machine),
        TEST(test_G5_a_name_that_another_has_taken_is_not_shared),
        TEST(test_G5_a_client_says_nothing_to_a_server_of_another_user),
        TEST(test_G5_a_server_learns_the_client_s_user_before_a_word),
        TEST(test_G5_what_the_system_refuses_once_makes_no_endpoint_deaf),
        TEST(test_G1_a_file_is_replaced_whole_and_again_where_somebody_looks_at_it),
        TEST(test_G1_a_lock_is_open_and_shared_with_nobody),
    };
    if (argc > 1 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    if (argc > 1 && strcmp(argv[1], "nothing") == 0)
        return 0;
    if (argc > 2 && strcmp(argv[1], "cut-off") == 0)
        return child_is_cut_off(argv[2]);
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
