/* What of os/macos asks nothing of that system, compiled here: copies of first stacks, who is at
 * the other end of a connection and who holds a port going by a list of sockets, and the trying of
 * ports. Row H7. */
#define os_tcp_peer_user   macos_tcp_peer_user
#define os_tcp_server_user macos_tcp_server_user
#define os_port_holder     macos_port_holder
#define os_port_try        macos_port_try
#include "os/os.h"

#include "os/macos/first_stack.c"
#include "os/macos/port_holder.c"
#include "os/macos/port_try.c"
#include "os/macos/tcp_peer.c"

#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- first stacks ---- */

/* As the kernel writes it, in memory of its very size, so that a sanitizer sees who reads on. */
struct copy {
    char *bytes;
    size_t length;
    struct first_stack stack;
};

static struct copy copy_of(int count, const char *texts, size_t length) {
    struct copy copy = {.length = sizeof count + length};
    copy.bytes = malloc(copy.length);
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, &count, sizeof count);
    memcpy(copy.bytes + sizeof count, texts, length);
    copy.stack = first_stack_of(copy.bytes, copy.length);
    return copy;
}

#define COPY(count, texts) copy_of(count, texts, sizeof(texts) - 1)

static void assert_variable(const struct copy *copy, const char *name, const char *value) {
    char out[16];
    int rc = first_stack_variable(&copy->stack, name, out, sizeof out);
    if (!value) {
        assert_int_equal(rc, -ENOENT);
        return;
    }
    assert_int_equal(rc, 0);
    assert_string_equal(out, value);
}

static void assert_words(const struct copy *copy, const char *words, size_t length) {
    assert_int_equal(copy->stack.variables - copy->stack.words, length);
    assert_memory_equal(copy->bytes + copy->stack.words, words, length);
}

#define WORDS(copy, words) assert_words(copy, words, sizeof(words) - 1)

static void H7_words_and_variables_of_a_first_stack(void **state) {
    (void)state;
    struct copy copy = COPY(3, "/bin/a b\0\0\0\0a b\0A=word\0-x\0A=1\0AB=22\0C=\0");
    WORDS(&copy, "a b\0A=word\0-x\0");
    assert_variable(&copy, "A", "1"); /* not the word */
    assert_variable(&copy, "AB", "22");
    assert_variable(&copy, "C", "");
    assert_variable(&copy, "B", NULL);
    assert_variable(&copy, "D", NULL);
    free(copy.bytes);
}

static void H7_value_that_does_not_fit_is_told(void **state) {
    (void)state;
    char out[4];
    struct copy copy = COPY(0, "p\0A=123\0B=1234\0");
    assert_int_equal(first_stack_variable(&copy.stack, "A", out, sizeof out), 0);
    assert_int_equal(first_stack_variable(&copy.stack, "B", out, sizeof out), -ENOBUFS);
    free(copy.bytes);
}

static void H7_value_that_was_cut_off_is_none(void **state) {
    (void)state;
    struct copy copy = COPY(1, "p\0w\0A=1\0B=12");
    assert_variable(&copy, "A", "1");
    assert_variable(&copy, "B", NULL);
    free(copy.bytes);
}

static void H7_first_stack_that_lies_is_read_within_its_bounds(void **state) {
    (void)state;
    static const int counts[] = {0, 1, 2, 1000000000, -1, INT32_MIN};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t length = 0; length <= 12; length++) {
            struct copy copy = copy_of(counts[i], "p\0\0w\0A=1\0B=2", length);
            char out[8];
            assert_true(copy.stack.words <= copy.stack.variables);
            assert_true(copy.stack.variables <= copy.length);
            first_stack_variable(&copy.stack, "B", out, sizeof out);
            free(copy.bytes);
        }
    }
    for (size_t length = 0; length < sizeof(int); length++) {
        char *bytes = calloc(1, length + 1);
        struct first_stack stack = first_stack_of(bytes, length);
        assert_int_equal(stack.words, length);
        assert_int_equal(stack.variables, length);
        free(bytes);
    }
}

/* ---- a list of sockets, as the kernel would tell it ---- */

enum { MOST = 8 };

static struct tcp_socket shown[MOST];
static size_t shown_count;
static int shown_problem;

int tcp_sockets_each(tcp_socket_fn fn, void *arg) {
    for (size_t i = 0; i < shown_count && fn(&shown[i], arg); i++)
        ;
    return shown_problem;
}

static struct tcp_end v4_end(uint32_t address, uint16_t port) {
    struct tcp_end end = {.port = port};
    address = htonl(address);
    end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
    memcpy(&end.address.s6_addr[12], &address, sizeof address);
    return end;
}

static void show(struct tcp_socket socket) {
    assert_true(shown_count < MOST);
    shown[shown_count++] = socket;
}

static int forget(void **state) {
    shown_count = 0;
    shown_problem = 0;
    return unit_begin(state);
}

/* ---- the other end ---- */

/* A connection between two sockets of ours. */
struct pair {
    int listener, client, server;
    uint16_t listens, calls; /* the ports */
};

static uint16_t port_of(int fd) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

