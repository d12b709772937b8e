/* What the kernel says about the other end of a Unix socket. */
#include "os/os.h"
#include "os/posix/posix.h"
#include "os_unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define PEERPIDFD 77

struct place {
    struct unit_dir dir;
    struct sockaddr_un address;
    int listener;
    int connection; /* the accepted end */
};

static void place_init(struct place *place) {
    unit_dir_init(&place->dir);
    place->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(place->address.sun_path, sizeof place->address.sun_path, "%s/s", place->dir.path);
    place->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(place->listener >= 0);
    assert_int_equal(
        bind(place->listener, (struct sockaddr *)&place->address, sizeof place->address), 0);
    assert_int_equal(listen(place->listener, 8), 0);
    assert_int_equal(chmod(place->dir.path, 0755), 0);
    assert_int_equal(chmod(place->address.sun_path, 0777), 0);
    place->connection = -1;
}

static void place_finish(struct place *place) {
    close(place->listener);
    if (place->connection >= 0)
        close(place->connection);
    unit_dir_finish(&place->dir);
}

static int join(const struct place *place) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&place->address, sizeof place->address) < 0)
        _exit(94);
    return fd;
}

static int body_connect(const struct unit_line *line, void *arg) {
    join(arg);
    unit_tell(line, "connected");
    unit_wait_for_test(line);
    return 0;
}

static int body_connect_as_nobody(const struct unit_line *line, void *arg) {
    if (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0)
        return 96;
    return body_connect(line, arg);
}

/* Connects, leaves the socket to a child of its own, and ends when told. The grandchild goes with
 * the line, not with its parent. */
static int body_connect_and_bequeath(const struct unit_line *line, void *arg) {
    join(arg);
    pid_t grandchild = fork();
    if (grandchild == 0) {
        unit_wait_for_test(line);
        _exit(0);
    }
    unit_tell(line, "connected");
    pause();
    return 0;
}

