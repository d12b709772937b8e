/* A companion server for tests: obedient when told nothing, and by flags it misbehaves in each way
 * that servers do. It stands alone, so that a fault of Tether's cannot hide in shared code.
 *
 * Told nothing it listens on 127.0.0.1 on TETHER_HTTP_PORT and TETHER_WS_PORT, prints
 * "server up pid N" once it does, answers every HTTP request with 200 and its pid, and ends with 0
 * on SIGTERM. All waiting is one poll(). An ignored or blocked SIGTERM stays so, as in any plain
 * program: a launcher that hands down such a thing shall be found out. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server_options.h"

enum { MAX_LISTENERS = 8, MAX_CLIENTS = 256, MAX_BOMB = 20000 };
enum { CHUNK = 4096 }; /* what a pipe takes without blocking once poll() says that it is writable */

/* Places in the array for poll(): the fixed ones first, then listeners, then clients. */
enum { SIGNALS, INPUT, OUTPUT, READY_TIMER, END_TIMER, DRAIN_TIMER, ACCEPT_TIMER, FIRST_LISTENER };
#define FIRST_CLIENT (FIRST_LISTENER + MAX_LISTENERS)
#define MAX_POLLED   (FIRST_CLIENT + MAX_CLIENTS)

struct server {
    bool is_to_end;
    char **options;
    int output;
    struct pollfd polled[MAX_POLLED];
    bool answered[MAX_CLIENTS];
};

static void append(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        fail(1, "cannot append to", path);
    close(fd);
}

/* Called before anything else, so that the time is that of the arrival in main(). */
static void stamp(char **options) {
    struct timespec now;
    char line[64];
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (text_of(options, "--stamp")) {
        snprintf(line, sizeof line, "%d %lld\n", (int)getpid(),
                 now.tv_sec * 1000000000LL + now.tv_nsec);
        append(text_of(options, "--stamp"), line);
    }
}

static void unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ends as told by --exit or --signal. */
static void end_by_itself(char **options) {
    int number = (int)number_option(options, "--signal");
    if (number > 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(number, SIG_DFL);
        unblock_signals();
        kill(getpid(), number);
    }
    _exit((int)number_of(text_of(options, "--exit"), 1));
}

/* Only the first starts crash with --exit-times: each start adds a byte to the file. */
static bool is_to_end(char **options) {
    char **times = find_option(options, "--exit-times");
    struct stat info;
    if (times) {
        append(times[2], ".");
        return stat(times[2], &info) == 0 && info.st_size <= number_of(times[1], 0);
    }
    return find_option(options, "--exit") || find_option(options, "--signal");
}

/* A timer that fires once or, with `again`, at every interval; 0 ms is at once. */
static int start_timer(long ms, bool again) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct timespec span = {ms / 1000, ms > 0 ? ms % 1000 * 1000000 : 1};
    struct itimerspec when = {.it_value = span, .it_interval = again ? span : (struct timespec){0}};
    if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) != 0)
        fail(1, "cannot start", "a timer");
    return fd;
}

/* Takes what may come at any time, and ends when it is time. */
static void handle_events(struct server *server) {
    long delay = number_option(server->options, "--term-delay-ms");
    struct signalfd_siginfo info;
    while (read(server->polled[SIGNALS].fd, &info, sizeof info) == (ssize_t)sizeof info) {
        while (info.ssi_signo == SIGCHLD && waitpid(-1, NULL, WNOHANG) > 0) {
        }
        if (info.ssi_signo == SIGTERM && delay == 0)
            _exit(0);
        else if (info.ssi_signo == SIGTERM && server->polled[DRAIN_TIMER].fd < 0)
            server->polled[DRAIN_TIMER].fd = start_timer(delay, false);
    }
    if (server->polled[END_TIMER].revents)
        end_by_itself(server->options);
    else if (server->polled[DRAIN_TIMER].revents)
        _exit(0);
}

