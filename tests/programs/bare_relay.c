/* What any HTTP address for a stdio server costs at least: copies the bodies of requests to the
 * standard input of a command, and its answers back, one client at a time. It looks at nothing but
 * where bodies and lines end, guards nothing, and loses what it is not made for. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

extern char **environ;
static char in[SIZE + 1], line[SIZE + 1], head[256];

static int listen_at(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0)
        exit(1);
    return fd;
}

/* The body of the next request in `in`, with its end; NULL: the client has gone. */
static char *next_body(int client, size_t *length) {
    size_t count = 0;
    char *body = NULL, *found;
    while (!body || count < (size_t)(body - in) + *length) {
        ssize_t more = read(client, in + count, SIZE - count);
        if (more <= 0)
            return NULL;
        count += (size_t)more;
        in[count] = 0;
        found = strstr(in, "\r\n\r\n");
        if (body || !found)
            continue;
        body = found + 4;
        found = strcasestr(in, "content-length:");
        *length = found ? (size_t)atol(found + 15) : 0;
    }
    return body;
}

/* The next line that is an answer; its length. */
static size_t next_answer(int output) {
    for (;;) {
        size_t count = 0;
        do {
            ssize_t more = read(output, line + count, SIZE - count);
            if (more <= 0)
                exit(0);
            count += (size_t)more;
        } while (line[count - 1] != '\n');
        line[count] = 0;
        if (strstr(line, "\"result\""))
            return count;
    }
}

static void serve(int client, int input, int output) {
    int on = 1;
    size_t length;
    char *body;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while ((body = next_body(client, &length)) != NULL) {
        bool asks = memmem(body, length, "\"id\"", 4);
        size_t size = 0;
        struct iovec parts[2] = {{.iov_base = head}, {.iov_base = line}};
        body[length] = '\n';
        if (write(input, body, length + 1) < 0)
            exit(1);
        if (asks)
            size = next_answer(output);
        parts[0].iov_len = (size_t)snprintf(head, sizeof head,
                                            "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                                            "Content-Length: %zu\r\n\r\n",
                                            asks ? "200 OK" : "202 Accepted", size);
        parts[1].iov_len = size;
        if (writev(client, parts, 2) < 0)
            return;
    }
}

/* usage: bare_relay PORT COMMAND… */
int main(int argc, char **argv) {
    posix_spawn_file_actions_t actions;
    int listener, input[2], output[2];
    pid_t pid;
    if (argc < 3 || pipe(input) < 0 || pipe(output) < 0)
        return 2;
    listener = listen_at((int)strtol(argv[1], NULL, 10));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    posix_spawn_file_actions_addclose(&actions, input[1]);
    if (posix_spawnp(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0)
        return 1;
    close(input[0]);
    close(output[1]);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        serve(client, input[1], output[0]);
        close(client);
    }
}
