/* Ports: tried, taken, and their holders named. */
#include "os/os.h"
#include "os_unit.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* How a child listens. */
struct manner {
    const char *address;
    bool v6only, reuse_port, plain; /* plain: without SO_REUSEADDR */
    bool as_nobody;
    bool child_is_younger; /* by more than the clock of start times can tell */
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t make_address(union address *out, const char *text, uint16_t port) {
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        return sizeof out->v4;
    }
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(port);
    inet_pton(AF_INET6, text, &out->v6.sin6_addr);
    return sizeof out->v6;
}

/* Returns a listening socket or -1. */
static int listen_in_manner(const struct manner *manner, uint16_t port) {
    union address address;
    socklen_t length = make_address(&address, manner->address, port);
    int on = !manner->plain, only = manner->v6only, both = manner->reuse_port;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &both, sizeof both);
    if (address.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    if (bind(fd, &address.any, length) == 0 && listen(fd, 8) == 0)
        return fd;
    close(fd);
    return -1;
}

static int join(uint16_t port) {
    union address address;
    socklen_t length = make_address(&address, "127.0.0.1", port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &address.any, length) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A port that was free in every respect a moment ago. */
static uint16_t free_port(void) {
    uint16_t port = 0;
    do {
        os_handle listener;
        assert_int_equal(os_listen(&listener, 0, 1, NULL), 0);
        assert_int_equal(os_socket_port(listener, &port), 0);
        os_handle_close(&listener);
    } while (os_port_try(port, NULL) != 0);
    return port;
}

static int body_listen(const struct unit_line *line, void *arg) {
    const struct manner *manner = arg;
    char text[16];
    uint16_t port;
    if (manner->as_nobody && (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0))
        return 96;
    int fd = listen_in_manner(manner, 0);
    if (fd < 0 || os_socket_port(fd, &port) < 0) {
        unit_tell(line, "0");
        return 0;
    }
    snprintf(text, sizeof text, "%u", (unsigned)port);
    unit_tell(line, text);
    unit_wait_for_test(line);
    return 0;
}

/* Starts a child that listens, and returns its port, or 0 if it cannot. */
static uint16_t start_listening(struct unit_child *child, unit_body body,
                                const struct manner *manner) {
    char text[16];
    unit_child_start(child, body, (void *)(uintptr_t)manner);
    unit_hear(child, text, sizeof text);
    return (uint16_t)strtoul(text, NULL, 10);
}

static void check_holder(uint16_t port, pid_t pid, unsigned count, bool listening) {
    struct os_port_holder holder;
    struct os_identity identity;
    char link[256] = "", path[32];
    assert_int_equal(os_port_holder(port, &holder), 0);
    assert_int_equal(holder.identity.pid, pid);
    assert_int_equal(os_identity_of(pid, &identity), 0);
    assert_true(holder.identity.start == identity.start);
    assert_int_equal(holder.count, count);
    assert_int_equal(holder.listening, listening);
    snprintf(path, sizeof path, "../%d/exe", (int)pid);
    int proc = open("/proc/self", O_PATH | O_CLOEXEC);
    assert_true(readlinkat(proc, path, link, sizeof link - 1) > 0);
    close(proc);
    assert_string_equal(holder.executable, link);
    assert_non_null(strstr(holder.command, "test_os_port"));
}

/* ---- Each way to listen ---- */

/* F4, A12: busy and named while it lives, free again once it is killed. */
static void held_in_manner(const struct manner *manner) {
    struct unit_child child;
    struct os_port_holder holder;
    struct error err = {0};
    char number[16];
    uint16_t port = start_listening(&child, body_listen, manner);
    if (port == 0) {
        assert_int_equal(unit_child_finish(&child), 0);
        unit_skip("cannot listen on %s here", manner->address);
    }
    snprintf(number, sizeof number, "%u", (unsigned)port);
    assert_int_equal(os_port_try(port, &err), -EADDRINUSE);
    assert_non_null(strstr(err.message, number));
    check_holder(port, child.pid, 1, true);
    assert_int_equal(os_port_holder(port, &holder), 0);
    assert_int_equal(holder.user, geteuid());
    unit_child_kill(&child);
    assert_int_equal(os_port_try(port, NULL), 0);
    assert_int_equal(os_port_holder(port, &holder), -ENOENT);
    assert_int_equal(holder.identity.pid, 0);
}

static void test_held_on_loopback(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "127.0.0.1"});
}

