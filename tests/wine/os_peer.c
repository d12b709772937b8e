/* Who is at the other end of a connection and who has a port, where the system names processes that
 * it does not let us ask: by a table of connections as Windows tells it. */
#include "stand_in.h"

#include <iphlpapi.h>

#include "daemon/ports.h"
#include "protocol/own_user.h"

enum { PORT = 4711, ROWS = 4, NOBODY = 0x7ffffffc };

struct row {
    uint16_t local, remote; /* both on 127.0.0.1 */
    DWORD state, pid;
};

static struct {
    bool windows; /* the table is that of the test, and is read as on Windows */
    bool no_token;
    int bind_error;
    DWORD denied; /* who may not be opened */
    struct row rows[ROWS];
} want;

/* ---- the system ---- */

REAL("kernel32", HANDLE, OpenProcess, DWORD, BOOL, DWORD)
static HANDLE WINAPI my_OpenProcess(DWORD access, BOOL inherit, DWORD pid) {
    if (want.denied && pid == want.denied) {
        SetLastError(ERROR_ACCESS_DENIED);
        return NULL;
    }
    return real_OpenProcess()(access, inherit, pid);
}
REPLACE(OpenProcess);

REAL("advapi32", BOOL, OpenProcessToken, HANDLE, DWORD, PHANDLE)
static BOOL WINAPI my_OpenProcessToken(HANDLE process, DWORD access, PHANDLE token) {
    return want.no_token ? refuse(ERROR_ACCESS_DENIED)
                         : real_OpenProcessToken()(process, access, token);
}
REPLACE(OpenProcessToken);

REAL("ws2_32", int, bind, SOCKET, const struct sockaddr *, int)
static int WINAPI my_bind(SOCKET opened, const struct sockaddr *address, int length) {
    note("bind");
    if (want.bind_error) {
        WSASetLastError(want.bind_error);
        return SOCKET_ERROR;
    }
    return real_bind()(opened, address, length);
}
REPLACE(bind);

REAL("ws2_32", int, setsockopt, SOCKET, int, int, const char *, int)
static int WINAPI my_setsockopt(SOCKET opened, int level, int name, const char *value, int length) {
    if (level == SOL_SOCKET && name == SO_EXCLUSIVEADDRUSE)
        note("exclusive");
    if (level == SOL_SOCKET && name == SO_REUSEADDR)
        note("shared");
    return real_setsockopt()(opened, level, name, value, length);
}
REPLACE(setsockopt);

REAL("iphlpapi", DWORD, GetExtendedTcpTable, PVOID, PDWORD, BOOL, ULONG, TCP_TABLE_CLASS, ULONG)
DWORD WINAPI GetExtendedTcpTable(PVOID out, PDWORD size, WINBOOL sorted, ULONG family,
                                 TCP_TABLE_CLASS kind, ULONG reserved) {
    MIB_TCPTABLE_OWNER_PID *table = out;
    if (!want.windows)
        return real_GetExtendedTcpTable()(out, size, sorted, family, kind, reserved);
    memset(out, 0, *size);
    for (int i = 0; family == AF_INET && i < ROWS && want.rows[i].local; i++)
        table->table[table->dwNumEntries++] =
            (MIB_TCPROW_OWNER_PID){.dwState = want.rows[i].state,
                                   .dwLocalAddr = htonl(INADDR_LOOPBACK),
                                   .dwLocalPort = htons(want.rows[i].local),
                                   .dwRemoteAddr = htonl(INADDR_LOOPBACK),
                                   .dwRemotePort = htons(want.rows[i].remote),
                                   .dwOwningPid = want.rows[i].pid};
    return NO_ERROR;
}

/* What tells Wine from Windows is found in this module. */
REAL("kernel32", HMODULE, GetModuleHandleW, LPCWSTR)
static HMODULE WINAPI my_GetModuleHandleW(LPCWSTR name) {
    if (want.windows && name && wcscmp(name, L"ntdll.dll") == 0)
        return NULL;
    return real_GetModuleHandleW()(name);
}
REPLACE(GetModuleHandleW);

/* A process that has ended, but whose pid is not another's while its handle is open. */
static DWORD dead_process(PROCESS_INFORMATION *child) {
    if (!tap_child(child, "nothing", NULL))
        return 0;
    WaitForSingleObject(child->hProcess, INFINITE);
    return child->dwProcessId;
}

/* ---- the other end of a connection ---- */

struct connection {
    uv_loop_t loop;
    uv_tcp_t client, server;
    uint16_t client_port, server_port;
};

