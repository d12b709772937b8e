/* A server whose daemon is gone. Its job ends with the daemon's last handle, so that nothing of a
 * tree is ever left here; should the recorded process still be there all the same, it is ended, and
 * it alone: nothing proves of any other that it was part of that tree. It cannot be asked, for its
 * console was the daemon's. */
#include "win.h"

enum { KILLED = 1, GONE_MOST_MS = 5000 };

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    struct os_identity identity = *root;
    HANDLE process;
    int rc = root->start ? win_process_open(&identity, WIN_ASK | PROCESS_TERMINATE, &process)
                         : UV_EINVAL;
    (void)grace_ms;
    if (rc < 0)
        return rc;
    if (win_has_ended(process))
        rc = UV_ESRCH;
    else if (!TerminateProcess(process, KILLED) && !win_has_ended(process))
        rc = win_error();
    if (rc == 0 && WaitForSingleObject(process, GONE_MOST_MS) != WAIT_OBJECT_0)
        rc = UV_ETIMEDOUT;
    CloseHandle(process);
    return rc;
}
