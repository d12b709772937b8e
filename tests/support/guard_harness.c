#include "guard_harness.h"
#include "text_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The daemon's own descriptors start here, so that a test may use the low numbers in it. */
enum { DAEMON_FD = 700 };

struct children {
    int pids[2048];
    size_t count;
};

int64_t harness_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool await_readable(int fd, int64_t until_us) {
    struct pollfd event = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        int64_t left = until_us - harness_now_us();
        ready = poll(&event, 1, left > 0 ? (int)(left / 1000) + 1 : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

const char *harness_program(const char *name) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, 64, "../programs/%s", name);
    return path;
}

int harness_program_copy(const char *name) {
    int file = open(harness_program(name), O_RDONLY | O_CLOEXEC);
    int copy = memfd_create(name, MFD_CLOEXEC);
    struct stat facts = {0};
    ssize_t sent = 1;

    if (file < 0 || copy < 0 || fstat(file, &facts) < 0)
        sent = -1;
    for (off_t done = 0; sent > 0 && done < facts.st_size;)
        sent = sendfile(copy, file, &done, (size_t)(facts.st_size - done));
    if (file >= 0)
        close(file);
    if (sent <= 0 && copy >= 0)
        close(copy);
    return sent > 0 ? copy : -1;
}

static void list_children(struct children *out) {
    char path[64];
    FILE *file;

    out->count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    while (file && out->count < 2048 && fscanf(file, "%d", &out->pids[out->count]) == 1)
        out->count++;
    if (file)
        fclose(file);
}

static void tell(int fd, struct harness_record record) {
    if (write(fd, &record, sizeof record) != (ssize_t)sizeof record)
        _exit(3);
}

static void daemon_done(struct guard *guard, int records) {
    struct harness_record record = {.type = HARNESS_DONE};
    const struct tree_kill everything = {0};
    struct children children;

    record.ended = guard_reap(guard);
    if (!record.ended)
        tree_kill_all(&everything);
    list_children(&children);
    record.children = (int)children.count;
    tell(records, record);
    _exit(0);
}

static void daemon_obey(struct guard *guard, int control) {
    char letter = 'q';

    if (read(control, &letter, 1) != 1 || letter == 'q')
        _exit(0);
    if (letter == 't')
        guard_tell(guard, GUARD_TERMINATE);
    else if (letter == 'k')
        guard_tell(guard, GUARD_KILL);
    else if (letter == 'a')
        guard_abandon(guard);
}

static _Noreturn void daemon_loop(struct guard *guard, int control, int records) {
    for (;;) {
        struct pollfd events[] = {{.fd = control, .events = POLLIN},
                                  {.fd = guard->fd, .events = POLLIN}};
        struct harness_record record = {.guard_pid = guard->pid};

        if (poll(events, 2, -1) < 0 && errno != EINTR)
            _exit(3);
        if (events[0].revents)
            daemon_obey(guard, control);
        while (guard_read(guard, &record.event) > 0) {
            record.type = (int)record.event.type;
            tell(records, record);
            if (record.event.type == GUARD_GONE)
                daemon_done(guard, records);
        }
    }
}

static _Noreturn void daemon_main(const struct harness_options *options, int control, int records,
                                  int output) {
    struct text_list environment = {0};
    os_environment(&environment);
    const struct os_tree_spec spec = {
        .words = options->words,
        .environment =
            options->environment ? options->environment : (const char *const *)environment.items,
        .stdio = {OS_NO_HANDLE, output, STDERR_FILENO},
        .listeners = options->listeners,
        .listener_names = options->listener_names,
        .listener_count = options->listener_count,
        .grace_ms = options->grace_ms,
    };
    struct harness_record record = {.type = HARNESS_STARTED};
    struct guard guard;
    struct error err;

    tree_adopt_orphans();
    if (options->prepare)
        options->prepare();
    if (guard_open(&guard, &err) < 0 || guard_start(&guard, &spec, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(3);
    }
    close(output);
    record.guard_pid = guard.pid;
    tell(records, record);
    daemon_loop(&guard, control, records);
}

static void open_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
}

static void close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