static void start_and_accept(struct place *place, struct unit_child *child, unit_body body) {
    char text[16];
    unit_child_start(child, body, place);
    unit_hear(child, text, sizeof text);
    assert_string_equal(text, "connected");
    place->connection = accept4(place->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(place->connection >= 0);
}

static void check_child(const struct place *place, const struct unit_child *child) {
    struct os_identity identity;
    struct os_peer peer;
    assert_int_equal(os_peer_of(place->connection, &peer), 0);
    assert_int_equal(os_identity_of(child->pid, &identity), 0);
    assert_int_equal(peer.process.identity.pid, child->pid);
    assert_true(peer.process.identity.start == identity.start);
    assert_int_equal(peer.user, geteuid());
    assert_int_equal(peer.group, getegid());
    assert_int_not_equal(peer.process.handle, OS_NO_HANDLE);
    assert_true(fcntl((int)peer.process.handle, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(os_process_wait(&peer.process, 0), -ETIMEDOUT);
    os_process_close(&peer.process);
}

/* E1 */
static void test_peer_is_known(void **state) {
    struct place place;
    struct unit_child child;
    (void)state;
    place_init(&place);
    start_and_accept(&place, &child, body_connect);
    check_child(&place, &child);
    assert_int_equal(unit_child_finish(&child), 0);
    place_finish(&place);
}

/* E2: the process dies, its socket does not close. */
static void test_death_shows_although_the_socket_lives(void **state) {
    struct place place;
    struct unit_child child;
    struct os_peer peer, later;
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    place_init(&place);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start_and_accept(&place, &child, body_connect_and_bequeath);
    assert_int_equal(os_peer_of(place.connection, &peer), 0);
    assert_int_equal(peer.process.identity.pid, child.pid);
    assert_int_equal(os_process_wait(&peer.process, 0), -ETIMEDOUT);
    kill(child.pid, SIGKILL);
    assert_int_equal(os_process_wait(&peer.process, 10000), 0);
    unit_child_await_zombie(&child);
    assert_int_equal(os_peer_of(place.connection, &later), -ESRCH);
    assert_int_equal(later.process.handle, OS_NO_HANDLE);
    int hold = child.hold;
    child.hold = -1;
    assert_int_equal(unit_child_collect(&child), -SIGKILL);
    assert_int_equal(os_peer_of(place.connection, &later), -ESRCH);
    assert_int_equal(later.process.handle, OS_NO_HANDLE);
    /* Nothing of it shows on the socket itself. */
    struct pollfd item = {.fd = place.connection, .events = POLLIN | POLLRDHUP};
    assert_int_equal(poll(&item, 1, 0), 0);
    os_process_close(&peer.process);
    close(hold);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    place_finish(&place);
}

static void test_peer_of_another_user(void **state) {
    struct place place;
    struct unit_child child;
    struct os_peer peer;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    place_init(&place);
    start_and_accept(&place, &child, body_connect_as_nobody);
    assert_int_equal(os_peer_of(place.connection, &peer), 0);
    assert_int_equal(peer.process.identity.pid, child.pid);
    assert_int_equal(peer.user, UNIT_NOBODY);
    assert_int_equal(peer.group, UNIT_NOBODY);
    os_process_close(&peer.process);
    assert_int_equal(unit_child_finish(&child), 0);
    place_finish(&place);
}

static void test_not_a_unix_socket(void **state) {
    struct os_peer peer;
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(os_peer_of(ends[0], &peer), -ENOTSOCK);
    assert_int_equal(peer.process.handle, OS_NO_HANDLE);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(os_peer_of(OS_NO_HANDLE, &peer), -EBADF);
}

/* ---- Older kernels ---- */

enum { WITHOUT_PEERPIDFD, WITHOUT_PIDFD };

static bool pretend_older_kernel(int without) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PEERPIDFD, 0, 3),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, without == WITHOUT_PIDFD ? SYS_pidfd_open : -1u, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct older {
    int connection, without;
    pid_t peer;
};

static int body_older_kernel(const struct unit_line *line, void *arg) {
    const struct older *older = arg;
    struct os_identity identity;
    struct os_peer peer;
    if (!pretend_older_kernel(older->without))
        return unit_child_skip(line, "seccomp filter");
    CHILD_CHECK(os_peer_of(older->connection, &peer) == 0);
    CHILD_CHECK(os_identity_of(older->peer, &identity) == 0);
    CHILD_CHECK(peer.process.identity.pid == older->peer);
    CHILD_CHECK(peer.process.identity.start == identity.start);
    if (older->without == WITHOUT_PIDFD) {
        CHILD_CHECK(peer.process.handle == OS_NO_HANDLE);
        CHILD_CHECK(os_process_open(&peer.process, &identity) == -ENOSYS);
    } else {
        CHILD_CHECK(os_process_wait(&peer.process, 0) == -ETIMEDOUT);
    }
    return 0;
}

static void run_on_older_kernel(int without) {
    struct place place;
    struct unit_child child;
    place_init(&place);
    start_and_accept(&place, &child, body_connect);
    struct older older = {place.connection, without, child.pid};
    struct unit_verdict verdict = unit_try_child(body_older_kernel, &older);
    assert_int_equal(unit_child_finish(&child), 0);
    place_finish(&place);
    unit_judge(&verdict);
}

static void test_kernel_without_peerpidfd(void **state) {
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    run_on_older_kernel(WITHOUT_PEERPIDFD);
}

static void test_kernel_without_pidfd(void **state) {
    (void)state;
    run_on_older_kernel(WITHOUT_PIDFD);
}

/* ---- Namespaces ---- */

/* As pid 1 of a namespace: accepts a connection from outside, whose pid means nothing here, and
 * makes one itself. */
static int run_as_init(const struct place *place, int joined) {
    struct os_peer peer;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int outside = accept4(place->listener, NULL, NULL, SOCK_CLOEXEC);
    CHILD_CHECK(outside >= 0);
    CHILD_CHECK(os_peer_of(outside, &peer) == 0);
    CHILD_CHECK(peer.process.identity.pid == 0 && peer.process.handle == OS_NO_HANDLE);
    CHILD_CHECK(peer.user == geteuid());
    join(place);
    close(joined);
    pause();
    return 0;
}

static int body_new_namespace(const struct unit_line *line, void *arg) {
    const struct place *place = arg;
    struct os_peer peer;
    int joined[2], status;
    char c;
    if (!unit_has_pidfd())
        return unit_child_skip(line, "pidfds");
    if (geteuid() != 0 && !unit_enter_user_namespace())
        return unit_child_skip(line, "user namespace");
    if (unshare(CLONE_NEWPID) < 0)
        return unit_child_skip(line, "pid namespace");
    CHILD_CHECK(pipe2(joined, O_CLOEXEC) == 0);
    join(place);
    pid_t init = fork();
    if (init == 0)
        _exit(run_as_init(place, joined[1]));
    close(joined[1]);
    CHILD_CHECK(read(joined[0], &c, 1) == 0);
    /* The kernel tells its pid in our numbers, while it calls itself 1. */
    int inside = accept4(place->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHILD_CHECK(inside >= 0);
    CHILD_CHECK(os_peer_of(inside, &peer) == 0);
    CHILD_CHECK(peer.process.identity.pid == init && peer.process.handle != OS_NO_HANDLE);
    CHILD_CHECK(os_same_namespace(init) == OS_NO);
    CHILD_CHECK(process_signal(&peer.process, SIGKILL) == 0);
    CHILD_CHECK(waitpid(init, &status, 0) == init && WIFSIGNALED(status));
    return 0;
}

static void test_namespaces(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_new_namespace, &place);
    place_finish(&place);
    unit_judge(&verdict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_peer_is_known),
        UNIT_TEST(test_death_shows_although_the_socket_lives),
        UNIT_TEST(test_peer_of_another_user),
        UNIT_TEST(test_not_a_unix_socket),
        UNIT_TEST(test_kernel_without_peerpidfd),
        UNIT_TEST(test_kernel_without_pidfd),
        UNIT_TEST(test_namespaces),
    };
    return cmocka_run_group_tests_name("os peer", tests, NULL, NULL);
}
