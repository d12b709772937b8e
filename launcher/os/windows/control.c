/* The control endpoint: a named pipe for our own user only.
 *
 * libuv would make it so that everybody may read, and other machines may come. So the instances of
 * the pipe are made here, with a list of their own, one waiting at a time; the wait for its client
 * is the system's, and wakes the loop. A connection then is libuv's. */
#include "os/os_loop.h"
#include "win.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

const bool os_control_is_file = false;

enum { PIPE_BYTES = 65536, AGAIN_MS = 100 };

struct os_control {
    uv_async_t connected;
    uv_timer_t again; /* what the system has refused is tried once more */
    int open_handles;
    OVERLAPPED overlapped;
    HANDLE instance; /* which waits for a client, or has one that nobody has taken */
    HANDLE wait;
    wchar_t *name;
    os_control_fn fn;
    void *context;
};

static int make_instance(const wchar_t *name, bool first, HANDLE *instance) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    int rc = win_descriptor(WIN_PRIVATE_PIPE, &attributes.lpSecurityDescriptor);
    *instance = INVALID_HANDLE_VALUE;
    if (rc < 0)
        return rc;
    *instance = CreateNamedPipeW(/* those of other machines are turned away, whoever they are */
                                 name,
                                 PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED |
                                     (first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
                                 PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT |
                                     PIPE_REJECT_REMOTE_CLIENTS,
                                 PIPE_UNLIMITED_INSTANCES, PIPE_BYTES, PIPE_BYTES, 0, &attributes);
    rc = *instance == INVALID_HANDLE_VALUE ? win_error() : 0;
    LocalFree(attributes.lpSecurityDescriptor);
    return rc;
}

/* On a thread of the system's. */
static void CALLBACK on_signalled(void *context, BOOLEAN timed_out) {
    struct os_control *control = context;
    (void)timed_out;
    uv_async_send(&control->connected);
}

static void forget_wait(struct os_control *control) {
    if (control->wait)
        UnregisterWaitEx(control->wait, INVALID_HANDLE_VALUE);
    control->wait = NULL;
}

/* Lets the instance wait for its client. */
static int await_client(struct os_control *control) {
    HANDLE event = control->overlapped.hEvent;
    control->overlapped = (OVERLAPPED){.hEvent = event};
    ResetEvent(event);
    if (!ConnectNamedPipe(control->instance, &control->overlapped)) {
        DWORD error = GetLastError();
        if (error == ERROR_PIPE_CONNECTED || error == ERROR_NO_DATA) /* it was quicker */
            SetEvent(event);
        else if (error != ERROR_IO_PENDING)
            return win_code(error);
    }
    return RegisterWaitForSingleObject(&control->wait, event, on_signalled, control, INFINITE,
                                       WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD)
               ? 0
               : win_error();
}

static bool has_client(const struct os_control *control) {
    return WaitForSingleObject(control->overlapped.hEvent, 0) == WAIT_OBJECT_0;
}

static void on_connected(uv_async_t *async) {
    struct os_control *control = async->data;
    if (control->wait && has_client(control))
        control->fn(control->context);
}

static void drop_instance(struct os_control *control) {
    DWORD count;
    forget_wait(control);
    if (control->instance == INVALID_HANDLE_VALUE)
        return;
    if (CancelIoEx(control->instance, &control->overlapped))
        GetOverlappedResult(control->instance, &control->overlapped, &count, TRUE);
    CloseHandle(control->instance);
}

static void on_again(uv_timer_t *timer);

static void try_again(struct os_control *control) {
    uv_timer_start(&control->again, on_again, AGAIN_MS, 0);
}

/* A client that nobody could take is still there. An instance that could not wait for one is
 * replaced: whether it does wait is not known. */