/* Writes everything. While the reader is slow it still obeys signals and ends in time. */
static void put(struct server *server, const char *data, size_t length) {
    while (length > 0) {
        server->polled[OUTPUT] = (struct pollfd){server->output, POLLOUT, 0};
        poll(server->polled, FIRST_LISTENER, -1);
        handle_events(server);
        if (server->polled[OUTPUT].revents) {
            ssize_t done = write(server->output, data, length < CHUNK ? length : CHUNK);
            if (done < 0 && errno != EINTR && errno != EAGAIN)
                break; /* nobody reads; the server goes on */
            data += done > 0 ? done : 0;
            length -= done > 0 ? (size_t)done : 0;
        }
    }
    server->polled[OUTPUT].fd = -1;
}

/* Lines of 80 bytes with the line feed, one line without an end, or noise. */
static void put_much(struct server *server, const char *kind) {
    long bytes = number_option(server->options, kind);
    char chunk[CHUNK - CHUNK % 80];
    memset(chunk, 'x', sizeof chunk);
    for (size_t i = 79; strcmp(kind, "--flood") == 0 && i < sizeof chunk; i += 80)
        chunk[i] = '\n';
    while (bytes > 0) {
        size_t length = bytes < (long)sizeof chunk ? (size_t)bytes : sizeof chunk;
        if (strcmp(kind, "--binary") == 0 && getrandom(chunk, length, 0) < 0)
            fail(1, "cannot get", "random bytes");
        put(server, chunk, length);
        bytes -= (long)length;
    }
}

static void report_environment(const char *path) {
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid());
    FILE *file = fopen(temporary, "we");
    for (char **variable = environ; file && *variable; variable++)
        fprintf(file, "%s\n", *variable);
    if (!file || fclose(file) != 0 || rename(temporary, path) != 0)
        fail(1, "cannot write", path);
}

static void append_pid(const char *path) {
    char line[32];
    snprintf(line, sizeof line, "%d\n", (int)getpid());
    append(path, line);
}

static void wait_for_ever(void) {
    for (;;)
        pause();
}

/* What each escaped process does: tells its pid, outlives SIGTERM unless obedient, and waits. */
static void escape_and_wait(const char *file, bool obedient) {
    signal(SIGTERM, obedient ? SIG_DFL : SIG_IGN);
    unblock_signals();
    append_pid(file);
    wait_for_ever();
}

/* The double fork of a daemon: it keeps neither environment nor open files of its origin. */
static void escape_as_daemon(const char *file, bool obedient) {
    char copy[4096];
    char program[] = "/proc/self/exe", mode[2][24] = {"--escaped", "--escaped-obedient"};
    char *argv[] = {program, mode[obedient], copy, NULL}, *empty[] = {NULL};
    snprintf(copy, sizeof copy, "%s", file);
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; fd < 64; fd++)
        close(fd);
    execve(program, argv, empty);
    _exit(1);
}

/* The root itself is the fifth of them. */
static void start_escapes(const char *file, bool obedient) {
    enum { SAME_GROUP, OWN_GROUP, OWN_SESSION, DAEMON, COUNT };
    for (int i = 0; i < COUNT; i++) {
        if (fork() == 0) {
            if (i == DAEMON)
                escape_as_daemon(file, obedient);
            else if ((i == OWN_GROUP && setpgid(0, 0) != 0) || (i == OWN_SESSION && setsid() < 0))
                _exit(1);
            escape_and_wait(file, obedient);
        }
    }
    append_pid(file);
}

/* Every process of the bomb forks as long as fewer than `limit` were ever started. */
static void start_bomb(long limit) {
    atomic_long *started =
        mmap(NULL, sizeof *started, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (started == MAP_FAILED || limit > MAX_BOMB)
        fail(EXIT_USAGE, "cannot start", "a fork bomb of this size");
    bool is_root = true;
    while (atomic_fetch_add(started, 1) < limit) {
        if (fork() == 0) {
            is_root = false;
            signal(SIGTERM, SIG_IGN);
        }
    }
    if (!is_root)
        wait_for_ever();
}

/* A grandchild in a session of its own, where SIGTERM does not reach it, keeps the ports taken. */
static void start_socket_holder(void) {
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        if (fork() != 0)
            _exit(0);
        wait_for_ever();
    }
    waitpid(pid, NULL, 0);
}

