/* Directories, files and locks. */
#include "tap.h"

#include <aclapi.h>
#include <sddl.h>

static void test_instance_path_is_below_local_data(void) {
    char path[OS_PATH_MAX];
    struct error err = {0};
    check(os_instance_path(NULL, "8000-9500", path, sizeof path, &err) == 0);
    check(strstr(path, "\\AppData\\Local\\tether\\8000-9500"));
    check(os_instance_path("relative", "8000-9500", path, sizeof path, &err) == UV_EINVAL);
    check(os_instance_path(NULL, "..\\x", path, sizeof path, &err) == UV_EINVAL);
    check(path[0] == '\0');
}

/* Owner and list of a directory or file, as text to be freed. */
static char *describe(const wchar_t *path) {
    PSECURITY_DESCRIPTOR descriptor = NULL;
    SECURITY_INFORMATION what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    wchar_t copy[2 * MAX_PATH];
    char *text = NULL;
    wcsncpy(copy, path, 2 * MAX_PATH - 1);
    copy[2 * MAX_PATH - 1] = 0;
    if (GetNamedSecurityInfoW(copy, SE_FILE_OBJECT, what, NULL, NULL, NULL, NULL, &descriptor) == 0)
        ConvertSecurityDescriptorToStringSecurityDescriptorA(descriptor, 1, what, &text, NULL);
    LocalFree(descriptor);
    return text;
}

static void test_directory_is_private(void) {
    struct os_dir dir;
    wchar_t wide[OS_PATH_MAX];
    char *text;
    check(tap_open_dir(&dir, "private") == 0);
    MultiByteToWideChar(CP_UTF8, 0, dir.path, -1, wide, OS_PATH_MAX);
    text = describe(wide);
    os_dir_finish(&dir);
    check(text);
    printf("# %s\n", text);
    check(strncmp(text, "O:S-1-5-21-", 11) == 0);
    check(!strstr(text, ";;;WD)") && !strstr(text, ";;;BU)") && !strstr(text, ";;;AU)"));
    LocalFree(text);
}

static void set_list(const char *path, const char *sddl) {
    wchar_t wide[OS_PATH_MAX];
    PSECURITY_DESCRIPTOR descriptor = NULL;
    BOOL present, usual;
    PACL list = NULL;
    MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, OS_PATH_MAX);
    ConvertStringSecurityDescriptorToSecurityDescriptorA(sddl, 1, &descriptor, NULL);
    GetSecurityDescriptorDacl(descriptor, &present, &list, &usual);
    SetNamedSecurityInfoW(wide, SE_FILE_OBJECT,
                          DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, NULL,
                          NULL, list, NULL);
    LocalFree(descriptor);
}

static void test_directory_open_to_others_is_refused(void) {
    struct os_dir dir;
    struct error err = {0};
    char path[OS_PATH_MAX];
    check(tap_open_dir(&dir, "shared") == 0);
    strcpy(path, dir.path);
    os_dir_finish(&dir);
    set_list(path, "D:P(A;OICI;FA;;;WD)");
    int rc = os_dir_open(&dir, path, true, &err);
    set_list(path, "D:P(A;OICI;FA;;;OW)");
    printf("# %s\n", err.message);
    check(rc == UV_EPERM);
    check(strstr(err.message, "open to other users"));
}

static void test_files_of_any_length_and_name(void) {
    static const char name[] = "\xd0\xbf\xd1\x80\xd0\xb8 \xf0\x9f\x98\x80.json";
    struct os_dir dir, deep;
    struct error err = {0};
    char level[120], got[64];
    size_t length = 0;
    check(tap_open_dir(&dir, "deep") == 0);
    memset(level, 'x', sizeof level - 1);
    level[sizeof level - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        check(os_dir_enter(&deep, &dir, level, true, &err) == 0);
        os_dir_finish(&dir);
        dir = deep;
    }
    printf("# %d characters\n", (int)strlen(dir.path));
    check(strlen(dir.path) > 450);
    check(os_file_write(&dir, name, "abc", 3, &err) == 0);
    check(os_file_write(&dir, name, "defg", 4, &err) == 0);
    check(os_file_read(&dir, name, got, sizeof got, &length) == 0);
    check(length == 4 && strcmp(got, "defg") == 0);
    check(os_file_read(&dir, name, got, 4, &length) == UV_EFBIG);
    check(os_file_remove(&dir, name) == 0);
    check(os_file_remove(&dir, name) == 0);
    check(os_file_read(&dir, name, got, sizeof got, &length) == UV_ENOENT);
    os_dir_finish(&dir);
}