static void on_again(uv_timer_t *timer) {
    struct os_control *control = timer->data;
    HANDLE next;
    if (has_client(control)) {
        control->fn(control->context);
    } else if (make_instance(control->name, false, &next) < 0) {
        try_again(control);
    } else {
        drop_instance(control);
        control->instance = next;
        if (await_client(control) < 0)
            try_again(control);
    }
}

int os_control_listen(struct os_control **out, uv_loop_t *loop, const struct os_dir *instance,
                      int backlog, os_control_fn fn, void *context, struct error *err) {
    struct os_control *control = memory_zeroed(sizeof *control);
    char name[OS_ENDPOINT_MAX];
    int rc = control ? os_control_name(instance, true, name, err) : UV_ENOMEM;
    (void)backlog; /* one waits at a time; who finds none free is told to try again */
    *out = NULL;
    if (rc < 0) {
        free(control);
        return rc == UV_ENOMEM ? error_set(err, rc, "out of memory") : rc;
    }
    *control = (struct os_control){
        .instance = INVALID_HANDLE_VALUE, .name = win_wide(name), .fn = fn, .context = context};
    rc = uv_async_init(loop, &control->connected, on_connected);
    uv_timer_init(loop, &control->again);
    control->open_handles = 2;
    control->connected.data = control->again.data = control;
    control->overlapped.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (rc == 0 && (!control->name || !control->overlapped.hEvent))
        rc = UV_ENOMEM;
    if (rc == 0)
        rc = make_instance(control->name, true, &control->instance);
    if (rc == 0)
        rc = await_client(control);
    if (rc < 0) {
        os_control_close(control);
        return error_set(err, rc, "cannot listen on %s: %s", name, uv_strerror(rc));
    }
    *out = control;
    return 0;
}

/* The next instance waits before this one is given away: there is always one of the name, so that
 * nobody else can be the first. Until there is a next one this client waits. */
int os_control_accept(struct os_control *control, uv_pipe_t *connection) {
    HANDLE taken = control->instance, next;
    int rc = make_instance(control->name, false, &next);
    if (rc < 0) {
        try_again(control);
        return rc;
    }
    forget_wait(control);
    control->instance = next;
    if (await_client(control) < 0)
        try_again(control);
    return win_pipe_open(connection, taken);
}

static void free_control(uv_handle_t *handle) {
    struct os_control *control = handle->data;
    if (--control->open_handles > 0)
        return;
    if (control->overlapped.hEvent)
        CloseHandle(control->overlapped.hEvent);
    free(control->name);
    free(control);
}

void os_control_close(struct os_control *control) {
    if (!control)
        return;
    drop_instance(control);
    uv_close((uv_handle_t *)&control->connected, free_control);
    uv_close((uv_handle_t *)&control->again, free_control);
}

/* Nobody can remove it: it is there as long as we hold it. */
bool os_control_is_there(const struct os_control *control) {
    return control->instance != INVALID_HANDLE_VALUE;
}

/* ---- the other side ---- */

bool os_control_is_answered(const struct os_dir *instance) {
    char name[OS_ENDPOINT_MAX];
    wchar_t *wide;
    bool answered;
    if (os_control_name(instance, false, name, NULL) < 0)
        return false;
    wide = win_wide(name);
    /* 1 ms: 0 would mean the time that the other side has set. */
    answered = wide && (WaitNamedPipeW(wide, 1) || GetLastError() == ERROR_SEM_TIMEOUT);
    free(wide);
    return answered;
}

static int check_server(HANDLE pipe) {
    struct os_identity server = {0};
    struct win_user user;
    HANDLE process;
    ULONG pid;
    int rc;
    if (!GetNamedPipeServerProcessId(pipe, &pid))
        return win_error();
    server.pid = pid;
    rc = win_process_open(&server, PROCESS_QUERY_LIMITED_INFORMATION, &process);
    if (rc < 0)
        return rc;
    rc = win_user_of(process, &user);
    CloseHandle(process);
    if (rc == 0 && !win_is_self(&user.sid))
        rc = UV_EACCES;
    return rc;
}

