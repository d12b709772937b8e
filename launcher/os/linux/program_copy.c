#include "os/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* since Linux 6.3, where it may be needed; before, it is refused */
#endif

int posix_program_copy(const char *path) {
    int from = open(path, O_RDONLY | O_CLOEXEC), to, rc;
    ssize_t count = 1;
    if (from < 0)
        return -errno;
    to = memfd_create("tether", MFD_CLOEXEC | MFD_EXEC);
    if (to < 0 && errno == EINVAL)
        to = memfd_create("tether", MFD_CLOEXEC);
    while (to >= 0 && count > 0)
        count = sendfile(to, from, NULL, 1 << 30);
    rc = to < 0 || count < 0 ? -errno : to;
    if (rc < 0 && to >= 0)
        close(to);
    close(from);
    return rc;
}