static void test_names_that_are_not_plain(void) {
    static const char *const names[] = {"",    ".",   "..",       "a\\b", "a/b",   "a:b", "nul",
                                        "Aux", "x. ", "com1.txt", "a*",   "x\x01", "x."};
    struct os_dir dir;
    bool refused = true;
    check(tap_open_dir(&dir, "names") == 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (os_file_write(&dir, names[i], "x", 1, NULL) != UV_EINVAL) {
            printf("# %s\n", names[i]);
            refused = false;
        }
    check(os_file_write(&dir, "console.log", "x", 1, NULL) == 0);
    os_dir_finish(&dir);
    check(refused);
}

struct names {
    int count, temporary;
};

static bool count_name(const char *name, void *arg) {
    struct names *names = arg;
    names->count++;
    names->temporary += os_file_is_temporary(name);
    return true;
}

static void test_replacing_while_others_read(void) {
    struct os_dir dir;
    wchar_t path[OS_PATH_MAX];
    struct error err = {0};
    struct names names = {0};
    char got[16];
    check(tap_open_dir(&dir, "replace") == 0);
    check(os_file_write(&dir, "state.json", "one", 3, &err) == 0);
    MultiByteToWideChar(CP_UTF8, 0, dir.path, -1, path, OS_PATH_MAX);
    wcscat(path, L"\\state.json");
    HANDLE reader = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                                OPEN_EXISTING, 0, NULL);
    check(reader != INVALID_HANDLE_VALUE);
    int rc = os_file_write(&dir, "state.json", "two", 3, &err);
    CloseHandle(reader);
    printf("# with an open reader: %s\n", rc < 0 ? err.message : "replaced");
    check(os_file_write(&dir, "state.json", "three", 5, &err) == 0);
    check(os_file_read(&dir, "state.json", got, sizeof got, NULL) == 0);
    check(strcmp(got, "three") == 0);
    check(os_dir_each(&dir, count_name, &names) == 0);
    os_dir_finish(&dir);
    check(names.count == 1 && names.temporary == 0);
}

static void test_a_log_grows_and_is_renamed_while_open(void) {
    struct os_dir dir;
    os_handle log, again;
    uint64_t size = 9;
    char got[16];
    check(tap_open_dir(&dir, "log") == 0);
    check(os_file_append(&dir, "x.log", &log, &size) == 0 && size == 0);
    check(os_write(log, "one\n", 4) == 0);
    check(os_file_append(&dir, "x.log", &again, &size) == 0 && size == 4);
    check(os_write(again, "two\n", 4) == 0);
    check(os_write(log, "three\n", 6) == 0);
    check(os_file_rename(&dir, "x.log", "x.log.1") == 0);
    check(os_file_read(&dir, "x.log.1", got, sizeof got, NULL) == 0);
    check(strcmp(got, "one\ntwo\nthree\n") == 0);
    os_handle_close(&log);
    os_handle_close(&again);
    check(os_file_read(&dir, "x.log", got, sizeof got, NULL) == UV_ENOENT);
    check(os_file_append(&dir, "..", &log, &size) == UV_EINVAL);
    os_dir_finish(&dir);
}

static void test_a_directory_is_no_file(void) {
    struct os_dir dir, below;
    os_handle log;
    uint64_t size;
    char got[16];
    check(tap_open_dir(&dir, "kinds") == 0);
    check(os_dir_enter(&below, &dir, "x", true, NULL) == 0);
    os_dir_finish(&below);
    check(os_file_read(&dir, "x", got, sizeof got, NULL) == UV_EPERM);
    check(os_file_append(&dir, "x", &log, &size) == UV_EPERM);
    check(os_file_write(&dir, "f", "x", 1, NULL) == 0);
    check(os_dir_enter(&below, &dir, "f", true, NULL) == UV_ENOTDIR);
    check(os_dir_enter(&below, &dir, "none", false, NULL) == UV_ENOENT);
    os_dir_finish(&dir);
}

static DWORD WINAPI make_file(void *arg) {
    Sleep(200);
    os_file_write(arg, "news", "x", 1, NULL);
    return 0;
}

static void test_waiting_for_a_change(void) {
    struct os_dir dir;
    check(tap_open_dir(&dir, "wait") == 0);
    HANDLE thread = CreateThread(NULL, 0, make_file, &dir, 0, NULL);
    int64_t before = os_clock_ms();
    os_dir_wait(&dir, 20000);
    int64_t took = os_clock_ms() - before;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    os_dir_finish(&dir);
    check(took < 15000);
}

/* ---- locks ---- */

static void test_lock_excludes(void) {
    struct os_dir dir;
    struct error err = {0};
    os_handle lock, second;
    check(tap_open_dir(&dir, "lock") == 0);
    check(os_lock_is_held(&dir, "lock") == 0);
    check(os_lock_take(&lock, &dir, "lock", &err) == 0);
    check(os_lock_is_held(&dir, "lock") == 1);
    char text[OS_LOCK_TEXT_MAX];
    os_lock_text(lock, text);
    check(strchr(text, ':'));
    check(os_lock_is_current(lock, &dir, "lock") && !os_lock_is_current(lock, &dir, "other"));
    check(os_lock_take(&second, &dir, "lock", &err) == UV_EAGAIN);
    check(strstr(err.message, "already runs"));
    check(second == OS_NO_HANDLE);
    os_handle_close(&lock);
    check(os_lock_is_held(&dir, "lock") == 0);
    check(os_lock_take(&lock, &dir, "lock", &err) == 0);
    os_handle_close(&lock);
    os_dir_finish(&dir);
}

