/* Small files in a private directory, replaced whole and read whole. */
#include "os/names.h"
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the temporary file and gives it its name. */
static int replace(int dir, const char *name, const char *temporary, const void *data,
                   size_t length) {
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    if (fd < 0)
        return -errno;
    int rc = os_write(fd, data, length);
    /* Network and quota file systems may refuse the data only now. */
    if (close(fd) < 0 && rc == 0 && errno != EINTR)
        rc = -errno;
    if (rc == 0 && renameat(dir, temporary, dir, name) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(dir, temporary, 0);
    return rc;
}

int os_file_write(const struct os_dir *dir, const char *name, const void *data, size_t length,
                  struct error *err) {
    char temporary[NAMES_MAX];
    int rc = posix_name_is_plain(name) ? names_temporary(temporary, name) : -EINVAL;
    if (rc == 0)
        rc = replace((int)dir->handle, name, temporary, data, length);
    if (rc < 0)
        return error_set(
            err, rc,
            "cannot write %s/%s: %s; put this right, or set TETHER_STATE_DIR to another directory",
            dir->path, name ? name : "", os_error_text(rc).text);
    return 0;
}

/* Checks what was opened, then reads it all. Returns the length. */
static ssize_t read_checked(int fd, char *out, size_t size) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EPERM;
    ssize_t n = posix_read_all(fd, out, size);
    return n >= 0 && (size_t)n == size ? -EFBIG : n;
}

int os_file_read(const struct os_dir *dir, const char *name, char *out, size_t size,
                 size_t *length) {
    if (size == 0 || !posix_name_is_plain(name))
        return -EINVAL;
    out[0] = '\0';
    /* Without O_NONBLOCK a fifo put there would hang us. */
    int fd = openat((int)dir->handle, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read_checked(fd, out, size);
    close(fd);
    out[n < 0 ? 0 : n] = '\0';
    if (n < 0)
        return (int)n;
    if (length)
        *length = (size_t)n;
    return 0;
}

int posix_node_of(const char *path, struct posix_node *node) {
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    *node = (struct posix_node){st.st_dev, st.st_ino};
    return 0;
}

bool posix_node_is_there(const char *path, const struct posix_node *node) {
    struct posix_node now = {0};
    return posix_node_of(path, &now) == 0 && now.device == node->device && now.inode == node->inode;
}

void posix_node_remove(const char *path, const struct posix_node *node) {
    if (posix_node_is_there(path, node))
        unlink(path);
}

int os_file_remove(const struct os_dir *dir, const char *name) {
    if (!posix_name_is_plain(name))
        return -EINVAL;
    if (unlinkat((int)dir->handle, name, 0) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}
