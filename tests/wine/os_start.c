/* Starting programs from places that Wine does not know: a package, an editor without a terminal;
 * and what a program makes of what it was given. */
#include "stand_in.h"

#include "os/os_spawn.h"

enum { DESKTOP_APP_POLICY = 0x20012, NO_PACKAGE = 15700 };

static struct {
    bool packaged, no_policy, clock_set_back;
    DWORD policy; /* that the next process is started with */
    int lost;     /* so many more are */
} want;

/* ---- the system ---- */

LONG WINAPI GetCurrentPackageFullName(UINT32 *length, PWSTR name);
static LONG WINAPI my_GetCurrentPackageFullName(UINT32 *length, PWSTR name) {
    (void)name;
    *length = 40;
    return want.packaged ? ERROR_INSUFFICIENT_BUFFER : NO_PACKAGE;
}
REPLACE(GetCurrentPackageFullName);

REAL("kernel32", BOOL, UpdateProcThreadAttribute, LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR,
     PVOID, SIZE_T, PVOID, PSIZE_T)
static BOOL WINAPI my_UpdateProcThreadAttribute(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags,
                                                DWORD_PTR attribute, PVOID value, SIZE_T size,
                                                PVOID previous, PSIZE_T returned) {
    if (attribute != DESKTOP_APP_POLICY)
        return real_UpdateProcThreadAttribute()(list, flags, attribute, value, size, previous,
                                                returned);
    want.policy = size == sizeof(DWORD) ? *(DWORD *)value : 0;
    return TRUE;
}
REPLACE(UpdateProcThreadAttribute);

REAL("kernel32", BOOL, CreateProcessW, LPCWSTR, LPWSTR, LPSECURITY_ATTRIBUTES,
     LPSECURITY_ATTRIBUTES, BOOL, DWORD, LPVOID, LPCWSTR, LPSTARTUPINFOW, LPPROCESS_INFORMATION)
static BOOL WINAPI my_CreateProcessW(LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process,
                                     LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags,
                                     LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW startup,
                                     LPPROCESS_INFORMATION started) {
    DWORD policy = want.policy;
    want.policy = 0;
    note("CreateProcess policy=%lx", policy);
    if (policy && want.no_policy)
        return refuse(ERROR_INVALID_PARAMETER);
    if (want.lost-- > 0)
        return refuse(ERROR_INTERNAL_ERROR);
    return real_CreateProcessW()(program, line, process, thread, inherit, flags, environment,
                                 directory, startup, started);
}
REPLACE(CreateProcessW);

/* As if the clock had been set back by an hour between the start of whoever is asked and ours. */
REAL("kernel32", BOOL, GetProcessTimes, HANDLE, LPFILETIME, LPFILETIME, LPFILETIME, LPFILETIME)
static BOOL WINAPI my_GetProcessTimes(HANDLE process, LPFILETIME created, LPFILETIME exited,
                                      LPFILETIME kernel, LPFILETIME user) {
    BOOL done = real_GetProcessTimes()(process, created, exited, kernel, user);
    if (done && want.clock_set_back && GetProcessId(process) != GetCurrentProcessId())
        created->dwHighDateTime += 9; /* some 64 minutes */
    return done;
}
REPLACE(GetProcessTimes);

/* ---- packages ---- */

/* What is started in a package sees folders of its own in the place of the user's. */
static void test_G2_a_daemon_leaves_the_package_of_who_starts_it(void) {
    check(spawn_self(true) == 0 && count_of("policy=0\n") == 1 && count_of("CreateProcess") == 1);
    want.packaged = true;
    int daemon = spawn_self(true), policies = count_of("policy=1\n");
    int launch = spawn_self(false);
    want.packaged = false;
    check(daemon == 0 && policies == 1 && launch == 0);
    check(count_of("policy=1\n") == 1 && count_of("CreateProcess") == 1);
}

static void test_G2_where_no_package_may_be_left_it_is_started_in_it(void) {
    want.packaged = want.no_policy = true;
    int rc = spawn_self(true);
    want.packaged = want.no_policy = false;
    check(rc == 0 && in_order("policy=1\n", "policy=0\n") && count_of("policy=0\n") == 1);
}

/* ---- what the system loses ---- */

static void test_D6_a_process_that_the_system_loses_is_started_again_and_not_for_ever(void) {
    want.lost = 2;
    check(spawn_self(false) == 0 && count_of("CreateProcess") == 3);
    want.lost = 100;
    check(spawn_self(false) < 0 && count_of("CreateProcess") < 10);
    want.lost = 0;
}

/* ---- standard error ---- */

/* An editor without a terminal may have the number of a handle that is none. */
static void test_D1_a_standard_error_that_is_none_is_an_empty_one(void) {
    HANDLE before = GetStdHandle(STD_ERROR_HANDLE);
    SetStdHandle(STD_ERROR_HANDLE, (HANDLE)(uintptr_t)0xfffff0);
    int rc = spawn_self(false);
    SetStdHandle(STD_ERROR_HANDLE, before);
    check(rc == 0);
}

/* ---- sockets that are handed down ---- */

static int child_takes_listeners(void) {
    os_handle listeners[2];
    uint16_t port = 0;
    want.clock_set_back = true;
    size_t count = os_inherited_listeners(listeners, 2);
    if (count == 1)
        os_socket_port(listeners[0], &port);
    return port;
}

/* The port that a child finds who is told that the sockets come from this process. */
static DWORD port_of_child(HANDLE listener, DWORD from) {
    PROCESS_INFORMATION child;
    char text[32];
    DWORD port = 0;
    snprintf(text, sizeof text, "%lu", from);
    SetEnvironmentVariableA("TETHER_LISTEN_FROM", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)(uintptr_t)listener);
    SetEnvironmentVariableA("TETHER_LISTEN_HANDLES", text);
    if (tap_child(&child, "listen", listener)) {
        WaitForSingleObject(child.hProcess, INFINITE);
        GetExitCodeProcess(child.hProcess, &port);
        tap_end(&child);
    }
    SetEnvironmentVariableA("TETHER_LISTEN_FROM", NULL);
    SetEnvironmentVariableA("TETHER_LISTEN_HANDLES", NULL);
    return port;
}

static void test_F5_sockets_are_taken_also_where_the_clock_was_set_back(void) {
    os_handle listener;
    uint16_t port = 0;
    check(os_listen(&listener, 0, 4, NULL) == 0 && os_socket_port(listener, &port) == 0);
    DWORD ours = port_of_child((HANDLE)listener, GetCurrentProcessId());
    DWORD anothers = port_of_child((HANDLE)listener, GetCurrentProcessId() + 4);
    closesocket((SOCKET)listener);
    check(ours == port && anothers == 0);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_G2_a_daemon_leaves_the_package_of_who_starts_it),
        TEST(test_G2_where_no_package_may_be_left_it_is_started_in_it),
        TEST(test_D6_a_process_that_the_system_loses_is_started_again_and_not_for_ever),
        TEST(test_D1_a_standard_error_that_is_none_is_an_empty_one),
        TEST(test_F5_sockets_are_taken_also_where_the_clock_was_set_back),
    };
    if (argc > 1 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    if (argc > 1 && strcmp(argv[1], "listen") == 0)
        return child_takes_listeners();
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
