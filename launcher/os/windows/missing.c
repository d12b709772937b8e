/* What is still missing on Windows: everything here says so, and does nothing. */
#include "os/not_yet.h"

#include "os/os_loop.h"
#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "os/os_tree.h"

int os_identity_of(int64_t pid, struct os_identity *identity) {
    (void)pid;
    (void)identity;
    return UV_ENOSYS;
}

int os_identity_parent(struct os_identity *identity) {
    (void)identity;
    return UV_ENOSYS;
}

enum os_life os_liveness(const struct os_identity *identity) {
    (void)identity;
    return OS_UNKNOWN;
}

enum os_answer os_same_namespace(int64_t pid) {
    (void)pid;
    return OS_MAYBE;
}

int os_process_open(struct os_process *process, const struct os_identity *identity) {
    process->handle = OS_NO_HANDLE;
    (void)identity;
    return UV_ENOSYS;
}

int os_process_wait(const struct os_process *process, int timeout_ms) {
    (void)process;
    (void)timeout_ms;
    return UV_ENOSYS;
}

void os_process_close(struct os_process *process) {
    (void)process;
}

int os_process_executable(const struct os_identity *identity, char *out, size_t size) {
    (void)identity;
    if (size > 0)
        out[0] = '\0';
    (void)size;
    return UV_ENOSYS;
}

void os_place(char out[OS_PLACE_MAX]) {
    out[0] = '\0';
}

enum os_answer os_place_is_ours(const char *place) {
    (void)place;
    return OS_MAYBE;
}

int os_process_parent(const struct os_identity *identity, int64_t *parent) {
    (void)identity;
    (void)parent;
    return UV_ENOSYS;
}

int os_process_user(const struct os_identity *identity, uint32_t *user) {
    (void)identity;
    (void)user;
    return UV_ENOSYS;
}

int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size) {
    (void)identity;
    (void)name;
    if (size > 0)
        out[0] = '\0';
    (void)size;
    return UV_ENOSYS;
}

int os_process_each(const char *name, const char *value, os_identity_fn fn, void *arg) {
    (void)name;
    (void)value;
    (void)fn;
    (void)arg;
    return UV_ENOSYS;
}

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    (void)root;
    (void)grace_ms;
    return UV_ENOSYS;
}

int os_instance_path(const char *state_dir, const char *instance, char *out, size_t size,
                     struct error *err) {
    (void)state_dir;
    (void)instance;
    if (size > 0)
        out[0] = '\0';
    (void)size;
    return os_not_yet(err, "keep its state");
}

int os_dir_open(struct os_dir *dir, const char *path, bool create, struct error *err) {
    dir->handle = OS_NO_HANDLE;
    (void)path;
    (void)create;
    return os_not_yet(err, "keep its state");
}

int os_dir_enter(struct os_dir *dir, const struct os_dir *parent, const char *name, bool create,
                 struct error *err) {
    dir->handle = OS_NO_HANDLE;
    (void)parent;
    (void)name;
    (void)create;
    return os_not_yet(err, "keep its state");
}

void os_dir_finish(struct os_dir *dir) {
    (void)dir;
}

int os_dir_each(const struct os_dir *dir, os_name_fn fn, void *arg) {
    (void)dir;
    (void)fn;
    (void)arg;
    return UV_ENOSYS;
}

int os_control_name(const struct os_dir *instance, bool create, char out[OS_ENDPOINT_MAX],
                    struct error *err) {
    (void)instance;
    (void)create;
    out[0] = '\0';
    return os_not_yet(err, "be reached");
}

bool os_control_is_answered(const struct os_dir *instance) {
    (void)instance;
    return false;
}

int os_control_remove(const struct os_dir *instance, struct error *err) {
    (void)instance;
    return os_not_yet(err, "be reached");
}

int os_file_write(const struct os_dir *dir, const char *name, const void *data, size_t length,
                  struct error *err) {
    (void)dir;
    (void)name;
    (void)data;
    (void)length;
    return os_not_yet(err, "keep its state");
}

