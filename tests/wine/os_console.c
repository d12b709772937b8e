/* G7: what a console takes the bytes for that we write. The consoles are those of children. */
#include "tap.h"

#include "cli/cli.h"

enum { OEM = 437, HELD_MS = 60000 };

/* What a child of ours has found, as its exit code; an error of the system is added to the last
 * two. */
enum found { FINE, WRONG = 40, NO_CHILD, NO_CODE_PAGE = 10000, NO_FILE = 20000 };

static UINT wait_for(PROCESS_INFORMATION *child) {
    DWORD code = NO_CHILD;
    if (WaitForSingleObject(child->hProcess, HELD_MS) == WAIT_OBJECT_0)
        GetExitCodeProcess(child->hProcess, &code);
    tap_end(child);
    return code;
}

/* ---- who speaks ---- */

static bool write_to(DWORD name, const wchar_t *file) {
    HANDLE handle = CreateFileW(file, GENERIC_READ | GENERIC_WRITE,
                                FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    return handle != INVALID_HANDLE_VALUE && SetStdHandle(name, handle);
}

/* A command of tether, with its output and its errors there; then what the console is. */
static int run_command(const wchar_t *output, const wchar_t *errors, UINT expected) {
    char words[] = "tether\0version", *argv[] = {words, words + sizeof "tether", NULL};
    if (!write_to(STD_OUTPUT_HANDLE, output) || !write_to(STD_ERROR_HANDLE, errors))
        return NO_FILE + (int)GetLastError();
    return cli_main(2, argv) == 0 && GetConsoleOutputCP() == expected ? FINE : WRONG;
}

static int child_prints(void) {
    return run_command(L"CONOUT$", L"NUL", CP_UTF8);
}

static int child_complains(void) {
    return run_command(L"NUL", L"CONOUT$", CP_UTF8);
}

static int child_has_pipes(void) {
    return run_command(L"NUL", L"NUL", OEM);
}

static int child_stays(const char *name) {
    int found = run_command(L"CONOUT$", L"CONOUT$", CP_UTF8);
    HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name);
    if (found == FINE && SetEvent(event))
        Sleep(HELD_MS);
    return found;
}

/* ---- who has the console, which stays for it as it was ---- */

/* Starts this program once more, at our console. */
static bool start_here(PROCESS_INFORMATION *child, const char *words) {
    char self[MAX_PATH], line[2 * MAX_PATH];
    STARTUPINFOA startup = {.cb = sizeof startup};
    GetModuleFileNameA(NULL, self, sizeof self);
    snprintf(line, sizeof line, "\"%s\" %s", self, words);
    return CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, child);
}

static int child_lets(const char *words) {
    PROCESS_INFORMATION child;
    if (!SetConsoleOutputCP(OEM) || GetConsoleOutputCP() != OEM)
        return NO_CODE_PAGE + (int)GetLastError();
    if (!start_here(&child, words))
        return NO_CHILD;
    UINT found = wait_for(&child);
    return found != FINE ? (int)found : GetConsoleOutputCP() == OEM ? FINE : WRONG;
}

static BOOL WINAPI take_no_notice(DWORD event) {
    (void)event;
    return TRUE;
}

static int child_interrupts(void) {
    PROCESS_INFORMATION child;
    char name[64], words[96];
    snprintf(name, sizeof name, "tether-stays-%lu", GetCurrentProcessId());
    snprintf(words, sizeof words, "stays %s", name);
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, name);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(take_no_notice, TRUE);
    if (!SetConsoleOutputCP(OEM) || !start_here(&child, words))
        return NO_CHILD;
    HANDLE either[] = {event, child.hProcess};
    bool is_there = WaitForMultipleObjects(2, either, FALSE, HELD_MS) == WAIT_OBJECT_0;
    UINT meanwhile = GetConsoleOutputCP();
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    bool ended = WaitForSingleObject(child.hProcess, HELD_MS) == WAIT_OBJECT_0;
    tap_end(&child);
    CloseHandle(event);
    return is_there && meanwhile == CP_UTF8 && ended && GetConsoleOutputCP() == OEM ? FINE : WRONG;
}

/* ---- the tests ---- */

static UINT at_a_console(const char *words) {
    PROCESS_INFORMATION child;
    UINT found = tap_child(&child, words, NULL) ? wait_for(&child) : NO_CHILD;
    if (found != FINE)
        printf("# %s: %u\n", words, found);
    return found;
}

static void test_G7_a_console_shows_what_is_printed_as_utf8_until_the_end(void) {
    check(at_a_console("lets prints") == FINE);
}

static void test_G7_a_console_shows_errors_alone_as_utf8_too(void) {
    check(at_a_console("lets complains") == FINE);
}

static void test_G7_a_console_that_nothing_is_printed_to_stays_as_it_is(void) {
    check(at_a_console("lets has_pipes") == FINE);
}

static void test_G7_a_console_is_as_it_was_after_an_interrupt(void) {
    check(at_a_console("interrupts") == FINE);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_G7_a_console_shows_what_is_printed_as_utf8_until_the_end),
        TEST(test_G7_a_console_shows_errors_alone_as_utf8_too),
        TEST(test_G7_a_console_that_nothing_is_printed_to_stays_as_it_is),
        TEST(test_G7_a_console_is_as_it_was_after_an_interrupt),
    };
    const char *role = argc > 1 ? argv[1] : "";
    if (strcmp(role, "lets") == 0 && argc > 2)
        return child_lets(argv[2]);
    if (strcmp(role, "prints") == 0)
        return child_prints();
    if (strcmp(role, "complains") == 0)
        return child_complains();
    if (strcmp(role, "has_pipes") == 0)
        return child_has_pipes();
    if (strcmp(role, "stays") == 0 && argc > 2)
        return child_stays(argv[2]);
    if (strcmp(role, "interrupts") == 0)
        return child_interrupts();
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
