/* Who is at the other end of a Unix socket. */
#include "os/os.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/ucred.h>
#include <sys/un.h>

int os_peer_of(os_handle connection, struct os_peer *peer) {
    struct xucred credentials;
    pid_t pid = 0;
    socklen_t length = sizeof credentials;
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    if (getsockopt((int)connection, SOL_LOCAL, LOCAL_PEERCRED, &credentials, &length) < 0)
        return -errno;
    peer->user = credentials.cr_uid;
    peer->group = credentials.cr_ngroups > 0 ? credentials.cr_groups[0] : UINT32_MAX;
    length = sizeof pid;
    if (getsockopt((int)connection, SOL_LOCAL, LOCAL_PEERPID, &pid, &length) < 0)
        return errno == ENOTCONN ? -ESRCH : -errno;
    if (pid <= 0)
        return -ESRCH;
    struct os_identity identity = {.pid = pid};
    int rc = os_process_open(&peer->process, &identity);
    if (rc != -ENOSYS)
        return rc;
    rc = os_identity_of(pid, &peer->process.identity); /* it cannot be held on to */
    return rc == -EACCES ? 0 : rc;
}
