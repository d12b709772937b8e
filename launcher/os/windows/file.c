/* Small files in a private directory, replaced whole and read whole, and logs that grow.
 *
 * Whoever reads closes at once and lets others rename and remove meanwhile. All the same a virus
 * scanner or an indexer may have a file open the wrong way for a moment: what is refused for that
 * is tried again, briefly. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "os/names.h"

enum { TRIES = 20, PAUSE_MS = 5 };

#define RENAME_INFO_EX ((FILE_INFO_BY_HANDLE_CLASS)22) /* FileRenameInfoEx */

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static bool is_momentary(DWORD error) {
    return error == ERROR_SHARING_VIOLATION || error == ERROR_ACCESS_DENIED;
}

/* ---- opening ---- */

static int check_file(HANDLE file) {
    FILE_ATTRIBUTE_TAG_INFO info = {0};
    if (GetFileType(file) != FILE_TYPE_DISK)
        return UV_EPERM;
    if (!GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info))
        return win_error();
    if (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return UV_ELOOP;
    if (info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        return UV_EPERM;
    return files_owner_is_self(file);
}

static int open_path(const wchar_t *path, DWORD access, DWORD share, DWORD disposition,
                     HANDLE *file) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    int rc = win_descriptor(WIN_PRIVATE_FILE, &attributes.lpSecurityDescriptor);
    if (rc < 0)
        return rc;
    *file = CreateFileW(path, access | READ_CONTROL | FILE_READ_ATTRIBUTES, share, &attributes,
                        disposition, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    rc = *file == INVALID_HANDLE_VALUE ? win_error() : 0;
    LocalFree(attributes.lpSecurityDescriptor);
    if (rc == UV_EACCES) { /* also what a directory says */
        DWORD found = GetFileAttributesW(path);
        if (found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY))
            rc = found & FILE_ATTRIBUTE_REPARSE_POINT ? UV_ELOOP : UV_EPERM;
    }
    return rc;
}

int files_open(const struct os_dir *dir, const char *name, DWORD access, DWORD share,
               DWORD disposition, HANDLE *file) {
    wchar_t *path;
    int rc = win_name_is_plain(name) ? files_path(dir, name, &path) : UV_EINVAL;
    *file = INVALID_HANDLE_VALUE;
    if (rc < 0)
        return rc;
    rc = open_path(path, access, share, disposition, file);
    free(path);
    if (rc < 0)
        return rc;
    rc = check_file(*file);
    if (rc < 0) {
        CloseHandle(*file);
        *file = INVALID_HANDLE_VALUE;
    }
    return rc;
}

/* ---- writing ---- */

/* The open file gets the name, also if others have open what has that name now: since Windows 10
 * 1607, on its own file systems. */
static bool rename_open(HANDLE file, const wchar_t *to) {
    size_t bytes = wcslen(to) * sizeof *to;
    size_t size = offsetof(FILE_RENAME_INFO, FileName) + bytes + sizeof *to;
    FILE_RENAME_INFO *info = memory_zeroed(size);
    if (!info)
        return false;
    info->Flags = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
    info->FileNameLength = (DWORD)bytes;
    memcpy(info->FileName, to, bytes);
    bool done = SetFileInformationByHandle(file, RENAME_INFO_EX, info, (DWORD)size);
    free(info);
    return done;
}

static int move(const wchar_t *from, const wchar_t *to) {
    for (int tries = 0; tries < TRIES; tries++) {
        if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING))
            return 0;
        if (!is_momentary(GetLastError()))
            break;
        Sleep(PAUSE_MS);
    }
    return win_error();
}

static int replace(const struct os_dir *dir, const char *temporary, const void *data, size_t length,
                   const wchar_t *from, const wchar_t *to) {
    HANDLE file;
    int rc = files_open(dir, temporary, GENERIC_WRITE | DELETE, FILE_SHARE_READ | FILE_SHARE_DELETE,
                        CREATE_NEW, &file);
    bool renamed = false;
    if (rc < 0)
        return rc;
    rc = os_write((os_handle)file, data, length);
    if (rc == 0)
        renamed = rename_open(file, to);
    CloseHandle(file);
    if (rc == 0 && !renamed)
        rc = move(from, to);
    if (rc < 0)
        DeleteFileW(from);
    return rc;
}

