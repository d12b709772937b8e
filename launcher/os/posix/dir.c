/* Directories that are ours alone.
 *
 * Each level is opened relative to the one above it and examined through its own descriptor, so
 * that what was checked is what is used, whatever happens to the path meanwhile. */
#include "posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough to look below a directory that may be searched but not read. */
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

#define ELSEWHERE "or set TETHER_STATE_DIR to the absolute path of a directory of your own"

const char os_path_separator = '/';
const char os_end_command[] = "kill";
const char os_silent_advice[] = "if it is stopped, continue it (`kill -CONT`); it ends, with its "
                                "server, on a plain `kill`";

bool posix_name_is_plain(const char *name) {
    return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

int posix_path_join(char *out, size_t size, const char *directory, const char *name) {
    int n = snprintf(out, size, "%s/%s", directory, name);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Says why something that should be a directory did not open as one. */
static int explain_open(int parent, const char *name, const char *path, int code,
                        struct error *err) {
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(st.st_mode))
            return error_set(
                err, -ELOOP,
                "%s is a symbolic link made by user %u, not a directory: remove it, " ELSEWHERE,
                path, (unsigned)st.st_uid);
        if (!S_ISDIR(st.st_mode))
            return error_set(err, -ENOTDIR, "%s is not a directory: move it away, " ELSEWHERE,
                             path);
        if (st.st_uid != geteuid())
            code = EACCES;
    }
    if (code == EACCES)
        return error_set(err, -EACCES,
                         "no access to the directory %s: check its owner and mode "
                         "with `ls -ld '%s'`, " ELSEWHERE,
                         path, path);
    return error_set(err, -code, "cannot open the directory %s: %s", path,
                     os_error_text(code).text);
}

static int check_private(int fd, const char *path, struct error *err) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, -errno, "cannot examine the directory %s: %s", path,
                         os_error_text(errno).text);
    if (st.st_uid != geteuid())
        return error_set(err, -EPERM,
                         "the directory %s belongs to user %u, but Tether runs as user %u: move it "
                         "away, " ELSEWHERE,
                         path, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return error_set(err, -EPERM,
                         "the directory %s is open to other users (mode %04o): set "
                         "TETHER_STATE_DIR to the absolute path of a directory of your own, or, if "
                         "this one is for nothing else, remove what is not yours from it and run "
                         "`chmod 700 '%s'`",
                         path, (unsigned)(st.st_mode & 07777), path);
    return 0;
}

/* Opens, or makes, one private level. Returns its descriptor. */
static int open_level(int parent, const char *name, const char *path, bool create,
                      struct error *err) {
    if (create && mkdirat(parent, name, S_IRWXU) < 0 && errno != EEXIST)
        return error_set(err, -errno, "cannot make the directory %s: %s: free the way, " ELSEWHERE,
                         path, os_error_text(errno).text);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return explain_open(parent, name, path, errno, err);
    int rc = check_private(fd, path, err);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}

/* Opens what is above our own levels. It may be shared, but then others must not be able to rename
 * what is ours in it. */
static int open_above(const char *path, struct error *err) {
    struct stat st;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "cannot open the directory %s: %s: make it, " ELSEWHERE, path,
                         os_error_text(errno).text);
    if (fstat(fd, &st) == 0 && !((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)))
        return fd;
    close(fd);
    return error_set(err, -EPERM,
                     "everybody may rename what is in %s (mode %04o): ask for "
                     "`chmod +t '%s'`, " ELSEWHERE,
                     path, (unsigned)(st.st_mode & 07777), path);
}

/* Ends `path` before its last component and returns that, or NULL if there is none to take. */
static char *split_last(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash || !posix_name_is_plain(slash + 1))
        return NULL;
    *slash = '\0';
    return slash + 1;
}

int posix_dir_open(struct os_dir *dir, const char *path, int levels, bool create,
                   struct error *err) {
    char above[OS_PATH_MAX];
    char *names[2];
    dir->handle = OS_NO_HANDLE;
    dir->path[0] = '\0';
    if (path[0] != '/')
        return error_set(err, -EINVAL, "%s is not an absolute path", path);
    if (strlen(path) >= sizeof above)
        return error_set(err, -ENAMETOOLONG, "the path is longer than %d bytes: %s",
                         OS_PATH_MAX - 1, path);
    memcpy(above, path, strlen(path) + 1);
    for (int i = levels - 1; i >= 0; i--) {
        names[i] = split_last(above);
        if (!names[i])
            return error_set(err, -EINVAL, "%s is not the path of a directory for Tether", path);
    }
    int fd = open_above(above[0] ? above : "/", err);
    for (int i = 0; i < levels && fd >= 0; i++) {
        /* The path up to and including this level. */
        size_t length = (size_t)(names[i] - above) + strlen(names[i]);
        memcpy(dir->path, path, length);
        dir->path[length] = '\0';
        int next = open_level(fd, names[i], dir->path, create, err);
        close(fd);
        fd = next;
    }
    if (fd >= 0)
        dir->handle = fd;
    else
        dir->path[0] = '\0';
    return fd < 0 ? fd : 0;
}

int os_dir_open(struct os_dir *dir, const char *path, bool create, struct error *err) {
    return posix_dir_open(dir, path, 2, create, err);
}

int os_dir_enter(struct os_dir *dir, const struct os_dir *parent, const char *name, bool create,
                 struct error *err) {
    dir->handle = OS_NO_HANDLE;
    dir->path[0] = '\0';
    if (!posix_name_is_plain(name))
        return error_set(err, -EINVAL, "not the name of a directory: \"%s\"", name ? name : "");
    int rc = posix_path_join(dir->path, sizeof dir->path, parent->path, name);
    if (rc < 0)
        error_set(err, rc, "the path is too long: %s/%s", parent->path, name);
    else
        rc = open_level((int)parent->handle, name, dir->path, create, err);
    if (rc < 0) {
        dir->path[0] = '\0';
        return rc;
    }
    dir->handle = rc;
    return 0;
}

void os_dir_finish(struct os_dir *dir) {
    os_handle_close(&dir->handle);
}

int os_dir_each(const struct os_dir *dir, os_name_fn fn, void *arg) {
    /* A descriptor of its own, because reading a directory moves its position. */
    int fd = openat((int)dir->handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    DIR *stream = fdopendir(fd);
    if (!stream) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(stream))) {
        if (posix_name_is_plain(entry->d_name) && !fn(entry->d_name, arg))
            break;
    }
    int rc = entry ? 0 : -errno;
    closedir(stream);
    return rc;
}
