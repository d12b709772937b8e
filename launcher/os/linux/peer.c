/* Who is at the other end of a Unix socket. */
#include "pidfd.h"

#include <errno.h>
#include <sys/socket.h>

/* Since Linux 6.5. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Takes the pidfd that the kernel kept from the time of the connect. */
static int open_kept(int fd, struct os_process *process) {
    int pidfd;
    socklen_t length = sizeof pidfd;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) < 0) {
        /* A process that has been collected may be reported as an invalid one. */
        return errno == EINVAL || errno == ENODATA ? -ESRCH : -errno;
    }
    process->handle = pidfd;
    int rc = pidfd_verify(process);
    if (rc < 0)
        os_process_close(process);
    return rc;
}

static int open_peer(int fd, struct os_process *process) {
    struct os_identity identity = process->identity;
    int rc = open_kept(fd, process);
    if (rc == -ENOPROTOOPT)
        rc = os_process_open(process, &identity);
    if (rc != -ENOSYS)
        return rc;
    /* No pidfds at all: the identity must do. */
    process->handle = OS_NO_HANDLE;
    rc = os_identity_of(identity.pid, &process->identity);
    return rc == -EACCES ? 0 : rc;
}

int os_peer_of(os_handle connection, struct os_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    if (getsockopt((int)connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
        return -errno;
    peer->user = (uint32_t)credentials.uid;
    peer->group = (uint32_t)credentials.gid;
    if (credentials.pid <= 0)
        return 0;
    peer->process.identity.pid = credentials.pid;
    return open_peer((int)connection, &peer->process);
}