static volatile LONG asking;

static DWORD WINAPI ask_all_the_time(void *arg) {
    while (asking) {
        os_lock_is_held(arg, "asked");
        Sleep(1);
    }
    return 0;
}

static void test_asking_makes_no_taker_fail(void) {
    struct os_dir dir;
    HANDLE threads[2];
    os_handle lock;
    int failures = 0;
    check(tap_open_dir(&dir, "lock") == 0);
    asking = 1;
    for (int i = 0; i < 2; i++)
        threads[i] = CreateThread(NULL, 0, ask_all_the_time, &dir, 0, NULL);
    for (int i = 0; i < 200; i++) {
        struct error err = {0};
        if (os_lock_take(&lock, &dir, "asked", &err) < 0) {
            printf("# %d: %s\n", err.code, err.message);
            failures++;
        }
        os_handle_close(&lock);
    }
    asking = 0;
    WaitForMultipleObjects(2, threads, TRUE, INFINITE);
    for (int i = 0; i < 2; i++)
        CloseHandle(threads[i]);
    os_dir_finish(&dir);
    printf("# %d of 200 failed\n", failures);
    check(failures == 0);
}

/* Holds the inherited lock, tells whether it could adopt it, until it is ended. */
static int child_adopts(const char *state, const char *handle, const char *event) {
    struct os_dir dir;
    struct error err = {0};
    os_handle lock = (os_handle)strtoll(handle, NULL, 10);
    HANDLE done = OpenEventA(EVENT_MODIFY_STATE, FALSE, event);
    strcpy(tap_state, state);
    if (tap_open_dir(&dir, "handed") < 0)
        return 3;
    if (os_lock_adopt(lock, &dir, "other", &err) == 0)
        return 4;
    if (os_lock_adopt(lock, &dir, "lock", &err) < 0)
        return 5;
    SetEvent(done);
    Sleep(INFINITE);
    return 0;
}

static void test_lock_is_handed_down(void) {
    struct os_dir dir;
    os_handle lock, other;
    PROCESS_INFORMATION child;
    char words[512], event[64];
    /* A state directory that a command line in the code page carries. */
    snprintf(tap_state, sizeof tap_state, "C:\\tether-handed-%lu", GetCurrentProcessId());
    check(tap_open_dir(&dir, "handed") == 0);
    check(os_lock_take(&other, &dir, "other", NULL) == 0);
    check(os_lock_take(&lock, &dir, "lock", NULL) == 0);
    snprintf(event, sizeof event, "tether-adopted-%lu", GetCurrentProcessId());
    snprintf(words, sizeof words, "adopt %s %lld %s", tap_state, (long long)lock, event);
    HANDLE adopted = CreateEventA(NULL, TRUE, FALSE, event);
    check(tap_child(&child, words, (HANDLE)lock));
    HANDLE either[] = {adopted, child.hProcess};
    DWORD which = WaitForMultipleObjects(2, either, FALSE, 30000);
    os_handle_close(&lock);
    int held = os_lock_is_held(&dir, "lock");
    tap_end(&child);
    int64_t since = os_clock_ms();
    while (os_lock_is_held(&dir, "lock") == 1 && os_clock_ms() - since < 10000)
        Sleep(1);
    printf("# free %d ms after the end of the holder\n", (int)(os_clock_ms() - since));
    int after = os_lock_is_held(&dir, "lock");
    os_handle_close(&other);
    CloseHandle(adopted);
    os_dir_finish(&dir);
    tap_state[0] = '\0';
    check(which == WAIT_OBJECT_0);
    check(held == 1);
    check(after == 0);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_instance_path_is_below_local_data),
        TEST(test_directory_is_private),
        TEST(test_directory_open_to_others_is_refused),
        TEST(test_files_of_any_length_and_name),
        TEST(test_names_that_are_not_plain),
        TEST(test_replacing_while_others_read),
        TEST(test_a_log_grows_and_is_renamed_while_open),
        TEST(test_a_directory_is_no_file),
        TEST(test_waiting_for_a_change),
        TEST(test_lock_excludes),
        TEST(test_asking_makes_no_taker_fail),
        TEST(test_lock_is_handed_down),
    };
    if (argc == 5 && strcmp(argv[1], "adopt") == 0)
        return child_adopts(argv[2], argv[3], argv[4]);
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
