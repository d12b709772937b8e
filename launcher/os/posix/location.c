/* Where an instance lives: its directory and its control socket.
 *
 * Both ends of a connection compute these paths on their own, perhaps one in a terminal and one
 * below a desktop, so they follow from the user, the instance and the file system alone. */
#include "os/names.h"
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "control.sock"

static bool is_our_directory(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The directory of all instances of this user. */
static int base_path(const char *state_dir, char *out, size_t size) {
    unsigned uid = (unsigned)geteuid();
    size_t length = state_dir ? strlen(state_dir) : 0;
    int n;
    snprintf(out, size, "/run/user/%u", uid);
    while (length > 1 && state_dir[length - 1] == '/')
        length--;
    if (length > 0)
        n = snprintf(out, size, "%.*s", (int)length, state_dir);
    else if (is_our_directory(out))
        n = snprintf(out, size, "/run/user/%u/tether", uid);
    else
        n = snprintf(out, size, "/tmp/tether-%u", uid);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int os_instance_path(const char *state_dir, const char *instance, char *out, size_t size,
                     struct error *err) {
    char base[OS_PATH_MAX];
    if (size > 0)
        out[0] = '\0';
    int rc = names_check_instance(instance, err);
    if (rc < 0)
        return rc;
    if (state_dir && state_dir[0] && state_dir[0] != '/')
        return error_set(err, -EINVAL,
                         "TETHER_STATE_DIR is \"%.200s\", but must be an absolute "
                         "path: a relative one would mean something else to each process",
                         state_dir);
    rc = base_path(state_dir, base, sizeof base);
    if (rc == 0)
        rc = posix_path_join(out, size, base, instance);
    if (rc < 0)
        return error_set(err, rc,
                         "the path of the instance's directory is too long: choose a "
                         "shorter TETHER_STATE_DIR than \"%.200s\"",
                         state_dir ? state_dir : "");
    return 0;
}

static uint64_t fnv1a_64(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    return hash;
}

/* Opens the directory which holds the socket of the instance, and names the socket in it. */
static int open_socket_dir(const struct os_dir *instance, bool create, struct os_dir *dir,
                           char name[32], struct error *err) {
    char path[OS_PATH_MAX];
    if (strlen(instance->path) + sizeof "/" SOCKET_NAME <=
        sizeof((struct sockaddr_un *)NULL)->sun_path) {
        snprintf(name, 32, "%s", SOCKET_NAME);
        return posix_dir_open(dir, instance->path, 1, false, err);
    }
    snprintf(name, 32, "%016" PRIx64 ".sock", fnv1a_64(instance->path));
    snprintf(path, sizeof path, "/tmp/tether-%u", (unsigned)geteuid());
    return posix_dir_open(dir, path, 1, create, err);
}

int os_control_name(const struct os_dir *instance, bool create, char out[OS_ENDPOINT_MAX],
                    struct error *err) {
    struct os_dir dir;
    char name[32];
    out[0] = '\0';
    int rc = open_socket_dir(instance, create, &dir, name, err);
    if (rc < 0)
        return rc;
    rc = posix_path_join(out, OS_ENDPOINT_MAX, dir.path, name);
    if (rc < 0)
        error_set(err, rc, "no room for the path %s/%s", dir.path, name);
    os_dir_finish(&dir);
    return rc;
}

/* Asked without waiting: a queue that is full is one that somebody has. */
bool os_control_is_answered(const struct os_dir *instance) {
    char path[OS_ENDPOINT_MAX];
    int fd = os_control_name(instance, false, path, NULL);
    if (fd == 0)
        fd = posix_local_socket(path, POSIX_CONNECT);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || fd == -EAGAIN || fd == -EINPROGRESS;
}

int os_control_remove(const struct os_dir *instance, struct error *err) {
    struct os_dir dir;
    struct stat st;
    char name[32];
    int rc = open_socket_dir(instance, false, &dir, name, err);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    if (fstatat((int)dir.handle, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        rc = errno == ENOENT ? 0 : -errno;
    else
        rc = S_ISSOCK(st.st_mode) ? os_file_remove(&dir, name) : -EEXIST;
    if (rc == -EEXIST)
        error_set(err, rc, "%s/%s is in the way of the control socket and is none: move it away",
                  dir.path, name);
    else if (rc < 0)
        error_set(err, rc, "cannot remove the old socket %s/%s: %s", dir.path, name,
                  os_error_text(rc).text);
    os_dir_finish(&dir);
    return rc;
}
