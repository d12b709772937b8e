/* The lock that says who runs an instance: a file that is open and shared with nobody.
 *
 * The system keeps it so until the last copy of the handle is closed, in whatever process, so it
 * follows the handle into a process that inherits it. (LockFileEx would let go with the first
 * process that closes.)
 *
 * To ask is to open, too, but shared with everybody; that fails while the lock is held. An asker is
 * in the way of a taker for a moment. The taker then asks as well: if it may open, there was an
 * asker only, and it tries again. */
#include "files.h"

#include <stdio.h>
#include <stdlib.h>

#define ASK_SHARE (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* How long a taker goes on against askers alone. */
enum { PATIENCE_MS = 1000, EAGER_ATTEMPTS = 20 };

/* 1, 0, or why it cannot be told. The file is open for no longer than it takes. */
static int ask(const struct os_dir *dir, const char *name) {
    wchar_t *path;
    HANDLE file;
    int rc = win_name_is_plain(name) ? files_path(dir, name, &path) : UV_EINVAL;
    if (rc < 0)
        return rc;
    file = CreateFileW(path, FILE_READ_DATA, ASK_SHARE, NULL, OPEN_EXISTING,
                       FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    rc = file == INVALID_HANDLE_VALUE ? win_error() : 0;
    if (rc == 0)
        CloseHandle(file);
    free(path);
    return rc == UV_EBUSY ? 1 : rc == UV_ENOENT ? 0 : rc;
}

/* UV_EBUSY: somebody else holds it, or asks. */
static int take_once(const struct os_dir *dir, const char *name, HANDLE *file) {
    return files_open(dir, name, GENERIC_READ | GENERIC_WRITE, 0, OPEN_ALWAYS, file);
}

int os_lock_take(os_handle *lock, const struct os_dir *dir, const char *name, struct error *err) {
    HANDLE file = INVALID_HANDLE_VALUE;
    int rc = UV_EBUSY, held = 0;
    *lock = OS_NO_HANDLE;
    int64_t until = os_clock_ms() + PATIENCE_MS;
    for (int i = 0; rc == UV_EBUSY && held == 0 && os_clock_ms() < until; i++) {
        if (i > 0) /* those who were in each other's way do not meet again */
            Sleep(i < EAGER_ATTEMPTS ? 0 : 1);
        rc = take_once(dir, name, &file);
        if (rc == UV_EBUSY)
            held = ask(dir, name);
    }
    if (rc == 0) {
        *lock = (os_handle)file;
        return 0;
    }
    if (rc == UV_EBUSY)
        return error_set(err, UV_EAGAIN, "%s\\%s is locked: this instance already runs", dir->path,
                         name);
    return error_set(err, rc,
                     "cannot lock %s\\%s: %s; put this right, or set TETHER_STATE_DIR to another "
                     "directory",
                     dir->path, name ? name : "", os_error_text(rc).text);
}

/* Whether both are the same file. To be asked for no more than this is shared with everybody. */
static bool is_same_file(HANDLE file, const struct os_dir *dir, const char *name) {
    BY_HANDLE_FILE_INFORMATION mine, named;
    HANDLE other;
    bool same = false;
    if (files_open(dir, name, 0, ASK_SHARE, OPEN_EXISTING, &other) < 0)
        return false;
    same = GetFileInformationByHandle(file, &mine) && GetFileInformationByHandle(other, &named) &&
           mine.dwVolumeSerialNumber == named.dwVolumeSerialNumber &&
           mine.nFileIndexHigh == named.nFileIndexHigh && mine.nFileIndexLow == named.nFileIndexLow;
    CloseHandle(other);
    return same;
}

int os_lock_adopt(os_handle lock, const struct os_dir *dir, const char *name, struct error *err) {
    int rc = win_name_is_plain(name) ? 0 : UV_EINVAL;
    if (rc == 0 && !SetHandleInformation((HANDLE)lock, HANDLE_FLAG_INHERIT, 0))
        rc = win_error();
    if (rc == 0 && !is_same_file((HANDLE)lock, dir, name))
        rc = UV_EINVAL;
    if (rc == 0 && ask(dir, name) != 1)
        rc = UV_EINVAL;
    if (rc < 0)
        return error_set(err, rc, "the inherited handle %lld is not the lock %s\\%s: %s",
                         (long long)lock, dir->path, name ? name : "", os_error_text(rc).text);
    return 0;
}

int os_lock_is_held(const struct os_dir *dir, const char *name) {
    return ask(dir, name);
}

/* As long as both are open, neither the file nor the directory can be replaced. */
bool os_lock_is_current(os_handle lock, const struct os_dir *dir, const char *name) {
    return is_same_file((HANDLE)lock, dir, name);
}

void os_lock_text(os_handle lock, char out[OS_LOCK_TEXT_MAX]) {
    BY_HANDLE_FILE_INFORMATION info;
    out[0] = '\0';
    if (GetFileInformationByHandle((HANDLE)lock, &info))
        snprintf(out, OS_LOCK_TEXT_MAX, "%lx:%lx%08lx", info.dwVolumeSerialNumber,
                 info.nFileIndexHigh, info.nFileIndexLow);
}
