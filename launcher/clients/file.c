#include "file.h"

#include <inttypes.h>
#include <string.h>

#include <uv.h>

#include "utf8.h"

enum { SIZE_MOST = 1024 * 1024, LINKS_MOST = 40, ROOM = OS_PATH_MAX + 32 };

/* What stat tells in its mode, on every system; and what access is asked. */
enum { KIND_BITS = 0170000, KIND_FILE = 0100000, KIND_FOLDER = 0040000, MODE_BITS = 07777 };
enum { WRITE_BITS = 0222, MAY_WRITE = 2 };

#define MARK "\xef\xbb\xbf"

static size_t name_at(const char *path) {
    size_t at = strlen(path);
    while (at > 0 && !os_is_separator(path[at - 1]))
        at--;
    return at;
}

static bool is_absolute(const char *path) {
    return os_is_separator(path[0]) || (path[0] && path[1] == ':');
}

/* Returns 0, also if nothing is there: then it has no mode. */
static int look(const char *path, uv_stat_t *out) {
    uv_fs_t request;
    int rc = uv_fs_stat(NULL, &request, path, NULL);
    *out = rc == 0 ? request.statbuf : (uv_stat_t){0};
    uv_fs_req_cleanup(&request);
    return rc == UV_ENOENT || rc == UV_ENOTDIR || rc == UV_ENAMETOOLONG ? 0 : rc;
}

static char kind_of(const uv_stat_t *stat) {
    unsigned kind = (unsigned)stat->st_mode & KIND_BITS;
    return kind == KIND_FOLDER ? 'd' : kind == KIND_FILE ? 'f' : kind ? 'o' : 0;
}

char client_file_kind(const char *path) {
    uv_stat_t stat;
    return look(path, &stat) < 0 ? '?' : kind_of(&stat);
}

/* Follows links to where the file is, or would be. */
static int follow(char path[OS_PATH_MAX], struct error *err) {
    for (int i = 0; i < LINKS_MOST; i++) {
        char next[ROOM];
        uv_fs_t link;
        int rc = uv_fs_readlink(NULL, &link, path, NULL), count = 0;
        if (rc == 0) {
            const char *to = link.ptr;
            size_t folder = is_absolute(to) ? 0 : name_at(path);
            count = snprintf(next, sizeof next, "%.*s%s", (int)folder, path, to);
        }
        uv_fs_req_cleanup(&link);
        if (rc < 0)
            return 0; /* no link */
        if (count >= OS_PATH_MAX)
            return error_set(err, UV_ENAMETOOLONG, "%s is a link to a path that is too long", path);
        memcpy(path, next, (size_t)count + 1);
    }
    return error_set(err, UV_ELOOP, "%s is a link that leads to itself", path);
}

static int read_open(struct client_file *file, uv_file handle) {
    uv_fs_t request;
    ssize_t count = 1;
    while (count > 0 && file->text.length <= SIZE_MOST) {
        uv_buf_t room;
        if (!buffer_reserve(&file->text, 65536))
            return UV_ENOMEM;
        room = uv_buf_init(file->text.data + file->text.length, 65536);
        count = uv_fs_read(NULL, &request, handle, &room, 1, -1, NULL);
        uv_fs_req_cleanup(&request);
        if (count > 0)
            file->text.length += (size_t)count;
    }
    return count < 0 ? (int)count : 0;
}

static int read_text(struct client_file *file, struct error *err) {
    uv_fs_t request;
    int rc = uv_fs_open(NULL, &request, file->path, UV_FS_O_RDONLY, 0, NULL), handle = rc;
    uv_fs_req_cleanup(&request);
    if (handle >= 0) {
        rc = read_open(file, handle);
        uv_fs_close(NULL, &request, handle, NULL);
        uv_fs_req_cleanup(&request);
    }
    if (rc < 0)
        return error_set(err, rc, "%s cannot be read: %s", file->path, uv_strerror(rc));
    if (file->text.length > SIZE_MOST)
        return error_set(err, UV_EFBIG, "%s has more than 1 MiB", file->path);
    if (!utf8_is_valid(file->text.data, file->text.length))
        return error_set(err, UV_EINVAL, "%s is not UTF-8 text", file->path);
    return 0;
}