int os_file_read(const struct os_dir *dir, const char *name, char *out, size_t size,
                 size_t *length) {
    (void)dir;
    (void)name;
    if (size > 0)
        out[0] = '\0';
    (void)size;
    (void)length;
    return UV_ENOSYS;
}

int os_file_remove(const struct os_dir *dir, const char *name) {
    (void)dir;
    (void)name;
    return UV_ENOSYS;
}

bool os_file_is_temporary(const char *name) {
    (void)name;
    return false;
}

int os_file_append(const struct os_dir *dir, const char *name, os_handle *handle, uint64_t *size) {
    (void)dir;
    (void)name;
    *handle = OS_NO_HANDLE;
    (void)size;
    return UV_ENOSYS;
}

int os_file_rename(const struct os_dir *dir, const char *from, const char *to) {
    (void)dir;
    (void)from;
    (void)to;
    return UV_ENOSYS;
}

void os_dir_wait(const struct os_dir *dir, int limit_ms) {
    (void)dir;
    (void)limit_ms;
}

int os_lock_take(os_handle *lock, const struct os_dir *dir, const char *name, struct error *err) {
    *lock = OS_NO_HANDLE;
    (void)dir;
    (void)name;
    return os_not_yet(err, "lock an instance");
}

int os_lock_adopt(os_handle lock, const struct os_dir *dir, const char *name, struct error *err) {
    (void)lock;
    (void)dir;
    (void)name;
    return os_not_yet(err, "lock an instance");
}

bool os_lock_is_current(os_handle lock, const struct os_dir *dir, const char *name) {
    (void)lock;
    (void)dir;
    (void)name;
    return true;
}

void os_lock_text(os_handle lock, char out[OS_LOCK_TEXT_MAX]) {
    (void)lock;
    out[0] = '\0';
}

int os_lock_is_held(const struct os_dir *dir, const char *name) {
    (void)dir;
    (void)name;
    return UV_ENOSYS;
}

int os_peer_of(os_handle connection, struct os_peer *peer) {
    (void)connection;
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    return UV_ENOSYS;
}

int os_tcp_peer_user(os_handle connection, uint32_t *user) {
    (void)connection;
    (void)user;
    return UV_ENOSYS;
}

int os_port_try(uint16_t port, struct error *err) {
    (void)port;
    return os_not_yet(err, "try a port");
}

int os_listen(os_handle *listener, uint16_t port, int backlog, struct error *err) {
    *listener = OS_NO_HANDLE;
    (void)port;
    (void)backlog;
    return os_not_yet(err, "listen");
}

int os_socket_port(os_handle handle, uint16_t *port) {
    (void)handle;
    (void)port;
    return UV_ENOSYS;
}

int os_port_holder(uint16_t port, struct os_port_holder *holder) {
    (void)port;
    (void)holder;
    return UV_ENOSYS;
}

int os_ready_tell(enum os_readiness what) {
    (void)what;
    return UV_ENOSYS;
}

size_t os_inherited_listeners(os_handle out[], size_t most) {
    (void)out;
    (void)most;
    return 0;
}

int os_write(os_handle handle, const void *data, size_t length) {
    (void)handle;
    (void)data;
    (void)length;
    return UV_ENOSYS;
}

int64_t os_write_now(os_handle handle, const void *data, size_t length) {
    (void)handle;
    (void)data;
    (void)length;
    return UV_ENOSYS;
}

bool os_wait_writable(os_handle handle, int limit_ms) {
    (void)handle;
    (void)limit_ms;
    return false;
}

int64_t os_read(os_handle handle, void *out, size_t size) {
    (void)handle;
    (void)out;
    (void)size;
    return UV_ENOSYS;
}

bool os_utc(int64_t seconds, struct tm *parts) {
    (void)seconds;
    (void)parts;
    return false;
}

const char *os_signal_name(int number) {
    (void)number;
    return "unknown";
}

os_handle os_stdio_unblocked(int number) {
    (void)number;
    return OS_NO_HANDLE;
}

int os_stdio_redirect(os_handle handle) {
    (void)handle;
    return UV_ENOSYS;
}

