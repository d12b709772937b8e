/* Whose process is at the other end of a TCP connection within this machine. */
#include "os/linux/tcp_table.h"
#include "os/os.h"
#include "os_unit.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* How a client connects. */
struct manner {
    const char *from; /* the address it binds to; NULL: the system's choice */
    const char *to;
    bool listener_v6;
};

static socklen_t make_address(struct sockaddr_storage *out, const char *text, uint16_t port) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof *v4;
    }
    inet_pton(AF_INET6, text, &v6->sin6_addr);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof *v6;
}

static int join(const char *from, const char *to, uint16_t port) {
    struct sockaddr_storage address;
    socklen_t length = make_address(&address, to, port);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (from) {
        struct sockaddr_storage own;
        socklen_t own_length = make_address(&own, from, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&own, own_length), 0);
    }
    if (connect(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A listener on the wildcard address of its family. Returns -1 without IPv6. */
static int open_listener(bool v6, uint16_t *port) {
    struct sockaddr_storage address;
    socklen_t length = make_address(&address, v6 ? "::" : "0.0.0.0", 0);
    int off = 0, fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (v6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 8) < 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(os_socket_port(fd, port), 0);
    return fd;
}

static bool is_ours(int connection) {
    uint32_t user = 4711;
    return os_tcp_peer_user(connection, &user) == 0 && user == geteuid();
}

/* What the system does not have here counts as fine. */
static bool try_manner(const struct manner *manner) {
    uint16_t port;
    bool fine = true;
    int listener = open_listener(manner->listener_v6, &port);
    if (listener < 0)
        return true;
    int client = join(manner->from, manner->to, port);
    if (client >= 0) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        fine = is_ours(connection) && is_ours(client);
        close(client);
        close(connection);
    }
    close(listener);
    return fine;
}

static const struct manner manners[] = {
    {NULL, "127.0.0.1", false}, {"127.0.0.5", "127.0.0.1", false}, {NULL, "127.0.0.1", true},
    {NULL, "::1", true},        {NULL, "::ffff:127.0.0.1", false},
};

static void test_own_connections(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        assert_true(try_manner(&manners[i]));
}

struct pair {
    int listener, client, connection;
};

static bool pair_open(struct pair *pair) {
    uint16_t port;
    pair->listener = open_listener(false, &port);
    pair->client = join(NULL, "127.0.0.1", port);
    pair->connection = accept4(pair->listener, NULL, NULL, SOCK_CLOEXEC);
    return pair->connection >= 0;
}

static void pair_init(struct pair *pair) {
    assert_true(pair_open(pair));
}

static void pair_finish(struct pair *pair) {
    close(pair->listener);
    if (pair->client >= 0)
        close(pair->client);
    close(pair->connection);
}

/* Half closed, it still is somebody's. */
static void test_peer_that_has_said_all(void **state) {
    struct pair pair;
    (void)state;
    pair_init(&pair);
    assert_int_equal(shutdown(pair.client, SHUT_WR), 0);
    assert_true(is_ours(pair.connection));
    pair_finish(&pair);
}

/* Who has closed it cannot be asked; the system would call it root's. */
static void test_peer_that_is_gone(void **state) {
    struct pair pair;
    uint32_t user = 4711;
    (void)state;
    pair_init(&pair);
    assert_int_equal(write(pair.client, "GET", 3), 3);
    close(pair.client);
    pair.client = -1;
    assert_int_equal(os_tcp_peer_user(pair.connection, &user), -ESRCH);
    assert_int_equal(user, 4711);
    pair_finish(&pair);
}

static int body_join_as_nobody(const struct unit_line *line, void *arg) {
    if (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0)
        return 96;
    if (join(NULL, "127.0.0.1", *(uint16_t *)arg) < 0)
        return 97;
    unit_tell(line, "connected");
    unit_wait_for_test(line);
    return 0;
}

static void test_peer_of_another_user(void **state) {
    struct unit_child child;
    uint16_t port;
    uint32_t user = 4711;
    char text[16];
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    int listener = open_listener(false, &port);
    assert_true(listener >= 0);
    unit_child_start(&child, body_join_as_nobody, &port);
    unit_hear(&child, text, sizeof text);
    assert_string_equal(text, "connected");
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_int_equal(os_tcp_peer_user(connection, &user), 0);
    assert_int_equal(user, UNIT_NOBODY);
    close(connection);
    close(listener);
    assert_int_equal(unit_child_finish(&child), 0);
}

/* Its port is another process's now, which listens there: that one has not connected to us. */
static void test_peer_that_is_gone_from_a_port_in_use(void **state) {
    struct tcp_end ours = {.port = 0}, peers = {.port = 0};
    struct tcp_row row;
    int second = 1, on = 1;
    uint32_t user;
    (void)state;
    int listener = open_listener(false, &ours.port), other = socket(AF_INET, SOCK_STREAM, 0);
    int client = join("127.0.0.1", "127.0.0.1", ours.port);
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(connection >= 0 && other >= 0);
    assert_int_equal(os_socket_port(client, &peers.port), 0);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &ours.address);
    peers.address = ours.address;
    /* The system forgets the closed end after this time. */
    assert_int_equal(setsockopt(client, IPPROTO_TCP, TCP_LINGER2, &second, sizeof second), 0);
    close(client);
    for (int i = 0; i < 500 && tcp_table_find(&peers, &ours, &row) == 0; i++)
        usleep(20000);
    assert_int_equal(tcp_table_find(&peers, &ours, &row), -ENOENT);
    struct sockaddr_storage address;
    socklen_t length = make_address(&address, "127.0.0.1", peers.port);
    setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(other, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(other, 1), 0);
    assert_int_equal(os_tcp_peer_user(connection, &user), -ESRCH);
    close(other);
    close(connection);
    close(listener);
}