static void test_held_without_reuse(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "127.0.0.1", .plain = true});
}

static void test_held_with_reuse_port(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "127.0.0.1", .reuse_port = true});
}

static void test_held_on_any(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "0.0.0.0"});
}

static void test_held_on_any_of_both_families(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "::"});
}

static void test_held_on_any_v6(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "::", .v6only = true});
}

static void test_held_on_v6_loopback(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "::1", .v6only = true});
}

static void test_held_on_mapped_loopback(void **state) {
    (void)state;
    held_in_manner(&(struct manner){.address = "::ffff:127.0.0.1"});
}

static void test_other_address_is_not_in_the_way(void **state) {
    struct manner manner = {.address = "127.0.0.2"};
    struct unit_child child;
    struct os_port_holder holder;
    (void)state;
    uint16_t port = start_listening(&child, body_listen, &manner);
    assert_int_not_equal(port, 0);
    assert_int_equal(os_port_try(port, NULL), 0);
    assert_int_equal(os_port_holder(port, &holder), -ENOENT);
    assert_int_equal(unit_child_finish(&child), 0);
}

/* ---- Shared, foreign, left over ---- */

static int body_listen_with_child(const struct unit_line *line, void *arg) {
    const struct manner *manner = arg;
    struct timespec two_ticks = {.tv_nsec = 2000000000L / sysconf(_SC_CLK_TCK)};
    char text[32];
    uint16_t port;
    int fd = listen_in_manner(manner, 0);
    CHILD_CHECK(fd >= 0 && os_socket_port(fd, &port) == 0);
    if (manner->child_is_younger)
        nanosleep(&two_ticks, NULL);
    pid_t grandchild = fork();
    if (grandchild == 0) {
        unit_wait_for_test(line);
        _exit(0);
    }
    snprintf(text, sizeof text, "%u %d", (unsigned)port, (int)grandchild);
    unit_tell(line, text);
    pause();
    return 0;
}

/* A11: a port is free only when the last process that has the socket is gone. */
static void inherited_by_grandchild(bool younger) {
    struct manner manner = {.address = "127.0.0.1", .child_is_younger = younger};
    struct unit_child child;
    struct os_port_holder holder;
    char text[32], *end;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    unit_child_start(&child, body_listen_with_child, &manner);
    unit_hear(&child, text, sizeof text);
    uint16_t port = (uint16_t)strtoul(text, &end, 10);
    pid_t grandchild = (pid_t)strtol(end, NULL, 10);
    assert_true(port > 0 && grandchild > 0);
    check_holder(port, child.pid, 2, true);
    int hold = child.hold;
    child.hold = -1;
    unit_child_kill(&child);
    assert_int_equal(os_port_try(port, NULL), -EADDRINUSE);
    check_holder(port, grandchild, 1, true);
    kill(grandchild, SIGKILL);
    assert_int_equal(waitpid(grandchild, NULL, 0), grandchild);
    close(hold);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(os_port_try(port, NULL), 0);
    assert_int_equal(os_port_holder(port, &holder), -ENOENT);
}

static void test_inherited_by_grandchild(void **state) {
    (void)state;
    inherited_by_grandchild(false);
    inherited_by_grandchild(true);
}

static int body_ask_as_nobody(const struct unit_line *line, void *arg) {
    struct os_port_holder holder;
    (void)line;
    CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(os_port_holder(*(uint16_t *)arg, &holder) == 0);
    CHILD_CHECK(holder.identity.pid == 0 && holder.count == 0 && holder.user == 0);
    CHILD_CHECK(holder.listening && !holder.executable[0] && !holder.command[0]);
    return 0;
}

/* F4: who cannot be named is not invented, but the user is told. */
static void test_holder_of_another_user(void **state) {
    struct manner manner = {.address = "127.0.0.1"};
    struct unit_child child;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for processes of two users");
    uint16_t port = start_listening(&child, body_listen, &manner);
    unit_run_child(body_ask_as_nobody, &port);
    assert_int_equal(unit_child_finish(&child), 0);
}