int os_watch_create(struct os_watch **watch, uv_loop_t *loop, const struct os_identity *identity,
                    uint32_t poll_ms, os_watch_fn fn, void *context) {
    *watch = NULL;
    (void)loop;
    (void)identity;
    (void)poll_ms;
    (void)fn;
    (void)context;
    return UV_ENOSYS;
}

void os_watch_destroy(struct os_watch *watch) {
    (void)watch;
}

int os_reader_watch(struct os_reader **reader, uv_loop_t *loop, os_handle output,
                    void (*fn)(void *context), void *context) {
    *reader = NULL;
    (void)loop;
    (void)output;
    (void)fn;
    (void)context;
    return UV_ENOSYS;
}

void os_reader_forget(struct os_reader *reader) {
    (void)reader;
}

int os_wishes_create(struct os_wishes **wishes, uv_loop_t *loop, unsigned which, os_wish_fn fn,
                     void *context) {
    *wishes = NULL;
    (void)loop;
    (void)which;
    (void)fn;
    (void)context;
    return UV_ENOSYS;
}

void os_wishes_destroy(struct os_wishes *wishes) {
    (void)wishes;
}

int os_ready_listen(struct os_ready **ready, uv_loop_t *loop, const struct os_dir *dir,
                    void (*fn)(void *context), void *context, struct error *err) {
    *ready = NULL;
    (void)loop;
    (void)dir;
    (void)fn;
    (void)context;
    return os_not_yet(err, "be told that a server is ready");
}

const char *os_ready_place(const struct os_ready *ready) {
    (void)ready;
    return NULL;
}

bool os_ready_is_there(const struct os_ready *ready) {
    (void)ready;
    return true;
}

void os_ready_forget(struct os_ready *ready) {
    (void)ready;
}

void os_ready_close(struct os_ready *ready) {
    (void)ready;
}

int os_control_listen(struct os_control **control, uv_loop_t *loop, const struct os_dir *instance,
                      int backlog, os_control_fn fn, void *context, struct error *err) {
    *control = NULL;
    (void)loop;
    (void)instance;
    (void)backlog;
    (void)fn;
    (void)context;
    return os_not_yet(err, "be reached");
}

int os_control_accept(struct os_control *control, uv_pipe_t *connection) {
    (void)control;
    (void)connection;
    return UV_ENOSYS;
}

bool os_control_is_there(const struct os_control *control) {
    (void)control;
    return true;
}

void os_control_close(struct os_control *control) {
    (void)control;
}

int os_control_connect(uv_connect_t *request, uv_pipe_t *pipe, const char *name,
                       uv_connect_cb callback) {
    (void)request;
    (void)pipe;
    (void)name;
    (void)callback;
    return UV_ENOSYS;
}

int os_control_peer(const uv_pipe_t *connection, struct os_peer *peer) {
    (void)connection;
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    return UV_ENOSYS;
}

int os_pipe(os_handle *reading, os_handle *writing) {
    *reading = OS_NO_HANDLE;
    *writing = OS_NO_HANDLE;
    return UV_ENOSYS;
}

int64_t os_pipe_read_now(uv_pipe_t *reader, void *out, size_t size) {
    (void)reader;
    (void)out;
    (void)size;
    return UV_ENOSYS;
}

void os_handles_keep(const os_handle *kept, size_t count) {
    (void)kept;
    (void)count;
}

int os_tree_create(struct os_tree **tree, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context) {
    *tree = NULL;
    (void)loop;
    (void)events;
    (void)context;
    return UV_ENOSYS;
}

void os_tree_destroy(struct os_tree *tree) {
    (void)tree;
}

int os_tree_start(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err) {
    (void)tree;
    (void)spec;
    return os_not_yet(err, "start servers");
}

bool os_tree_ask(struct os_tree *tree) {
    (void)tree;
    return false;
}

void os_tree_kill(struct os_tree *tree) {
    (void)tree;
}

bool os_tree_forward(struct os_tree *tree, enum os_wish wish) {
    (void)tree;
    (void)wish;
    return false;
}

struct os_identity os_tree_keeper(const struct os_tree *tree) {
    (void)tree;
    return (struct os_identity){0};
}

const bool os_tree_is_certain = false;

const char os_ready_variable[] = "TETHER_READY";