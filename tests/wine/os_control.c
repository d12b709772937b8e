/* The control endpoint. */
#include "tap.h"

#include "os/os_loop.h"

#include <aclapi.h>
#include <sddl.h>

enum { CLIENTS = 20 };

/* ---- a daemon that answers each line with the pid it sees ---- */

struct daemon {
    uv_loop_t loop;
    struct os_control *control;
    struct os_dir dir;
    int connections, wanted;
    struct os_peer last;
    int last_rc;
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle;
    *buf = uv_buf_init(malloc(suggested), (unsigned)suggested);
}

static void on_closed(uv_handle_t *handle) {
    free(handle);
}

static void on_wrote(uv_write_t *write, int status) {
    (void)status;
    free(write->data);
    free(write);
}

static void say(uv_stream_t *stream, const char *text) {
    uv_write_t *write = malloc(sizeof *write);
    write->data = _strdup(text);
    uv_buf_t buf = uv_buf_init(write->data, (unsigned)strlen(text));
    uv_write(write, stream, &buf, 1, on_wrote);
}

static void on_server_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct daemon *daemon = stream->loop->data;
    if (count < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
        if (++daemon->connections == daemon->wanted) {
            os_control_close(daemon->control);
            daemon->control = NULL;
        }
    } else if (count > 0) {
        char text[64];
        struct os_peer peer;
        daemon->last_rc = os_control_peer((uv_pipe_t *)stream, &peer);
        daemon->last = peer;
        os_process_close(&peer.process);
        snprintf(text, sizeof text, "you are %lld\n", (long long)peer.process.identity.pid);
        say(stream, text);
    }
    free(buf->base);
}

static void on_connection(void *context) {
    struct daemon *daemon = context;
    uv_pipe_t *pipe = malloc(sizeof *pipe);
    uv_pipe_init(&daemon->loop, pipe, 0);
    if (os_control_accept(daemon->control, pipe) == 0)
        uv_read_start((uv_stream_t *)pipe, on_alloc, on_server_read);
    else
        uv_close((uv_handle_t *)pipe, on_closed);
}

static int daemon_open(struct daemon *daemon, const char *instance, int wanted) {
    struct error err = {0};
    int rc;
    *daemon = (struct daemon){.wanted = wanted};
    uv_loop_init(&daemon->loop);
    daemon->loop.data = daemon;
    rc = tap_open_dir(&daemon->dir, instance);
    if (rc == 0)
        rc = os_control_listen(&daemon->control, &daemon->loop, &daemon->dir, 16, on_connection,
                               daemon, &err);
    if (rc < 0)
        printf("# %s\n", err.message);
    return rc;
}

static int daemon_close(struct daemon *daemon) {
    os_control_close(daemon->control);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    os_dir_finish(&daemon->dir);
    return uv_loop_close(&daemon->loop);
}

/* ---- clients, in a process of their own ---- */

struct client {
    uv_pipe_t pipe;
    uv_timer_t again;
    const char *name;
    int *answered, status;
};

static void on_client_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct client *client = stream->data;
    char expected[64];
    snprintf(expected, sizeof expected, "you are %lu\n", GetCurrentProcessId());
    if (count == (ssize_t)strlen(expected) && memcmp(buf->base, expected, (size_t)count) == 0)
        ++*client->answered;
    free(buf->base);
    uv_close((uv_handle_t *)stream, NULL);
}

static void try_connect(uv_timer_t *timer) {
    struct client *client = timer->data;
    client->status = os_control_connect(&client->pipe, client->name);
    if (client->status == UV_EAGAIN) {
        uv_timer_start(&client->again, try_connect, 2, 0);
    } else if (client->status < 0) {
        uv_close((uv_handle_t *)&client->pipe, NULL);
    } else {
        uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_client_read);
        say((uv_stream_t *)&client->pipe, "hello\n");
    }
}