/* A server may learn who we are, and do nothing in our name. Whether it is ours is asked before
 * anything is said. */
static int open_pipe(const char *name, HANDLE *pipe) {
    wchar_t *wide = win_wide(name);
    int rc = wide ? 0 : UV_ENOMEM;
    *pipe = INVALID_HANDLE_VALUE;
    if (rc == 0) {
        *pipe = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                            FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
                            NULL);
        rc = *pipe == INVALID_HANDLE_VALUE ? win_error() : check_server(*pipe);
    }
    free(wide);
    if (rc < 0 && *pipe != INVALID_HANDLE_VALUE)
        CloseHandle(*pipe);
    return rc;
}

int os_control_connect(uv_pipe_t *pipe, const char *name) {
    HANDLE handle;
    int rc = open_pipe(name, &handle);
    return rc < 0 ? rc : win_pipe_open(pipe, handle);
}

/* ---- who has connected ---- */

/* By the user that the system notes for the connection: the process may have been given its handle
 * by another. */
static int noted_user(HANDLE pipe, struct win_user *user) {
    union {
        TOKEN_USER user;
        BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } answer;
    HANDLE token;
    DWORD length;
    int rc = 0;
    if (!ImpersonateNamedPipeClient(pipe))
        return win_error();
    if (!OpenThreadToken(GetCurrentThread(), TOKEN_QUERY, TRUE, &token))
        rc = win_error();
    if (!RevertToSelf())
        abort(); /* to go on as somebody else is worse than any end */
    if (rc < 0)
        return rc;
    if (!GetTokenInformation(token, TokenUser, &answer, sizeof answer, &length) ||
        !CopySid(sizeof *user, &user->sid, answer.user.User.Sid))
        rc = win_error();
    CloseHandle(token);
    return rc;
}

/* A client that did not say how far it may be impersonated is noted with its first words only, and
 * one that may not be at all never: then it is the process that is asked. */
static int client_user(HANDLE pipe, const struct os_process *process, struct win_user *user) {
    int rc = noted_user(pipe, user);
    return rc == 0 || process->handle == OS_NO_HANDLE ? rc
                                                      : win_user_of((HANDLE)process->handle, user);
}

/* A process that hides from us, as one with more rights may, is there all the same. */
static int open_other(HANDLE pipe, bool is_client, struct os_process *process) {
    struct os_identity identity = {0};
    ULONG pid = 0;
    int rc;
    if (!(is_client ? GetNamedPipeClientProcessId : GetNamedPipeServerProcessId)(pipe, &pid))
        return win_error();
    identity.pid = pid;
    rc = os_process_open(process, &identity);
    return rc == UV_EACCES ? 0 : rc == UV_EINVAL ? UV_ESRCH : rc;
}

int os_peer_of(os_handle connection, struct os_peer *peer) {
    HANDLE pipe = (HANDLE)connection;
    struct win_user user;
    DWORD flags;
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    if (!GetNamedPipeInfo(pipe, &flags, NULL, NULL, NULL))
        return win_error();
    bool is_client = flags & PIPE_SERVER_END; /* the other */
    int rc = open_other(pipe, is_client, &peer->process);
    if (rc < 0)
        return rc;
    rc = is_client                              ? client_user(pipe, &peer->process, &user)
         : peer->process.handle == OS_NO_HANDLE ? UV_EACCES
                                                : win_user_of((HANDLE)peer->process.handle, &user);
    if (rc < 0)
        os_process_close(&peer->process);
    else
        peer->user = peer->group = win_user_number(&user);
    return rc;
}

int os_control_peer(const uv_pipe_t *connection, struct os_peer *peer) {
    uv_os_fd_t handle;
    int rc = uv_fileno((const uv_handle_t *)connection, &handle);
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    return rc < 0 ? rc : os_peer_of((os_handle)handle, peer);
}
