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
int os_process_session(const struct os_identity *identity, int64_t *session) {
    (void)identity;
    (void)session;
    return UV_ENOSYS;
}
