#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard_checks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void check_start(struct harness *harness, const char *program, const char *what,
                 const char *argument, struct harness_options options) {
    const char *const words[] = {harness_program(program), what, argument, NULL};

    options.words = words;
    harness_start(harness, &options);
}

void check_start_as_nobody(struct harness *harness, const char *program, const char *what,
                           const char *argument) {
    /* The first descriptor that a server is given, so it is this number there. */
    const char *const words[] = {"/proc/self/fd/3", what, argument, NULL};
    const os_handle copy = harness_program_copy(program);

    assert_true(copy >= 0);
    harness_start(harness, &(struct harness_options){.words = words,
                                                     .listeners = &copy,
                                                     .listener_names = program,
                                                     .listener_count = 1,
                                                     .prepare = check_be_nobody});
    close((int)copy);
}

void check_start_probe(struct harness *harness, const char *what, const char *argument) {
    check_start(harness, "probe", what, argument, (struct harness_options){.grace_ms = 0});
}

void check_await(struct harness *harness, int type, struct harness_record *record) {
    assert_true(harness_await(harness, type, record));
}

void check_finish(struct harness *harness) {
    assert_true(harness_output_ends(harness));
    assert_int_equal(harness_finish(harness), 0);
}

void check_done(struct harness *harness, bool ended) {
    struct harness_record record;

    check_await(harness, HARNESS_DONE, &record);
    assert_int_equal(record.ended, ended);
    assert_int_equal(record.children, 0);
}

void check_says(const struct harness *harness, const char *line) {
    char wanted[256];

    snprintf(wanted, sizeof wanted, "%s\n", line);
    if (!strstr(harness->text, wanted))
        fail_msg("not there: %s\nin:\n%s", line, harness->text);
}

void check_stopped(int pid) {
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
}

void check_state(int pid, char wanted) {
    int64_t until = harness_now_us() + (int64_t)HARNESS_DEADLINE_MS * 1000;
    char path[64];
    char text[512] = "";
    const char *close_bracket = NULL;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    do {
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        close_bracket = strrchr(text, ')');
        assert_non_null(close_bracket);
        assert_true(harness_now_us() < until);
    } while (close_bracket[2] != wanted);
}

void check_be_nobody(void) {
    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        _exit(3);
}

static int deny(unsigned number, struct sock_filter *at) {
    at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    at[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    return 2;
}

void check_be_old_kernel(void) {
    struct sock_filter filter[16];
    struct sock_fprog program = {.filter = filter};
    int used = 0;

    filter[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    used += deny(SYS_pidfd_open, filter + used);
    used += deny(SYS_pidfd_send_signal, filter + used);
    used += deny(SYS_close_range, filter + used);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)used;
    for (int fd = 20; fd < 600; fd++)
        dup2(STDERR_FILENO, fd);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(3);
}

int check_children(void) {
    char path[64];
    int count = 0;
    int pid;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    assert_non_null(file);
    while (fscanf(file, "%d", &pid) == 1)
        count++;
    fclose(file);
    return count;
}

static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int check_before(void **state) {
    static int before;

    signal(SIGPIPE, SIG_IGN);
    before = count_descriptors();
    *state = &before;
    return 0;
}

/* A teardown that waits for ever would hide which test failed. */
static bool give_up(void *context) {
    (void)context;
    return true;
}

int check_after(void **state) {
    const int *before = *state;
    const struct tree_kill everything = {.give_up = give_up};
    int children = check_children();

    tree_kill_all(&everything);
    if (children > 0 || count_descriptors() != *before) {
        print_error("%d processes, %d descriptors left\n", children, count_descriptors() - *before);
        return -1;
    }
    return 0;
}
