/* The lock that says who runs an instance.
 *
 * It is an open file description lock: it belongs to the open file, not to the process, so it
 * follows the descriptor through fork and exec and ends with the last copy. Unlike flock it can be
 * asked about without being taken. The file is never unlinked by us; if somebody else does that, a
 * lock on the file that is gone would exclude nobody, hence the check after taking it. The shared
 * flock on the directory excludes nobody either: systemd-tmpfiles, which cleans /tmp, passes over
 * directories that have one. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a file that vanishes under our hands is opened anew. */
#define ATTEMPTS 16

/* Whether the open file is the one that the name stands for now, which includes that it has a name:
 * an inode in use is not given to another file. */
static bool is_current(int fd, const struct os_dir *dir, const char *name) {
    struct stat mine, named;
    return fstat(fd, &mine) == 0 &&
           fstatat((int)dir->handle, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

static int lock_whole(int fd) {
    struct flock request = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &request) == 0)
        return 0;
    return errno == EACCES || errno == EAGAIN ? -EWOULDBLOCK : -errno;
}

static int open_lock_file(const struct os_dir *dir, const char *name) {
    struct stat st;
    int rc = -EPERM;
    int fd = openat((int)dir->handle, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        rc = -errno;
    else if (S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    return rc;
}

static void keep_from_cleaners(const struct os_dir *dir) {
    flock((int)dir->handle, LOCK_SH | LOCK_NB);
}

/* Returns the descriptor; -ESTALE: the file was removed or replaced meanwhile. */
static int take_once(const struct os_dir *dir, const char *name) {
    int fd = open_lock_file(dir, name);
    if (fd < 0)
        return fd;
    int rc = lock_whole(fd);
    if (rc == 0 && is_current(fd, dir, name))
        return fd;
    close(fd);
    return rc < 0 ? rc : -ESTALE;
}

int os_lock_take(os_handle *lock, const struct os_dir *dir, const char *name, struct error *err) {
    int rc = posix_name_is_plain(name) ? -ESTALE : -EINVAL;
    *lock = OS_NO_HANDLE;
    for (int i = 0; i < ATTEMPTS && rc == -ESTALE; i++)
        rc = take_once(dir, name);
    if (rc >= 0) {
        *lock = rc;
        keep_from_cleaners(dir);
        return 0;
    }
    if (rc == -EWOULDBLOCK)
        return error_set(err, rc, "%s/%s is locked: this instance already runs", dir->path, name);
    return error_set(err, rc,
                     "cannot lock %s/%s: %s; put this right, or set TETHER_STATE_DIR to another "
                     "directory",
                     dir->path, name ? name : "", os_error_text(rc).text);
}

int os_lock_adopt(os_handle lock, const struct os_dir *dir, const char *name, struct error *err) {
    int fd = (int)lock;
    int rc = posix_name_is_plain(name) ? posix_cloexec(fd) : -EINVAL;
    if (rc == 0 && !is_current(fd, dir, name))
        rc = -ESTALE;
    /* Succeeds at once if this handle has the lock, and puts right a lock that was lost. */
    if (rc == 0)
        rc = lock_whole(fd);
    if (rc < 0)
        return error_set(err, rc, "the inherited descriptor %d is not the lock %s/%s: %s", fd,
                         dir->path, name ? name : "", os_error_text(rc).text);
    keep_from_cleaners(dir);
    return 0;
}

bool os_lock_is_current(os_handle lock, const struct os_dir *dir, const char *name) {
    struct stat mine, named;
    return is_current((int)lock, dir, name) && fstat((int)dir->handle, &mine) == 0 &&
           lstat(dir->path, &named) == 0 && mine.st_dev == named.st_dev &&
           mine.st_ino == named.st_ino;
}

void os_lock_text(os_handle lock, char out[OS_LOCK_TEXT_MAX]) {
    struct stat st;
    out[0] = '\0';
    if (fstat((int)lock, &st) == 0)
        snprintf(out, OS_LOCK_TEXT_MAX, "%" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev,
                 (uint64_t)st.st_ino);
}

int os_lock_is_held(const struct os_dir *dir, const char *name) {
    struct flock question = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (!posix_name_is_plain(name))
        return -EINVAL;
    int fd = openat((int)dir->handle, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int rc = fcntl(fd, F_OFD_GETLK, &question) < 0 ? -errno : question.l_type != F_UNLCK;
    close(fd);
    return rc;
}