static void add_listener(struct server *server, int fd) {
    int i = FIRST_LISTENER;
    while (server->polled[i].fd >= 0)
        i++; /* at most MAX_LISTENERS are ever added */
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    server->polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void listen_on(struct server *server, long port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%ld", port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 128) != 0)
        fail(EXIT_PORT_TAKEN, "cannot listen on", name);
    add_listener(server, fd);
}

static void take_listen_fds(struct server *server) {
    long count = number_of(getenv("LISTEN_FDS"), 0);
    if (number_of(getenv("LISTEN_PID"), 0) != getpid() || count < 1 || count > MAX_LISTENERS) {
        errno = ENOENT;
        fail(EXIT_NO_SOCKETS, "no sockets were handed down to", "this process");
    }
    for (int fd = 3; fd < 3 + (int)count; fd++)
        add_listener(server, fd);
}

static void notify_ready(void) {
    static const char text[] = "READY=1\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path) {
        errno = ENOENT;
        fail(1, "no usable", "NOTIFY_SOCKET");
    }
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* a name without a file */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (sendto(fd, text, sizeof text - 1, 0, (struct sockaddr *)&address, size) < 0)
        fail(1, "cannot notify", path);
    close(fd);
}

static void become_ready(struct server *server) {
    static const char *const ports[][2] = {{"--http", "TETHER_HTTP_PORT"},
                                           {"--ws", "TETHER_WS_PORT"}};
    bool handed_down = find_option(server->options, "--listen-fds");
    if (handed_down)
        take_listen_fds(server);
    for (int i = 0; i < 2 && !handed_down; i++) {
        const char *given = text_of(server->options, ports[i][0]);
        long port = number_of(given ? given : getenv(ports[i][1]), 0);
        if (port > 0)
            listen_on(server, port);
    }
    if (find_option(server->options, "--hold-socket-child"))
        start_socket_holder();
    if (find_option(server->options, "--notify"))
        notify_ready();
}

static void accept_client(struct server *server, int listener) {
    for (int i = 0; i < MAX_CLIENTS; i++) {
        struct pollfd *place = &server->polled[FIRST_CLIENT + i];
        if (place->fd < 0) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
            *place = (struct pollfd){.fd = fd, .events = POLLIN};
            server->answered[i] = false;
            return;
        }
    }
    close(accept4(listener, NULL, NULL, SOCK_CLOEXEC)); /* too many */
}

/* Answers to the first bytes, then reads on to the end: closing with bytes unread would reset the
 * connection, and the answer could be lost. */
static void serve_client(struct server *server, int i) {
    char data[CHUNK], body[32];
    int fd = server->polled[FIRST_CLIENT + i].fd;
    ssize_t got = read(fd, data, sizeof data);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close(fd);
        server->polled[FIRST_CLIENT + i].fd = -1;
    } else if (got > 0 && !server->answered[i]) {
        server->answered[i] = true;
        int length = snprintf(body, sizeof body, "server %d\n", (int)getpid());
        dprintf(fd,
                "HTTP/1.1 %ld Test\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                "Connection: close\r\n\r\n%s",
                number_of(text_of(server->options, "--http-status"), 200), length, body);
        shutdown(fd, SHUT_WR);
    }
}

