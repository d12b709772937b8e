/* A server that does one thing, for tests of those who start it:
 *
 *     exit N      ends with this code              raise N    ends by this signal
 *     obey        pauses; SIGTERM ends it          drain      answers SIGTERM with a line, exit 0
 *     stopped     stops itself; answers SIGTERM as drain does, once it is continued
 *     leave       like obey, but first leaves a child in a new session that ignores SIGTERM
 *     wrapper     like obey, but first leaves a child in its own group that does as drain does
 *     owned       takes root's identity for good (for a set-uid copy), then pauses
 *     report      writes what it was given, a line each, and exits
 *     bomb N      forks until N of its kind live at once, and for ever replaces those that died
 *
 * The lines go to standard output, "ready" first where the program stays. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BOMB_MAX = 1000, BOMB_FORKS = 30000 };

struct bomb {
    atomic_int forks; /* a limit for the case that nobody stops us */
    atomic_int announced;
    atomic_int slots[BOMB_MAX]; /* the pid living there */
};

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

static void drain(int signal) {
    (void)signal;
    say("drained\n");
    _exit(0);
}

static _Noreturn void stay(void) {
    say("ready\n");
    for (;;)
        pause();
}

static _Noreturn void leave(void) {
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        stay();
    }
    stay();
}

static _Noreturn void wrap(void) {
    if (fork() == 0) {
        signal(SIGTERM, drain);
        stay();
    }
    stay();
}

static _Noreturn void own(void) {
    if (setresuid(0, 0, 0) < 0)
        say("not root\n");
    stay();
}

static void report_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;

    if (!directory)
        exit(1);
    printf("fds");
    for (int fd = 0; fd < 4096; fd++) {
        rewinddir(directory);
        while ((entry = readdir(directory))) {
            if (entry->d_name[0] != '.' && atol(entry->d_name) == fd && fd != dirfd(directory))
                printf(" %d", fd);
        }
    }
    printf("\n");
    closedir(directory);
}

static void report_listeners(void) {
    for (int fd = 3; fd < 16; fd++) {
        struct sockaddr_in address = {0};
        socklen_t size = sizeof address;
        int listening = 0;
        socklen_t flag = sizeof listening;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &flag) == 0 && listening &&
            getsockname(fd, (struct sockaddr *)&address, &size) == 0)
            printf("listener %d %d\n", fd, ntohs(address.sin_port));
    }
}

static void report_file(const char *path, const char *prefix) {
    char line[256];
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, prefix, strlen(prefix)) == 0)
            printf("%s", line);
    }
    if (file)
        fclose(file);
}

static void report_variable(const char *name) {
    const char *value = getenv(name);
    printf("%s=%s\n", name, value ? value : "-");
}

static int report(void) {
    char directory[4096];

    report_descriptors();
    report_listeners();
    printf("pid %d group %d session %d\n", (int)getpid(), (int)getpgrp(), (int)getsid(0));
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    printf("cwd %s\n", getcwd(directory, sizeof directory) ? directory : "-");
    printf("oom ");
    report_file("/proc/self/oom_score_adj", "");
    report_file("/proc/self/status", "SigBlk");
    report_file("/proc/self/status", "SigIgn");
    report_file("/proc/self/status", "SigPnd");
    report_variable("LISTEN_PID");
    report_variable("LISTEN_FDS");
    report_variable("LISTEN_FDNAMES");
    report_variable("PROBE");
    printf("end\n");
    return 0;
}

/* A slot is free when nobody of its number lives, so the dead are replaced, however they died. */
static int find_slot(struct bomb *bomb, int limit) {
    for (int i = 0; i < limit; i++) {
        int pid = bomb->slots[i];
        if (pid == 0 || (pid > 0 && kill(pid, 0) < 0)) {
            if (atomic_compare_exchange_strong(&bomb->slots[i], &pid, -1))
                return i;
        }
    }
    return -1;
}

static _Noreturn void explode(struct bomb *bomb, int limit) {
    for (;;) {
        int slot = find_slot(bomb, limit);
        int child;
        if (slot < 0) {
            if (atomic_exchange(&bomb->announced, 1) == 0)
                say("ready\n");
            sched_yield();
            continue;
        }
        if (atomic_fetch_add(&bomb->forks, 1) >= BOMB_FORKS)
            _exit(3);
        child = fork();
        bomb->slots[slot] = child == 0 ? getpid() : child > 0 ? child : 0;
        signal(SIGCHLD, SIG_IGN);
    }
}

static _Noreturn void bomb(int limit) {
    struct bomb *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED || limit > BOMB_MAX)
        _exit(1);
    signal(SIGTERM, SIG_IGN);
    explode(shared, limit);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "obey";
    int number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

    if (strcmp(what, "exit") == 0)
        return number;
    if (strcmp(what, "raise") == 0)
        return raise(number);
    if (strcmp(what, "report") == 0)
        return report();
    if (strcmp(what, "bomb") == 0)
        bomb(number);
    if (strcmp(what, "leave") == 0)
        leave();
    if (strcmp(what, "wrapper") == 0)
        wrap();
    if (strcmp(what, "owned") == 0)
        own();
    if (strcmp(what, "drain") == 0 || strcmp(what, "stopped") == 0)
        signal(SIGTERM, drain);
    if (strcmp(what, "stopped") == 0) {
        say("ready\n");
        raise(SIGSTOP);
    }
    stay();
}
