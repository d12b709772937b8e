/* What is still missing on Windows: everything here says so, and does nothing. */
#include "os/not_yet.h"

#include "os/os_loop.h"
#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "os/os_tree.h"

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    (void)root;
    (void)grace_ms;
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
int os_tcp_server_user(os_handle connection, uint32_t *user) {
    (void)connection;
    (void)user;
    return UV_ENOSYS;
}