/* The mark is kept aside, and put back. */
static void take_mark(struct client_file *file) {
    size_t length = sizeof MARK - 1;
    file->has_mark = file->text.length >= length && memcmp(file->text.data, MARK, length) == 0;
    if (!file->has_mark)
        return;
    file->text.length -= length;
    memmove(file->text.data, file->text.data + length, file->text.length);
}

int client_file_read(struct client_file *file, const char *path, struct error *err) {
    uv_stat_t stat;
    char kind;
    int rc;
    *file = (struct client_file){0};
    buffer_add_literal(&file->text, ""); /* there is memory, also of an empty one */
    if (strlen(path) >= sizeof file->path)
        return error_set(err, UV_ENAMETOOLONG, "%s is too long a path", path);
    snprintf(file->path, sizeof file->path, "%s", path);
    rc = follow(file->path, err);
    if (rc < 0)
        return rc;
    rc = look(file->path, &stat);
    if (rc < 0)
        return error_set(err, rc, "it cannot be told whether %s is there: %s", file->path,
                         uv_strerror(rc));
    kind = kind_of(&stat);
    if (kind == 0)
        return 0;
    if (kind != 'f')
        return error_set(err, UV_EINVAL, "%s is %s", path, kind == 'd' ? "a folder" : "no file");
    file->exists = true;
    file->mode = (unsigned)stat.st_mode & MODE_BITS;
    file->owner = (int64_t)stat.st_uid;
    file->group = (int64_t)stat.st_gid;
    rc = read_text(file, err);
    if (rc == 0)
        take_mark(file);
    return rc;
}

void client_file_finish(struct client_file *file) {
    buffer_finish(&file->text);
}

/* ---- replacing ---- */

static int make_folder(const char *path, size_t length, struct error *err) {
    char folder[OS_PATH_MAX];
    uv_fs_t request;
    int rc;
    while (length > 1 && os_is_separator(path[length - 1]))
        length--;
    memcpy(folder, path, length);
    folder[length] = 0;
    if (length == 0 || client_file_kind(folder) == 'd')
        return 0;
    if (name_at(folder) == 0 || name_at(folder) == length)
        return error_set(err, UV_ENOENT, "there is no %s", folder);
    rc = make_folder(folder, name_at(folder), err);
    if (rc < 0)
        return rc;
    rc = uv_fs_mkdir(NULL, &request, folder, 0777, NULL);
    uv_fs_req_cleanup(&request);
    if (rc < 0 && rc != UV_EEXIST)
        return error_set(err, rc, "the folder %s cannot be made: %s", folder, uv_strerror(rc));
    return client_file_kind(folder) == 'd' ? 0
                                           : error_set(err, UV_ENOTDIR, "%s is no folder", folder);
}

/* The owner first, which may take bits of the mode away. What matters is how it is then: some file
 * systems have one owner for all. */
static int keep_owner(const struct client_file *file, uv_file handle) {
    uv_fs_t request;
    bool same;
    uv_fs_fchown(NULL, &request, handle, (uv_uid_t)file->owner, (uv_gid_t)file->group, NULL);
    uv_fs_req_cleanup(&request);
    uv_fs_fchmod(NULL, &request, handle, (int)file->mode, NULL);
    uv_fs_req_cleanup(&request);
    same = uv_fs_fstat(NULL, &request, handle, NULL) == 0 &&
           (int64_t)request.statbuf.st_uid == file->owner &&
           (int64_t)request.statbuf.st_gid == file->group &&
           ((unsigned)request.statbuf.st_mode & MODE_BITS) == file->mode;
    uv_fs_req_cleanup(&request);
    return same ? 0 : UV_EPERM;
}