static int connection_open(struct connection *connection) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    os_handle listener;
    int rc = os_listen(&listener, 0, 4, NULL);
    SOCKET client = socket(AF_INET, SOCK_STREAM, 0), server;
    if (rc < 0)
        return rc;
    os_socket_port(listener, &connection->server_port);
    at.sin_port = htons(connection->server_port);
    rc = connect(client, (struct sockaddr *)&at, sizeof at);
    server = accept((SOCKET)listener, NULL, NULL);
    closesocket((SOCKET)listener);
    os_socket_port((os_handle)client, &connection->client_port);
    uv_loop_init(&connection->loop);
    uv_tcp_init(&connection->loop, &connection->client);
    uv_tcp_init(&connection->loop, &connection->server);
    if (rc == 0)
        rc = uv_tcp_open(&connection->client, client);
    return rc < 0 ? rc : uv_tcp_open(&connection->server, server);
}

static void connection_close(struct connection *connection) {
    uv_close((uv_handle_t *)&connection->client, NULL);
    uv_close((uv_handle_t *)&connection->server, NULL);
    uv_run(&connection->loop, UV_RUN_DEFAULT);
    uv_loop_close(&connection->loop);
}

/* What either end makes of the other, if the system says that this process has it. */
static int judged(const struct connection *connection, DWORD pid, int *by_client) {
    int by_server;
    want.windows = true;
    want.rows[0] =
        (struct row){connection->client_port, connection->server_port, MIB_TCP_STATE_ESTAB, pid};
    by_server = own_client_check(&connection->server);
    want.rows[0] =
        (struct row){connection->server_port, connection->client_port, MIB_TCP_STATE_ESTAB, pid};
    *by_client = own_server_check(&connection->client);
    want.rows[0] = (struct row){.local = 0};
    want.windows = want.no_token = false;
    want.denied = 0;
    return by_server;
}

static void test_G6_the_other_end_is_ours_where_its_process_is(void) {
    struct connection connection;
    int by_client, of_nobody;
    check(os_user_self() != OS_USER_UNKNOWN && connection_open(&connection) == 0);
    int by_server = judged(&connection, GetCurrentProcessId(), &by_client);
    int by_nobody = judged(&connection, NOBODY, &of_nobody);
    connection_close(&connection);
    check(by_server == 0 && by_client == 0);
    check(by_nobody == UV_ECONNRESET && of_nobody == UV_ECONNRESET);
}

/* Windows lets nobody but an administrator ask the processes of other users. */
static void test_G6_whom_we_may_not_ask_is_another(void) {
    struct connection connection;
    int client_of_denied, client_without_token;
    check(os_user_self() != OS_USER_UNKNOWN && connection_open(&connection) == 0);
    want.denied = GetCurrentProcessId();
    int of_denied = judged(&connection, GetCurrentProcessId(), &client_of_denied);
    want.no_token = true;
    int without_token = judged(&connection, GetCurrentProcessId(), &client_without_token);
    connection_close(&connection);
    check(of_denied == UV_EPERM && without_token == UV_EPERM);
    check(client_of_denied == UV_EPERM && client_without_token == UV_EPERM);
}

/* ---- what is left of connections ---- */

static int tried(DWORD state, DWORD pid, int *holder) {
    struct os_port_holder found;
    struct error err = {0};
    want.windows = true;
    want.bind_error = WSAEADDRINUSE;
    want.rows[0] = (struct row){PORT, 0, state, pid};
    int rc = os_port_try(PORT, &err);
    *holder = os_port_holder(PORT, &found);
    printf("# state %lu of %s: %s\n", state, pid == 0 ? "nobody" : "a process", err.message);
    want.rows[0] = (struct row){.local = 0};
    want.bind_error = 0;
    want.windows = false;
    return rc;
}

static void test_A6_A11_what_is_left_of_connections_is_no_holder(void) {
    static const DWORD left[] = {MIB_TCP_STATE_FIN_WAIT1, MIB_TCP_STATE_FIN_WAIT2,
                                 MIB_TCP_STATE_CLOSE_WAIT, MIB_TCP_STATE_CLOSING,
                                 MIB_TCP_STATE_LAST_ACK};
    PROCESS_INFORMATION child;
    DWORD dead = dead_process(&child);
    int holder, wrong = 0;
    check(dead != 0);
    int waiting = tried(MIB_TCP_STATE_TIME_WAIT, 0, &holder);
    wrong += holder != UV_ENOENT;
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        wrong += tried(left[i], dead, &holder) != UV_EAGAIN;
        wrong += holder != UV_ENOENT;
    }
    tap_end(&child);
    check(waiting == UV_EAGAIN && wrong == 0);
}