void harness_start(struct harness *harness, const struct harness_options *options) {
    int control[2];
    int records[2];
    int life[2];

    tree_adopt_orphans();
    memset(harness, 0, sizeof *harness);
    open_pipe(control);
    open_pipe(records);
    open_pipe(life);
    harness->daemon = fork();
    if (harness->daemon == 0) {
        int high[3] = {fcntl(control[0], F_DUPFD_CLOEXEC, DAEMON_FD),
                       fcntl(records[1], F_DUPFD_CLOEXEC, DAEMON_FD),
                       fcntl(life[1], F_DUPFD_CLOEXEC, DAEMON_FD)};
        close_pipe(control);
        close_pipe(records);
        close_pipe(life);
        daemon_main(options, high[0], high[1], high[2]);
    }
    close(control[0]);
    close(records[1]);
    close(life[1]);
    harness->control = control[1];
    harness->records = records[0];
    harness->life = life[0];
}

void harness_command(const struct harness *harness, char letter) {
    if (write(harness->control, &letter, 1) != 1)
        abort();
}

static bool read_record(struct harness *harness, struct harness_record *out, int64_t until_us) {
    if (!await_readable(harness->records, until_us) ||
        read(harness->records, out, sizeof *out) != (ssize_t)sizeof *out)
        return false;
    if (out->type == HARNESS_STARTED)
        harness->guard = out->guard_pid;
    return true;
}

bool harness_next(struct harness *harness, struct harness_record *out) {
    return read_record(harness, out, harness_now_us() + (int64_t)HARNESS_DEADLINE_MS * 1000);
}

bool harness_await(struct harness *harness, int type, struct harness_record *out) {
    int64_t until_us = harness_now_us() + (int64_t)HARNESS_DEADLINE_MS * 1000;

    while (read_record(harness, out, until_us)) {
        if (out->type == type)
            return true;
    }
    return false;
}

static size_t count_lines(const struct harness *harness) {
    size_t lines = 0;
    for (size_t i = 0; i < harness->used; i++)
        lines += harness->text[i] == '\n';
    return lines;
}

/* 1 more text, 0 its end, -1 the deadline. */
static int read_output(struct harness *harness, int64_t until_us) {
    ssize_t got;

    if (!await_readable(harness->life, until_us))
        return -1;
    got = read(harness->life, harness->text + harness->used,
               sizeof harness->text - 1 - harness->used);
    if (got <= 0)
        return 0;
    harness->used += (size_t)got;
    harness->text[harness->used] = '\0';
    return 1;
}

bool harness_lines(struct harness *harness, size_t lines) {
    int64_t until_us = harness_now_us() + (int64_t)HARNESS_DEADLINE_MS * 1000;

    while (count_lines(harness) < lines) {
        if (read_output(harness, until_us) <= 0)
            return false;
    }
    return true;
}

bool harness_output_ends(struct harness *harness) {
    int64_t until_us = harness_now_us() + (int64_t)HARNESS_DEADLINE_MS * 1000;
    int got;

    while ((got = read_output(harness, until_us)) > 0)
        ;
    return got == 0;
}

int harness_pid(const struct harness *harness, const char *name) {
    size_t length = strlen(name);
    const char *line = harness->text;

    while (line && *line) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return (int)strtol(line + length, NULL, 10);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

int harness_pidfd(int pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int harness_survivors(const int *pidfds, size_t count, int deadline_ms) {
    int64_t until_us = harness_now_us() + (int64_t)deadline_ms * 1000;
    int alive = 0;

    for (size_t i = 0; i < count; i++)
        alive += !await_readable(pidfds[i], until_us);
    return alive;
}

/* Waits for one of ours in order; anybody else has escaped and is killed. A daemon that was killed
 * early may not have told its guard's number. */
static int end_child_of_test(struct harness *harness, int pid) {
    bool expected = pid == harness->daemon || pid == harness->guard;
    int pidfd = harness_pidfd(pid);
    int escaped = 0;

    if (!expected && harness->guard == 0) {
        harness->guard = pid;
        expected = true;
    }
    if (!expected || harness_survivors(&pidfd, 1, HARNESS_DEADLINE_MS) > 0) {
        escaped = 1;
        kill(pid, SIGKILL);
    }
    close(pidfd);
    waitpid(pid, NULL, __WALL);
    return escaped;
}

int harness_finish(struct harness *harness) {
    struct children children;
    int escaped = 0;

    close(harness->control);
    for (list_children(&children); children.count > 0; list_children(&children)) {
        for (size_t i = 0; i < children.count; i++)
            escaped += end_child_of_test(harness, children.pids[i]);
    }
    close(harness->records);
    close(harness->life);
    return escaped;
}
