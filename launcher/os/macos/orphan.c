/* Ending what an earlier daemon left behind: not on this system yet. */
#include "os/os.h"

#include <errno.h>

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    (void)root;
    (void)grace_ms;
    return -ENOSYS;
}