static void test_A6_A11_a_process_that_may_have_the_port_is_no_leftover(void) {
    PROCESS_INFORMATION child;
    DWORD dead = dead_process(&child);
    int holder[5];
    check(dead != 0);
    int alive = tried(MIB_TCP_STATE_CLOSE_WAIT, GetCurrentProcessId(), &holder[0]);
    int inherited = tried(MIB_TCP_STATE_LISTEN, dead, &holder[1]);
    int in_use = tried(MIB_TCP_STATE_ESTAB, dead, &holder[2]);
    want.denied = dead; /* it may live as another user's */
    int hidden = tried(MIB_TCP_STATE_CLOSE_WAIT, dead, &holder[3]);
    want.denied = 0;
    int untold = tried(0, 0, &holder[4]);
    tap_end(&child);
    check(alive == UV_EADDRINUSE && holder[0] == 0);
    check(inherited == UV_EADDRINUSE && holder[1] == 0);
    check(in_use == UV_EADDRINUSE && hidden == UV_EADDRINUSE && untold == UV_EADDRINUSE);
}

/* ---- holders that may not be asked ---- */

static void test_A12_a_holder_of_another_user_is_named_and_no_more(void) {
    struct options options = {.http_port = PORT};
    struct os_port_holder holder = {.count = 0};
    struct ports ports;
    struct error err = {0};
    PROCESS_INFORMATION child;
    char name[64];
    check(tap_child(&child, "sleep", NULL));
    ports_init(&ports, &options);
    want.windows = true;
    want.bind_error = WSAEADDRINUSE;
    want.denied = child.dwProcessId;
    want.rows[0] = (struct row){PORT, 0, MIB_TCP_STATE_LISTEN, child.dwProcessId};
    int rc = os_port_holder(PORT, &holder);
    bool is_free = ports_are_free(&ports, &err);
    want.rows[0] = (struct row){.local = 0};
    want.bind_error = 0;
    want.denied = 0;
    want.windows = false;
    tap_end(&child);
    printf("# %s\n", err.message);
    snprintf(name, sizeof name, "process %lu (os_peer.exe)", child.dwProcessId);
    check(rc == 0 && holder.identity.pid == 0 && holder.user == OS_USER_UNKNOWN);
    check(!is_free && err.code == UV_EADDRINUSE && strstr(err.message, name));
}

/* ---- ports ---- */

static void test_G6_listeners_are_exclusive(void) {
    os_handle listener;
    uint16_t port = 0;
    record();
    int rc = os_listen(&listener, 0, 4, NULL);
    os_socket_port(listener, &port);
    os_handle_close(&listener);
    int tried = os_port_try(port, NULL);
    show();
    check(rc == 0 && tried == 0);
    check(count_of("exclusive") == count_of("bind") && count_of("bind") >= 4);
    check(count_of("shared") == 0);
}

static void test_G1_a_port_that_the_system_keeps_is_explained(void) {
    struct error err = {0};
    want.windows = true;
    want.bind_error = WSAEACCES;
    want.rows[0] = (struct row){PORT, 0, MIB_TCP_STATE_LISTEN, GetCurrentProcessId()};
    int kept = os_port_try(PORT - 1, &err);
    printf("# %s\n", err.message);
    bool explained = strstr(err.message, "Hyper-V") && strstr(err.message, "excludedportrange");
    int held = os_port_try(PORT, &err); /* another's exclusive port is refused in the same way */
    want.rows[0] = (struct row){.local = 0};
    want.bind_error = 0;
    want.windows = false;
    check(kept == UV_EACCES && explained);
    check(held == UV_EADDRINUSE);
}

static void test_G1_the_holder_of_a_port_is_named(void) {
    struct os_port_holder holder, nobody;
    want.windows = true;
    want.rows[0] = (struct row){PORT, 0, MIB_TCP_STATE_LISTEN, GetCurrentProcessId()};
    int rc = os_port_holder(PORT, &holder), none = os_port_holder(PORT + 1, &nobody);
    want.rows[0] = (struct row){.local = 0};
    want.windows = false;
    printf("# %s\n", holder.command);
    check(rc == 0 && none == UV_ENOENT);
    check(holder.identity.pid == GetCurrentProcessId() && holder.listening);
    check(strstr(holder.executable, "os_peer.exe") && strstr(holder.command, "os_peer"));
    check(holder.user == os_user_self());
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_G6_the_other_end_is_ours_where_its_process_is),
        TEST(test_G6_whom_we_may_not_ask_is_another),
        TEST(test_A6_A11_what_is_left_of_connections_is_no_holder),
        TEST(test_A6_A11_a_process_that_may_have_the_port_is_no_leftover),
        TEST(test_A12_a_holder_of_another_user_is_named_and_no_more),
        TEST(test_G6_listeners_are_exclusive),
        TEST(test_G1_a_port_that_the_system_keeps_is_explained),
        TEST(test_G1_the_holder_of_a_port_is_named),
    };
    if (argc > 1 && strcmp(argv[1], "nothing") == 0)
        return 0;
    if (argc > 1 && strcmp(argv[1], "sleep") == 0)
        Sleep(INFINITE);
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