static int write_open(const struct client_file *file, uv_file handle, const struct buffer *text) {
    uv_fs_t request;
    uv_buf_t parts[2];
    size_t done = 0, mark = file->has_mark ? sizeof MARK - 1 : 0;
    char sign[] = MARK;
    int rc = 0;
    parts[0] = uv_buf_init(sign, (unsigned)mark);
    while (rc == 0 && done < mark + text->length) {
        ssize_t count;
        size_t at = done < mark ? 0 : done - mark;
        parts[1] = uv_buf_init(text->data + at, (unsigned)(text->length - at));
        count = done < mark ? uv_fs_write(NULL, &request, handle, parts, 1, -1, NULL)
                            : uv_fs_write(NULL, &request, handle, parts + 1, 1, -1, NULL);
        uv_fs_req_cleanup(&request);
        rc = count < 0 ? (int)count : count == 0 ? UV_EIO : 0;
        done += count > 0 ? (size_t)count : 0;
    }
    if (rc == 0 && file->exists)
        rc = keep_owner(file, handle);
    if (rc == 0) {
        rc = uv_fs_fsync(NULL, &request, handle, NULL);
        uv_fs_req_cleanup(&request);
    }
    return rc;
}

static void remove_file(const char *path) {
    uv_fs_t request;
    uv_fs_unlink(NULL, &request, path, NULL);
    uv_fs_req_cleanup(&request);
}

/* A file beside it that nobody else may read but who may read the original. */
static int write_fresh(const struct client_file *file, const char *fresh,
                       const struct buffer *text) {
    uv_fs_t request;
    int rc, handle;
    remove_file(fresh); /* left by a process of our number that was killed */
    handle = uv_fs_open(NULL, &request, fresh, UV_FS_O_WRONLY | UV_FS_O_CREAT | UV_FS_O_EXCL,
                        file->exists ? 0600 : 0666, NULL);
    uv_fs_req_cleanup(&request);
    if (handle < 0)
        return handle;
    rc = write_open(file, handle, text);
    uv_fs_close(NULL, &request, handle, NULL);
    uv_fs_req_cleanup(&request);
    return rc;
}

/* A file that can be replaced because its folder can be written to may still be nobody's to write.
 */
static int check_writable(const struct client_file *file, struct error *err) {
    uv_fs_t request;
    int rc = 0;
    if (file->exists) {
        rc = uv_fs_access(NULL, &request, file->path, MAY_WRITE, NULL);
        uv_fs_req_cleanup(&request);
    }
    if (rc == UV_EACCES || rc == UV_EPERM || (file->exists && !(file->mode & WRITE_BITS)))
        return error_set(err, UV_EACCES, "%s is read-only", file->path);
    return 0; /* what else is wrong is told by what comes then */
}

/* Whether the file is what has been read. */
static int check_unchanged(const struct client_file *file, struct error *err) {
    struct client_file now;
    bool same = client_file_read(&now, file->path, NULL) == 0 && now.exists == file->exists &&
                strcmp(now.path, file->path) == 0 && now.has_mark == file->has_mark &&
                now.text.length == file->text.length &&
                memcmp(now.text.data, file->text.data, now.text.length) == 0;
    client_file_finish(&now);
    return same ? 0 : error_set(err, UV_EAGAIN, "another program has just changed %s", file->path);
}

static int rename_file(const char *from, const char *to) {
    uv_fs_t request;
    int rc = uv_fs_rename(NULL, &request, from, to, NULL);
    uv_fs_req_cleanup(&request);
    return rc;
}

int client_file_replace(struct client_file *file, const struct buffer *text, struct error *err) {
    char fresh[ROOM];
    int rc = text->failed ? error_set(err, UV_ENOMEM, "there is no memory for it")
                          : check_writable(file, err);
    if (rc == 0)
        rc = make_folder(file->path, name_at(file->path), err);
    if (rc < 0)
        return rc;
    snprintf(fresh, sizeof fresh, "%s.tether-%d", file->path, (int)uv_os_getpid());
    rc = write_fresh(file, fresh, text);
    if (rc == 0 && check_unchanged(file, err) < 0) {
        remove_file(fresh);
        return UV_EAGAIN;
    }
    if (rc == 0)
        rc = rename_file(fresh, file->path);
    if (rc == 0)
        return 0;
    remove_file(fresh);
    return error_set(err, rc, "%s cannot be written: %s", file->path, uv_strerror(rc));
}
