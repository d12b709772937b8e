/* Trees of processes: not on this system yet. */
#include "os/os_tree.h"

#include "os/not_yet.h"

const bool os_tree_is_certain = false;

int os_tree_create(struct os_tree **tree, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context) {
    (void)loop;
    (void)events;
    (void)context;
    *tree = NULL;
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
