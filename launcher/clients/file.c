#include "file.h"

#include <inttypes.h>
#include <string.h>

#include <uv.h>

#include "utf8.h"

enum { SIZE_MOST = 1024 * 1024, LINKS_MOST = 40, ROOM = OS_PATH_MAX + 32 };

/* What stat tells in its mode, on every system. */
enum { KIND_BITS = 0170000, KIND_FILE = 0100000, KIND_FOLDER = 0040000, MODE_BITS = 07777 };

#define MARK "\xef\xbb\xbf"

static bool is_separator(char c) {
    return c == '/' || c == os_path_separator;
}

static size_t name_at(const char *path) {
    size_t at = strlen(path);
    while (at > 0 && !is_separator(path[at - 1]))
        at--;
    return at;
}

static bool is_absolute(const char *path) {
    return is_separator(path[0]) || (path[0] && path[1] == ':');
}

char client_file_kind(const char *path) {
    uv_fs_t stat;
    unsigned kind = 0;
    if (uv_fs_stat(NULL, &stat, path, NULL) == 0)
        kind = (unsigned)stat.statbuf.st_mode & KIND_BITS;
    uv_fs_req_cleanup(&stat);
    return kind == KIND_FOLDER ? 'd' : kind == KIND_FILE ? 'f' : kind ? 'o' : 0;
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

static bool is_utf8(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t more = utf8_sequence(text + at, length - at);
        if (more == 0)
            return false;
        at += more;
    }
    return true;
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
    if (!is_utf8(file->text.data, file->text.length))
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
    uv_fs_t stat;
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
    kind = client_file_kind(file->path);
    if (kind == 0)
        return 0;
    if (kind != 'f')
        return error_set(err, UV_EINVAL, "%s is %s", path, kind == 'd' ? "a folder" : "no file");
    file->exists = true;
    uv_fs_stat(NULL, &stat, file->path, NULL); /* what is gone since cannot be read either */
    file->mode = (unsigned)stat.statbuf.st_mode & MODE_BITS;
    file->owner = (int64_t)stat.statbuf.st_uid;
    file->group = (int64_t)stat.statbuf.st_gid;
    uv_fs_req_cleanup(&stat);
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
    while (length > 1 && is_separator(path[length - 1]))
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
    if (rc == 0 && file->exists) { /* the owner first, which may take bits of the mode away */
        uv_fs_fchown(NULL, &request, handle, (uv_uid_t)file->owner, (uv_gid_t)file->group, NULL);
        uv_fs_req_cleanup(&request);
        uv_fs_fchmod(NULL, &request, handle, (int)file->mode, NULL);
        uv_fs_req_cleanup(&request);
    }
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

int client_file_replace(struct client_file *file, const struct buffer *text, struct error *err) {
    char fresh[ROOM];
    uv_fs_t request;
    int rc = text->failed ? UV_ENOMEM : 0;
    snprintf(fresh, sizeof fresh, "%s.tether-%d", file->path, (int)uv_os_getpid());
    if (rc == 0) {
        rc = make_folder(file->path, name_at(file->path), err);
        if (rc < 0)
            return rc;
        rc = write_fresh(file, fresh, text);
    }
    if (rc == 0) {
        rc = uv_fs_rename(NULL, &request, fresh, file->path, NULL);
        uv_fs_req_cleanup(&request);
    }
    if (rc < 0) {
        remove_file(fresh);
        return error_set(err, rc, "%s cannot be written: %s", file->path, uv_strerror(rc));
    }
    return 0;
}