/* Connects so often, and says how many got the right answer. */
static int connect_all(const char *name, int count, int *status) {
    static struct client clients[CLIENTS];
    uv_loop_t loop;
    int answered = 0;
    uv_loop_init(&loop);
    memset(clients, 0, sizeof clients);
    for (int i = 0; i < count; i++) {
        uv_pipe_init(&loop, &clients[i].pipe, 0);
        uv_timer_init(&loop, &clients[i].again);
        clients[i].pipe.data = clients[i].again.data = &clients[i];
        clients[i].name = name;
        clients[i].answered = &answered;
        try_connect(&clients[i].again);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    *status = clients[0].status;
    for (int i = 0; i < count; i++)
        uv_close((uv_handle_t *)&clients[i].again, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return answered;
}

static void test_many_clients_at_once(void) {
    struct daemon daemon;
    PROCESS_INFORMATION child;
    char name[OS_ENDPOINT_MAX], words[512];
    DWORD code = 9;
    check(daemon_open(&daemon, "many", CLIENTS) == 0);
    check(os_control_name(&daemon.dir, false, name, NULL) == 0);
    printf("# %s\n", name);
    check(strncmp(name, "\\\\.\\pipe\\tether-S-1-5-21-", 25) == 0);
    bool answered = os_control_is_answered(&daemon.dir);
    snprintf(words, sizeof words, "connect %s", name);
    check(tap_child(&child, words, NULL));
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    WaitForSingleObject(child.hProcess, 30000);
    GetExitCodeProcess(child.hProcess, &code);
    bool after = os_control_is_answered(&daemon.dir);
    tap_end(&child);
    int closed = daemon_close(&daemon);
    check(answered && !after);
    check(code == CLIENTS);
    check(daemon.last_rc == 0 && daemon.last.user == os_user_self());
    check(daemon.last.process.identity.pid == child.dwProcessId);
    check(daemon.last.process.identity.start != 0);
    check(closed == 0);
}

static void test_nobody_listens(void) {
    int status = 0;
    check(connect_all("\\\\.\\pipe\\tether-nobody", 1, &status) == 0);
    check(status == UV_ENOENT);
}

static void test_closed_before_anybody_came(void) {
    struct daemon daemon;
    check(daemon_open(&daemon, "closed", 1) == 0);
    check(os_control_is_there(daemon.control));
    os_control_close(daemon.control);
    daemon.control = NULL;
    check(daemon_close(&daemon) == 0);
    check(daemon_open(&daemon, "closed", 1) == 0); /* the name is free again */
    check(daemon_close(&daemon) == 0);
}

/* What Wine does not enforce it keeps: the list that the pipe was made with. */
static void test_the_pipe_is_for_our_user_alone(void) {
    struct daemon daemon;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    SECURITY_INFORMATION what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    char name[OS_ENDPOINT_MAX], *text = NULL;
    check(daemon_open(&daemon, "list", 1) == 0);
    check(os_control_name(&daemon.dir, false, name, NULL) == 0);
    HANDLE pipe = CreateFileA(name, READ_CONTROL | GENERIC_READ | GENERIC_WRITE, 0, NULL,
                              OPEN_EXISTING, SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
    DWORD error =
        GetSecurityInfo(pipe, SE_KERNEL_OBJECT, what, NULL, NULL, NULL, NULL, &descriptor);
    ConvertSecurityDescriptorToStringSecurityDescriptorA(descriptor, 1, what, &text, NULL);
    CloseHandle(pipe);
    LocalFree(descriptor);
    printf("# %s\n", text ? text : "-");
    check(error == 0 && text);
    check(strstr(text, "(A;;GA;;;SY)"));
    check(!strstr(text, ";;;NU)")); /* who logs on by SSH comes from there, and is ourselves */
    check(strncmp(text, "O:S-1-5-21-", 11) == 0 && strstr(text, "(A;;GA;;;S-1-5-21-"));
    check(!strstr(text, ";;;WD)") && !strstr(text, ";;;AN)"));
    LocalFree(text);
    check(daemon_close(&daemon) == 0);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_many_clients_at_once),
        TEST(test_nobody_listens),
        TEST(test_closed_before_anybody_came),
        TEST(test_the_pipe_is_for_our_user_alone),
    };
    int status;
    if (argc == 3 && strcmp(argv[1], "connect") == 0)
        return connect_all(argv[2], CLIENTS, &status);
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