/* Root names it all the same. In a container it often may not: then it still tells whose it is. */
static void test_root_asks_for_a_holder_of_another_user(void **state) {
    struct manner manner = {.address = "127.0.0.1", .as_nobody = true};
    struct unit_child child;
    struct os_port_holder holder;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    uint16_t port = start_listening(&child, body_listen, &manner);
    if (unit_may_look_into_others())
        check_holder(port, child.pid, 1, true);
    assert_int_equal(os_port_holder(port, &holder), 0);
    assert_int_equal(holder.user, UNIT_NOBODY);
    assert_int_equal(unit_child_finish(&child), 0);
}

/* Closes a connection at the server's end first, which is where TIME_WAIT then stays. */
static uint16_t leave_time_wait(bool plain) {
    struct manner manner = {.address = "127.0.0.1", .plain = plain};
    uint16_t port;
    char c;
    int listener = listen_in_manner(&manner, 0);
    assert_true(listener >= 0);
    assert_int_equal(os_socket_port(listener, &port), 0);
    int client = join(port);
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(client >= 0 && server >= 0);
    close(listener);
    close(server);
    assert_int_equal(read(client, &c, 1), 0);
    close(client);
    return port;
}

static bool is_in_time_wait(uint16_t port) {
    char line[512], wanted[32];
    bool found = false;
    FILE *table = fopen("/proc/net/tcp", "re");
    assert_non_null(table);
    snprintf(wanted, sizeof wanted, ":%04X 0100007F:", (unsigned)port);
    while (!found && fgets(line, sizeof line, table))
        found = strstr(line, wanted) && strstr(line, " 06 ");
    fclose(table);
    return found;
}

/* A6, A11: leftovers of closed connections are not a holder. */
static void test_time_wait_does_not_count(void **state) {
    struct os_port_holder holder;
    os_handle listener;
    (void)state;
    uint16_t port = leave_time_wait(false);
    assert_true(is_in_time_wait(port));
    assert_int_equal(os_port_try(port, NULL), 0);
    assert_int_equal(os_port_holder(port, &holder), -ENOENT);
    assert_int_equal(os_listen(&listener, port, 1, NULL), 0);
    os_handle_close(&listener);
}

/* If the one that is gone had not set SO_REUSEADDR the kernel keeps the port; that is told apart
 * from a holder. */
static void test_time_wait_of_a_plain_server(void **state) {
    struct os_port_holder holder;
    struct error err = {0};
    (void)state;
    uint16_t port = leave_time_wait(true);
    assert_true(is_in_time_wait(port));
    assert_int_equal(os_port_try(port, &err), -EAGAIN);
    assert_non_null(strstr(err.message, "minute"));
    assert_int_equal(os_port_holder(port, &holder), -ENOENT);
}

/* The listener is closed, a connection is left: its process has the port still. */
static void test_connection_without_listener(void **state) {
    struct manner manner = {.address = "127.0.0.1", .plain = true};
    uint16_t port;
    (void)state;
    int listener = listen_in_manner(&manner, 0);
    assert_int_equal(os_socket_port(listener, &port), 0);
    int client = join(port);
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(client >= 0 && server >= 0);
    check_holder(port, getpid(), 1, true);
    close(listener);
    check_holder(port, getpid(), 1, false);
    assert_int_equal(os_port_try(port, NULL), -EADDRINUSE);
    close(client);
    close(server);
}

struct ends {
    int listener, client;
};

static int body_keep_connection(const struct unit_line *line, void *arg) {
    const struct ends *ends = arg;
    close(ends->listener);
    close(ends->client);
    return unit_body_wait(line, NULL);
}

