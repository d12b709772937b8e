/* Ports and sockets. */
#include "tap.h"

#include <ws2tcpip.h>

#include "os/os_loop.h"
#include "os/os_spawn.h"

static uint16_t free_port(void) {
    os_handle listener;
    uint16_t port = 0;
    if (os_listen(&listener, 0, 1, NULL) < 0 || os_socket_port(listener, &port) < 0)
        return 0;
    closesocket((SOCKET)listener);
    return port;
}

static SOCKET listen_on(ULONG address, uint16_t port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    SOCKET opened = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(opened, (struct sockaddr *)&at, sizeof at) < 0 || listen(opened, 4) < 0)
        printf("# listen: %d\n", WSAGetLastError());
    return opened;
}

static void test_a_port_is_free_or_not(void) {
    static const ULONG addresses[] = {INADDR_LOOPBACK, INADDR_ANY};
    struct error err = {0};
    uint16_t port = free_port();
    check(port > 0);
    check(os_port_try(port, &err) == 0);
    check(os_port_try(0, &err) == UV_EINVAL);
    for (int i = 0; i < 2; i++) {
        SOCKET held = listen_on(addresses[i], port);
        int rc = os_port_try(port, &err);
        closesocket(held);
        printf("# %s\n", err.message);
        check(rc == UV_EADDRINUSE);
        check(os_port_try(port, &err) == 0);
    }
}

static void test_our_listener_is_alone(void) {
    struct error err = {0};
    os_handle listener, second;
    uint16_t port = 0;
    check(os_listen(&listener, 0, 4, &err) == 0);
    check(os_socket_port(listener, &port) == 0);
    int rc = os_listen(&second, port, 4, &err);
    closesocket((SOCKET)listener);
    printf("# %s\n", err.message);
    check(rc == UV_EADDRINUSE || rc == UV_EACCES);
    check(second == OS_NO_HANDLE);
}

/* Wine does not name the owner. */
static void test_a_holder_is_found(void) {
    struct os_port_holder holder = {.count = 9};
    os_handle listener;
    uint16_t port = 0;
    check(os_listen(&listener, 0, 4, NULL) == 0);
    check(os_socket_port(listener, &port) == 0);
    int rc = os_port_holder(port, &holder);
    closesocket((SOCKET)listener);
    printf("# %lld %s\n", (long long)holder.identity.pid, holder.executable);
    check(rc == 0 && holder.listening && holder.count == 1);
    if (!GetProcAddress(GetModuleHandleA("ntdll"), "wine_get_version")) {
        check(holder.identity.pid == GetCurrentProcessId());
        check(strstr(holder.executable, "os_port.exe"));
    }
    check(os_port_holder(port, &holder) == UV_ENOENT);
}

static void test_the_user_at_the_other_end(void) {
    os_handle listener;
    uint16_t port = 0;
    uint32_t user = 1, server = 1;
    check(os_listen(&listener, 0, 4, NULL) == 0);
    check(os_socket_port(listener, &port) == 0);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET client = socket(AF_INET, SOCK_STREAM, 0);
    printf("# connecting\n");
    check(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
    int waiting = os_tcp_server_user((os_handle)client, &server); /* nobody has accepted it yet */
    printf("# asked: %d\n", waiting);
    SOCKET accepted = accept((SOCKET)listener, NULL, NULL);
    printf("# accepted\n");
    int rc = os_tcp_peer_user((os_handle)accepted, &user);
    closesocket(client);
    closesocket(accepted);
    closesocket((SOCKET)listener);
    check(rc == 0 && user == os_user_self());
    check(waiting == 0 && server == os_user_self());
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_a_port_is_free_or_not),
        TEST(test_our_listener_is_alone),
        TEST(test_a_holder_is_found),
        TEST(test_the_user_at_the_other_end),
    };
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