int os_file_write(const struct os_dir *dir, const char *name, const void *data, size_t length,
                  struct error *err) {
    char temporary[NAMES_MAX];
    wchar_t *from = NULL, *to = NULL;
    int rc = win_name_is_plain(name) ? names_temporary(temporary, name) : UV_EINVAL;
    if (rc == 0)
        rc = files_path(dir, temporary, &from);
    if (rc == 0)
        rc = files_path(dir, name, &to);
    if (rc == 0)
        rc = replace(dir, temporary, data, length, from, to);
    free(from);
    free(to);
    if (rc < 0)
        return error_set(
            err, rc,
            "cannot write %s\\%s: %s; put this right, or set TETHER_STATE_DIR to another directory",
            dir->path, name ? name : "", os_error_text(rc).text);
    return 0;
}

/* ---- reading ---- */

static int64_t read_all(HANDLE file, char *out, size_t size) {
    size_t got = 0;
    while (got < size) {
        DWORD part = size - got < INT32_MAX ? (DWORD)(size - got) : INT32_MAX, count;
        if (!ReadFile(file, out + got, part, &count, NULL))
            return win_error();
        if (count == 0)
            break;
        got += count;
    }
    return got == size ? UV_EFBIG : (int64_t)got;
}

int os_file_read(const struct os_dir *dir, const char *name, char *out, size_t size,
                 size_t *length) {
    HANDLE file;
    int64_t n;
    int rc;
    if (size == 0)
        return UV_EINVAL;
    out[0] = '\0';
    rc = files_open(dir, name, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, &file);
    if (rc < 0)
        return rc;
    n = read_all(file, out, size);
    CloseHandle(file);
    out[n < 0 ? 0 : n] = '\0';
    if (n < 0)
        return (int)n;
    if (length)
        *length = (size_t)n;
    return 0;
}

/* ---- entries ---- */

int os_file_remove(const struct os_dir *dir, const char *name) {
    wchar_t *path;
    int rc = win_name_is_plain(name) ? files_path(dir, name, &path) : UV_EINVAL;
    if (rc < 0)
        return rc;
    for (int tries = 0; tries < TRIES; tries++) {
        rc = DeleteFileW(path) || GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : win_error();
        if (rc == 0 || !is_momentary(GetLastError()))
            break;
        Sleep(PAUSE_MS);
    }
    free(path);
    return rc;
}

/* Others may have the one or the other open, as who follows a log does. */
static int rename_path(const wchar_t *from, const wchar_t *to) {
    HANDLE file = CreateFileW(from, DELETE | SYNCHRONIZE, SHARE_ALL, NULL, OPEN_EXISTING,
                              FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, NULL);
    bool renamed = file != INVALID_HANDLE_VALUE && rename_open(file, to);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return renamed ? 0 : move(from, to);
}

int os_file_rename(const struct os_dir *dir, const char *from, const char *to) {
    wchar_t *source = NULL, *target = NULL;
    int rc = win_name_is_plain(from) && win_name_is_plain(to) ? 0 : UV_EINVAL;
    if (rc == 0)
        rc = files_path(dir, from, &source);
    if (rc == 0)
        rc = files_path(dir, to, &target);
    if (rc == 0)
        rc = rename_path(source, target);
    free(source);
    free(target);
    return rc;
}

int os_file_append(const struct os_dir *dir, const char *name, os_handle *handle, uint64_t *size) {
    LARGE_INTEGER length;
    HANDLE file;
    int rc = files_open(dir, name, FILE_APPEND_DATA | SYNCHRONIZE, SHARE_ALL, OPEN_ALWAYS, &file);
    *handle = OS_NO_HANDLE;
    if (rc == 0 && !GetFileSizeEx(file, &length)) {
        rc = win_error();
        CloseHandle(file);
    }
    if (rc < 0)
        return rc;
    *handle = (os_handle)file;
    *size = (uint64_t)length.QuadPart;
    return 0;
}