/* A worker has only a connection: the one to name is who listens. */
static void test_connection_beside_listener(void **state) {
    struct manner manner = {.address = "127.0.0.1"};
    struct unit_child child;
    struct ends ends;
    char text[8];
    uint16_t port;
    (void)state;
    ends.listener = listen_in_manner(&manner, 0);
    assert_int_equal(os_socket_port(ends.listener, &port), 0);
    ends.client = join(port);
    int server = accept4(ends.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(ends.client >= 0 && server >= 0);
    unit_child_start(&child, body_keep_connection, &ends);
    unit_hear(&child, text, sizeof text);
    close(server);
    check_holder(port, getpid(), 1, true);
    close(ends.listener);
    check_holder(port, child.pid, 1, false);
    assert_int_equal(unit_child_finish(&child), 0);
    close(ends.client);
}

/* ---- Listening, and the edges ---- */

static void test_listen(void **state) {
    os_handle listener, second;
    struct error err = {0};
    uint16_t port, again;
    int ends[2];
    (void)state;
    port = free_port();
    assert_int_equal(os_listen(&listener, port, 8, NULL), 0);
    assert_true(fcntl((int)listener, F_GETFD) & FD_CLOEXEC);
    assert_false(fcntl((int)listener, F_GETFL) & O_NONBLOCK);
    assert_int_equal(os_socket_port(listener, &again), 0);
    assert_int_equal(again, port);
    int client = join(port);
    assert_true(client >= 0);
    close(client);
    assert_int_equal(os_listen(&second, port, 8, &err), -EADDRINUSE);
    assert_int_equal(second, OS_NO_HANDLE);
    assert_non_null(strstr(err.message, "in use"));
    os_handle_close(&listener);
    assert_int_equal(os_listen(&listener, port, 8, NULL), 0);
    os_handle_close(&listener);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(os_socket_port(ends[0], &port), -EAFNOSUPPORT);
    close(ends[0]);
    close(ends[1]);
}

/* Trying again and again leaves the port as it was. */
static void test_trying_is_repeatable(void **state) {
    uint16_t port = free_port();
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(os_port_try(port, NULL), 0);
    assert_int_equal(os_port_try(0, NULL), -EINVAL);
}

static int body_privileged_port(const struct unit_line *line, void *arg) {
    struct error err = {0};
    (void)arg;
    if (unshare(CLONE_NEWNET) < 0)
        return unit_child_skip(line, "a network of its own");
    CHILD_CHECK(unit_write_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "1024"));
    CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(os_port_try(80, &err) == -EACCES);
    CHILD_CHECK(strstr(err.message, "1024") != NULL);
    return 0;
}

static void test_privileged_port(void **state) {
    (void)state;
    unit_run_child(body_privileged_port, NULL);
}

static int body_without_v6(const struct unit_line *line, void *arg) {
    struct os_port_holder holder;
    struct ifreq request = {.ifr_name = "lo"};
    struct manner manner = {.address = "0.0.0.0"};
    (void)arg;
    if (unshare(CLONE_NEWNET) < 0)
        return unit_child_skip(line, "a network of its own");
    if (access("/proc/sys/net/ipv6", F_OK) == 0)
        CHILD_CHECK(unit_write_text("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"));
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    CHILD_CHECK(ioctl(fd, SIOCSIFFLAGS, &request) == 0);
    CHILD_CHECK(os_port_try(8000, NULL) == 0);
    CHILD_CHECK(listen_in_manner(&manner, 8000) >= 0);
    CHILD_CHECK(os_port_try(8000, NULL) == -EADDRINUSE);
    CHILD_CHECK(os_port_holder(8000, &holder) == 0 && holder.identity.pid == getpid());
    return 0;
}

static void test_machine_without_v6(void **state) {
    (void)state;
    unit_run_child(body_without_v6, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_held_on_loopback),
        UNIT_TEST(test_held_without_reuse),
        UNIT_TEST(test_held_with_reuse_port),
        UNIT_TEST(test_held_on_any),
        UNIT_TEST(test_held_on_any_of_both_families),
        UNIT_TEST(test_held_on_any_v6),
        UNIT_TEST(test_held_on_v6_loopback),
        UNIT_TEST(test_held_on_mapped_loopback),
        UNIT_TEST(test_other_address_is_not_in_the_way),
        UNIT_TEST(test_inherited_by_grandchild),
        UNIT_TEST(test_holder_of_another_user),
        UNIT_TEST(test_root_asks_for_a_holder_of_another_user),
        UNIT_TEST(test_time_wait_does_not_count),
        UNIT_TEST(test_time_wait_of_a_plain_server),
        UNIT_TEST(test_connection_without_listener),
        UNIT_TEST(test_connection_beside_listener),
        UNIT_TEST(test_listen),
        UNIT_TEST(test_trying_is_repeatable),
        UNIT_TEST(test_privileged_port),
        UNIT_TEST(test_machine_without_v6),
    };
    return cmocka_run_group_tests_name("os port", tests, NULL, NULL);
}
