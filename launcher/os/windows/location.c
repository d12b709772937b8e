/* Where an instance lives: its directory and the name of its control pipe.
 *
 * Both ends compute these on their own, perhaps one in a terminal and one below a desktop, so they
 * follow from the user and the instance alone: the folder of local data is asked of the system, not
 * of the environment. */
#include "win.h"

#include <initguid.h>
#include <inttypes.h>
#include <knownfolders.h>
#include <shlobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/names.h"

static int local_data(char *out, size_t size) {
    wchar_t *folder = NULL;
    int rc =
        SHGetKnownFolderPath(&FOLDERID_LocalAppData, KF_FLAG_DONT_VERIFY, NULL, &folder) == S_OK
            ? win_text_into(folder, out, (int)size)
            : UV_ENOENT;
    CoTaskMemFree(folder);
    return rc;
}

/* The directory of all instances of this user. */
static int base_path(const char *state_dir, char *out, size_t size) {
    size_t length;
    int rc, n;
    if (state_dir && state_dir[0]) {
        n = snprintf(out, size, "%s", state_dir);
        length = n < 0 || (size_t)n >= size ? 0 : (size_t)n;
        while (length > 3 && (out[length - 1] == '\\' || out[length - 1] == '/'))
            out[--length] = '\0';
        return length ? 0 : UV_ENAMETOOLONG;
    }
    rc = local_data(out, size);
    if (rc < 0)
        return rc;
    length = strlen(out);
    n = snprintf(out + length, size - length, "\\tether");
    return n < 0 || (size_t)n >= size - length ? UV_ENAMETOOLONG : 0;
}

int os_instance_path(const char *state_dir, const char *instance, char *out, size_t size,
                     struct error *err) {
    char base[OS_PATH_MAX];
    wchar_t *wide;
    int rc = names_check_instance(instance, err), n;
    if (size > 0)
        out[0] = '\0';
    if (rc < 0)
        return rc;
    if (state_dir && state_dir[0]) {
        rc = win_path(state_dir, &wide);
        free(wide);
        if (rc < 0)
            return error_set(err, rc,
                             "TETHER_STATE_DIR is \"%.200s\", but must be an absolute "
                             "path: a relative one would mean something else to each process",
                             state_dir);
    }
    rc = base_path(state_dir, base, sizeof base);
    if (rc == UV_ENOENT)
        return error_set(err, rc,
                         "the system does not tell where local data of this user is: set "
                         "TETHER_STATE_DIR to the absolute path of a directory of your own");
    n = rc < 0 ? -1 : snprintf(out, size, "%s\\%s", base, instance);
    if (n < 0 || (size_t)n >= size) {
        if (size > 0)
            out[0] = '\0';
        return error_set(err, UV_ENAMETOOLONG,
                         "the path of the instance's directory is too long: choose a "
                         "shorter TETHER_STATE_DIR than \"%.200s\"",
                         state_dir ? state_dir : "");
    }
    return 0;
}

/* Paths that differ only in the case of their letters are the same here. */
static uint64_t hash_of(const char *path) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        unsigned char c = *p >= 'A' && *p <= 'Z' ? (unsigned char)(*p + ('a' - 'A')) : *p;
        hash = (hash ^ c) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Names of pipes are the machine's, so this one says whose it is and for which directory. */
int os_control_name(const struct os_dir *instance, bool create, char out[OS_ENDPOINT_MAX],
                    struct error *err) {
    char user[WIN_SID_TEXT];
    int rc = win_user_text(user), n;
    (void)create;
    out[0] = '\0';
    if (rc < 0)
        return error_set(err, rc, "the system does not tell who we are: %s",
                         os_error_text(rc).text);
    n = snprintf(out, OS_ENDPOINT_MAX, "\\\\.\\pipe\\tether-%s-%016" PRIx64, user,
                 hash_of(instance->path));
    if (n < 0 || n >= OS_ENDPOINT_MAX)
        return error_set(err, UV_ENAMETOOLONG, "no room for the name of the control pipe");
    return 0;
}

/* A pipe is gone with its last handle. */
int os_control_remove(const struct os_dir *instance, struct error *err) {
    (void)instance;
    (void)err;
    return 0;
}
