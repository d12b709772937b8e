#include "owner_check.h"

#include <uv.h>

#include "os/os.h"

int owner_check(const struct options *options, struct error *err) {
    const struct lifecycle_process *owner = &options->owner;
    struct os_identity meant = {(int64_t)owner->pid, owner->start}, now;
    if (owner->pid == 0 || os_liveness(&meant) != OS_DEAD)
        return 0;
    if (owner->start != 0 && os_identity_of(meant.pid, &now) == 0 && now.start != owner->start)
        return error_set(err, UV_ESRCH,
                         "pid %lld is another process than the owner meant: that one is dead, so "
                         "nothing is started for it (--owner-start)",
                         (long long)meant.pid);
    return error_set(err, UV_ESRCH,
                     "the owner, process %lld, does not live, so nothing is started for it; name "
                     "one that does (--owner-pid), or none",
                     (long long)meant.pid);
}