static struct pair connected(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pair pair = {.listener = socket(AF_INET, SOCK_STREAM, 0),
                        .client = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(pair.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(pair.listener, 1), 0);
    pair.listens = port_of(pair.listener);
    address.sin_port = htons(pair.listens);
    assert_int_equal(connect(pair.client, (struct sockaddr *)&address, sizeof address), 0);
    pair.server = accept(pair.listener, NULL, NULL);
    assert_true(pair.server >= 0);
    pair.calls = port_of(pair.client);
    return pair;
}

static void part(const struct pair *pair) {
    close(pair->client);
    close(pair->server);
    close(pair->listener);
}

static struct tcp_socket connection_from(int64_t pid, uint16_t local, uint16_t remote) {
    return (struct tcp_socket){.pid = pid,
                               .local = v4_end(INADDR_LOOPBACK, local),
                               .remote = v4_end(INADDR_LOOPBACK, remote)};
}

static struct tcp_socket listener_on(int64_t pid, uint32_t address, uint16_t port) {
    return (struct tcp_socket){.pid = pid, .local = v4_end(address, port), .listening = true};
}

static void H7_peer_is_who_has_the_two_ends_the_other_way_round(void **state) {
    (void)state;
    uint32_t user = UINT32_MAX;
    struct pair pair = connected();
    /* Process 1 has our end, its neighbour and a listener on the peer's port; ours are the peer's.
     */
    show(connection_from(1, pair.listens, pair.calls));
    show(connection_from(1, pair.calls, (uint16_t)(pair.listens + 1)));
    show(listener_on(1, INADDR_LOOPBACK, pair.calls));
    assert_int_equal(macos_tcp_peer_user(pair.server, &user), -ESRCH);
    show(connection_from(getpid(), pair.calls, pair.listens));
    assert_int_equal(macos_tcp_peer_user(pair.server, &user), 0);
    assert_int_equal(user, geteuid());
    part(&pair);
}

static void H7_server_is_also_known_by_its_listener(void **state) {
    (void)state;
    static const uint32_t places[] = {INADDR_LOOPBACK, INADDR_ANY};
    uint32_t user;
    struct pair pair = connected();
    for (size_t i = 0; i < 2; i++) {
        shown_count = 0;
        show(listener_on(getpid(), INADDR_LOOPBACK + 1, pair.listens));
        show(listener_on(getpid(), places[i], (uint16_t)(pair.listens + 1)));
        assert_int_equal(macos_tcp_server_user(pair.client, &user), -ESRCH);
        show(listener_on(getpid(), places[i], pair.listens));
        assert_int_equal(macos_tcp_server_user(pair.client, &user), 0);
        assert_int_equal(macos_tcp_peer_user(pair.client, &user), -ESRCH);
    }
    part(&pair);
}

static void H7_peer_of_what_is_no_connection_is_nobody(void **state) {
    (void)state;
    uint32_t user;
    struct pair pair = connected();
    assert_int_equal(macos_tcp_peer_user(pair.listener, &user), -ESRCH);
    shown_problem = -EACCES;
    assert_int_equal(macos_tcp_peer_user(pair.server, &user), -EACCES);
    part(&pair);
}

/* ---- who holds a port ---- */

static void H7_who_listens_is_told_before_who_uses_the_port(void **state) {
    (void)state;
    struct os_port_holder holder;
    assert_int_equal(macos_port_holder(4000, &holder), -ENOENT);
    show(connection_from(1, 4000, 5000));
    show(listener_on(1, INADDR_LOOPBACK, 4001));
    assert_int_equal(macos_port_holder(4000, &holder), 0);
    assert_int_equal(holder.identity.pid, 1);
    assert_false(holder.listening);
    show(listener_on(getpid(), INADDR_LOOPBACK, 4000));
    show(connection_from(1, 4000, 5001));
    assert_int_equal(macos_port_holder(4000, &holder), 0);
    assert_int_equal(holder.identity.pid, getpid());
    assert_int_equal(holder.user, geteuid());
    assert_int_equal(holder.count, 1);
    assert_true(holder.listening);
    assert_non_null(strstr(holder.executable, "test_macos"));
}

static void H7_oldest_of_several_listeners_is_told(void **state) {
    (void)state;
    struct os_port_holder holder;
    pid_t youngest = fork();
    if (youngest == 0)
        for (;;)
            pause();
    show(listener_on(getpid(), INADDR_LOOPBACK, 4000));
    show(listener_on(getpid(), INADDR_ANY, 4000));
    show(listener_on(1, INADDR_LOOPBACK, 4000));
    show(listener_on(youngest, INADDR_LOOPBACK, 4000));
    show(listener_on(youngest, INADDR_ANY, 4000));
    assert_int_equal(macos_port_holder(4000, &holder), 0);
    kill(youngest, SIGKILL);
    waitpid(youngest, NULL, 0);
    assert_int_equal(holder.identity.pid, 1);
    assert_int_equal(holder.count, 3);
}

/* ---- trying a port ---- */

static void H7_port_that_somebody_listens_on_is_in_use(void **state) {
    (void)state;
    struct error err = {0};
    struct pair pair = connected();
    part(&pair);
    assert_int_equal(macos_port_try(pair.listens, &err), 0);
    pair = connected();
    assert_int_equal(macos_port_try(pair.listens, &err), -EADDRINUSE);
    assert_non_null(strstr(err.message, "is in use (127.0.0.1)"));
    assert_int_equal(macos_port_try(0, &err), -EINVAL);
    part(&pair);
}

#define LISTED(test) cmocka_unit_test_setup_teardown(test, forget, unit_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(H7_words_and_variables_of_a_first_stack),
        UNIT_TEST(H7_value_that_does_not_fit_is_told),
        UNIT_TEST(H7_value_that_was_cut_off_is_none),
        UNIT_TEST(H7_first_stack_that_lies_is_read_within_its_bounds),
        LISTED(H7_peer_is_who_has_the_two_ends_the_other_way_round),
        LISTED(H7_server_is_also_known_by_its_listener),
        LISTED(H7_peer_of_what_is_no_connection_is_nobody),
        LISTED(H7_who_listens_is_told_before_who_uses_the_port),
        LISTED(H7_oldest_of_several_listeners_is_told),
        LISTED(H7_port_that_somebody_listens_on_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