/* With --slow-accept only the timer lets a connection in; it is not even looked for before. */
static void serve_sockets(struct server *server) {
    uint64_t ticks;
    bool slow = server->polled[ACCEPT_TIMER].fd >= 0;
    bool tick = slow && read(server->polled[ACCEPT_TIMER].fd, &ticks, sizeof ticks) > 0;
    for (int i = FIRST_LISTENER; i < FIRST_CLIENT; i++) {
        struct pollfd *listener = &server->polled[i];
        listener->events = slow ? 0 : POLLIN;
        if (slow ? tick && listener->fd >= 0 : listener->revents != 0)
            accept_client(server, listener->fd);
    }
    for (int i = 0; i < MAX_CLIENTS; i++)
        if (server->polled[FIRST_CLIENT + i].revents)
            serve_client(server, i);
}

static void watch_signals(struct server *server, bool ignore_term) {
    sigset_t set, before;
    for (int i = 0; i < MAX_POLLED; i++)
        server->polled[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    sigprocmask(SIG_SETMASK, NULL, &before);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (ignore_term || signal(SIGTERM, SIG_DFL) == SIG_IGN)
        signal(SIGTERM, SIG_IGN);
    else if (!sigismember(&before, SIGTERM))
        sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    server->polled[SIGNALS].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
}

static void say_words(struct server *server) {
    const char *say = text_of(server->options, "--say");
    char line[64];
    int length = snprintf(line, sizeof line, "server up pid %d\n", (int)getpid());
    put(server, line, (size_t)length);
    if (say) {
        put(server, say, strlen(say));
        put(server, "\n", 1);
    }
}

/* What is put out, and the bomb, once the ports are open (or as soon as it starts, when they open
 * only later). */
static void misbehave(struct server *server) {
    say_words(server);
    if (server->is_to_end) /* its last words are said by then */
        server->polled[END_TIMER].fd =
            start_timer(number_option(server->options, "--after-ms"), false);
    put_much(server, "--flood");
    put_much(server, "--endless");
    put_much(server, "--binary");
    start_bomb(number_option(server->options, "--fork-bomb"));
}

static void run(struct server *server) {
    struct pollfd *polled = server->polled;
    char ignored[CHUNK];
    for (;;) {
        poll(polled, MAX_POLLED, -1);
        handle_events(server);
        if (polled[READY_TIMER].revents) {
            close(polled[READY_TIMER].fd);
            polled[READY_TIMER].fd = -1;
            become_ready(server);
        }
        if (polled[INPUT].revents && read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
            _exit(0);
        serve_sockets(server);
    }
}

int main(int argc, char **argv) {
    char **options = argv + 1;
    stamp(options);
    if (argc == 3 && strncmp(argv[1], "--escaped", 9) == 0)
        escape_and_wait(argv[2], argv[1][9] != '\0');
    check_options(options);
    bool use_stderr = find_option(options, "--stderr"), stubborn = find_option(options, "--escape");
    struct server server = {.options = options,
                            .output = use_stderr ? STDERR_FILENO : STDOUT_FILENO};
    watch_signals(&server, stubborn || find_option(options, "--ignore-term"));
    if (find_option(options, "--owner-report"))
        report_environment(text_of(options, "--owner-report"));
    if (stubborn || find_option(options, "--escape-obedient"))
        start_escapes(text_of(options, stubborn ? "--escape" : "--escape-obedient"), !stubborn);
    if (find_option(options, "--exit-on-stdin-eof"))
        server.polled[INPUT].fd = STDIN_FILENO;
    if (find_option(options, "--slow-accept"))
        server.polled[ACCEPT_TIMER].fd = start_timer(SLOW_ACCEPT_MS, true);
    server.is_to_end = is_to_end(options);
    if (server.is_to_end && !find_option(options, "--after-ms")) { /* at once: it never listens */
        say_words(&server);
        end_by_itself(options);
    }
    long ready_after = number_option(options, "--ready-after-ms");
    if (ready_after > 0)
        server.polled[READY_TIMER].fd = start_timer(ready_after, false);
    else if (!find_option(options, "--never-ready"))
        become_ready(&server);
    misbehave(&server);
    if (find_option(options, "--stop-self"))
        raise(SIGSTOP);
    run(&server);
}
