/* Five processes that do what a server's children do to get away from their supervisor:
 *
 *     same      in the server's group
 *     group     in a group of its own
 *     session   in a session of its own
 *     double    forked twice, in a new session, its environment emptied by exec
 *     root      the server itself
 *
 * Each ignores SIGTERM, SIGINT and SIGHUP, appends "NAME PID" to the file named by the argument
 * (standard output without one), and pauses. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void record(const char *path, const char *name) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %d\n", name, (int)getpid());
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : STDOUT_FILENO;

    if (fd < 0 || write(fd, line, (size_t)length) != length)
        _exit(1);
    if (path)
        close(fd);
}

static _Noreturn void stay(const char *path, const char *name) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    record(path, name);
    for (;;)
        pause();
}

static void escape_double(const char *path) {
    char self[] = "/proc/self/exe";
    char word[] = "escape";
    char mark[] = "--double";
    char file[4096] = "";
    char *argv[] = {word, mark, path ? file : NULL, NULL};
    char *environment[] = {NULL};

    if (path)
        snprintf(file, sizeof file, "%s", path);
    setsid();
    if (fork() == 0) {
        execve(self, argv, environment);
        _exit(1);
    }
    _exit(0);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[argc - 1] : NULL;
    pid_t child;

    if (argc > 1 && strcmp(argv[1], "--double") == 0)
        stay(argc > 2 ? argv[2] : NULL, "double");
    if (fork() == 0)
        stay(path, "same");
    if (fork() == 0) {
        setpgid(0, 0);
        stay(path, "group");
    }
    if (fork() == 0) {
        setsid();
        stay(path, "session");
    }
    child = fork();
    if (child == 0)
        escape_double(path);
    waitpid(child, NULL, 0);
    stay(path, "root");
}