/* Who cannot be asked for lack of descriptors, which a crowd can cause, is nobody's friend. */
static void test_nothing_left_to_ask_with(void **state) {
    struct rlimit before, none = {.rlim_cur = 3};
    struct pair pair;
    uint32_t user;
    int rc;
    (void)state;
    pair_init(&pair);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = os_tcp_peer_user(pair.connection, &user);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, -ESRCH);
    assert_true(is_ours(pair.connection));
    pair_finish(&pair);
}

static void test_not_a_tcp_connection(void **state) {
    int ends[2];
    uint16_t port;
    uint32_t user;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(os_tcp_peer_user(ends[0], &user), -EAFNOSUPPORT);
    close(ends[0]);
    close(ends[1]);
    int listener = open_listener(false, &port);
    assert_int_equal(os_tcp_peer_user(listener, &user), -ESRCH);
    close(listener);
    assert_int_equal(os_tcp_peer_user(OS_NO_HANDLE, &user), -EBADF);
}

/* ---- Whose server a connection leads to ---- */

static bool leads_to_us(int client) {
    uint32_t user = 4711;
    return os_tcp_server_user(client, &user) == 0 && user == geteuid();
}

/* In the queue, accepted, gone. */
static bool try_server(const struct manner *manner) {
    uint16_t port;
    uint32_t user = 4711;
    bool fine = true;
    int listener = open_listener(manner->listener_v6, &port);
    int client = listener < 0 ? -1 : join(manner->from, manner->to, port);
    if (client >= 0) {
        uint32_t nobody = 4711;
        fine = leads_to_us(client) && os_tcp_peer_user(client, &nobody) == -ESRCH;
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        fine = fine && leads_to_us(client);
        close(connection);
        close(client);
        client = join(manner->from, manner->to, port);
    }
    if (listener >= 0)
        close(listener);
    if (client >= 0) { /* its queue has gone with the listener */
        fine = fine && os_tcp_server_user(client, &user) == -ESRCH && user == 4711;
        close(client);
    }
    return fine;
}

static void test_server_of_ours(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        assert_true(try_server(&manners[i]));
}

struct foreign {
    int listener;
    bool accepts;
};

/* The listener was handed down by us, or is its own. */
static int body_serve_as_nobody(const struct unit_line *line, void *arg) {
    const struct foreign *foreign = arg;
    uint16_t port;
    int listener = foreign->listener;
    if (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0)
        return 96;
    if (listener < 0 && (listener = open_listener(false, &port)) < 0)
        return 97;
    char text[16];
    snprintf(text, sizeof text, "%d", foreign->listener < 0 ? (int)port : 0);
    unit_tell(line, text);
    if (foreign->accepts && accept4(listener, NULL, NULL, SOCK_CLOEXEC) < 0)
        return 98;
    if (foreign->accepts)
        unit_tell(line, "accepted");
    unit_wait_for_test(line);
    return 0;
}

static uint32_t user_of_server(struct foreign *foreign, uint16_t port) {
    struct unit_child child;
    uint32_t user = 4711;
    char text[16];
    unit_child_start(&child, body_serve_as_nobody, foreign);
    unit_hear(&child, text, sizeof text);
    int client = join(NULL, "127.0.0.1", port ? port : (uint16_t)strtol(text, NULL, 10));
    assert_true(client >= 0);
    if (foreign->accepts) {
        unit_hear(&child, text, sizeof text);
        assert_string_equal(text, "accepted");
    }
    assert_int_equal(os_tcp_server_user(client, &user), 0);
    close(client);
    assert_int_equal(unit_child_finish(&child), 0);
    return user;
}

/* Who has accepted it counts, whoever listens; and who listens as long as nobody has. */
static void test_server_of_another_user(void **state) {
    struct foreign foreign = {-1, false};
    uint16_t port;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    assert_int_equal(user_of_server(&foreign, 0), UNIT_NOBODY);
    foreign.accepts = true;
    assert_int_equal(user_of_server(&foreign, 0), UNIT_NOBODY);
    foreign.listener = open_listener(false, &port);
    assert_int_equal(user_of_server(&foreign, port), UNIT_NOBODY);
    foreign.accepts = false;
    assert_int_equal(user_of_server(&foreign, port), geteuid());
    close(foreign.listener);
}

/* ---- Without sock_diag: the table tells the same ---- */

static bool refuse_netlink(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int body_without_netlink(const struct unit_line *line, void *arg) {
    (void)arg;
    if (!refuse_netlink())
        return unit_child_skip(line, "no seccomp here");
    if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0)
        return 95;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        if (!try_manner(&manners[i]) || !try_server(&manners[i]))
            return 1;
    struct pair pair;
    uint32_t user;
    if (!pair_open(&pair) || close(pair.client) < 0 ||
        os_tcp_peer_user(pair.connection, &user) != -ESRCH)
        return 2;
    return 0;
}

static void test_without_sock_diag(void **state) {
    (void)state;
    unit_run_child(body_without_netlink, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, unit_setup, unit_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_own_connections),
        TEST(test_peer_that_has_said_all),
        TEST(test_peer_that_is_gone),
        TEST(test_peer_of_another_user),
        TEST(test_server_of_ours),
        TEST(test_server_of_another_user),
        TEST(test_not_a_tcp_connection),
        TEST(test_without_sock_diag),
        TEST(test_peer_that_is_gone_from_a_port_in_use),
        TEST(test_nothing_left_to_ask_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
