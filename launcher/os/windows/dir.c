/* Directories that are ours alone.
 *
 * Windows has no opening relative to a directory that everybody can use, so names are joined to the
 * path. That path stays what it was: as long as the directory is open here, and not shared for
 * deletion, neither it nor what is above it can be renamed or replaced. */
#include "files.h"

#include <aclapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define ELSEWHERE "or set TETHER_STATE_DIR to the absolute path of a directory of your own"

const char os_path_separator = '\\';
const char os_config_variable[] = "APPDATA";
const char os_config_folder[] = "AppData\\Roaming";
const char os_end_command[] = "taskkill /f /pid";
const char os_silent_advice[] = "if it hangs, end it (`taskkill /f /pid`), and its server ends "
                                "with it";

int files_path(const struct os_dir *dir, const char *name, wchar_t **out) {
    size_t size = strlen(dir->path) + strlen(name) + 2;
    char *path = memory_zeroed(size);
    int rc = UV_ENOMEM;
    *out = NULL;
    if (path) {
        snprintf(path, size, "%s\\%s", dir->path, name);
        rc = win_path(path, out);
    }
    free(path);
    return rc;
}

/* ---- what others may do ---- */

/* Who may do anything anyway: the system, its administrators, and what stands for the owner. */
static bool is_trusted(PSID sid) {
    return win_is_self(sid) || IsWellKnownSid(sid, WinLocalSystemSid) ||
           IsWellKnownSid(sid, WinBuiltinAdministratorsSid) ||
           IsWellKnownSid(sid, WinCreatorOwnerSid) || IsWellKnownSid(sid, WinCreatorOwnerRightsSid);
}

/* An entry that lets somebody do something; kinds that are not known are taken for one. */
static bool lets_others_in(ACE_HEADER *header) {
    switch (header->AceType) {
    case ACCESS_DENIED_ACE_TYPE:
    case ACCESS_DENIED_OBJECT_ACE_TYPE:
    case ACCESS_DENIED_CALLBACK_ACE_TYPE:
        return false;
    case ACCESS_ALLOWED_ACE_TYPE: {
        ACCESS_ALLOWED_ACE *entry = (ACCESS_ALLOWED_ACE *)header;
        return entry->Mask != 0 && !is_trusted(&entry->SidStart);
    }
    default:
        return true;
    }
}

static bool is_open_to_others(PACL entries) {
    if (!entries) /* no list at all lets everybody do everything */
        return true;
    for (DWORD i = 0; i < entries->AceCount; i++) {
        void *entry;
        if (!GetAce(entries, i, &entry) || lets_others_in(entry))
            return true;
    }
    return false;
}

int files_owner_is_self(HANDLE file) {
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PSID owner = NULL;
    DWORD error = GetSecurityInfo(file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION, &owner, NULL,
                                  NULL, NULL, &descriptor);
    int rc = error ? win_code(error) : owner && win_is_self(owner) ? 0 : UV_EPERM;
    LocalFree(descriptor);
    return rc;
}

static int check_private(HANDLE directory, const char *path, struct error *err) {
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PSID owner = NULL;
    PACL entries = NULL;
    int rc = 0;
    DWORD error = GetSecurityInfo(directory, SE_FILE_OBJECT,
                                  OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner,
                                  NULL, &entries, NULL, &descriptor);
    if (error)
        rc = error_set(err, win_code(error), "cannot examine the directory %s: %s", path,
                       os_error_text(win_code(error)).text);
    else if (!owner || !win_is_self(owner))
        rc = error_set(err, UV_EPERM,
                       "the directory %s belongs to another user: move it away, " ELSEWHERE, path);
    else if (is_open_to_others(entries))
        rc = error_set(err, UV_EPERM,
                       "the directory %s is open to other users: set TETHER_STATE_DIR to the "
                       "absolute path of a directory of your own, or, if this one is for nothing "
                       "else, remove what is not yours from it and take the others out of its "
                       "permissions (Properties, Security, Advanced)",
                       path);
    LocalFree(descriptor);
    return rc;
}

/* ---- opening ---- */

static int make_level(const wchar_t *wide) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    int rc = win_descriptor(WIN_PRIVATE_DIRECTORY, &attributes.lpSecurityDescriptor);
    if (rc < 0)
        return rc;
    if (!CreateDirectoryW(wide, &attributes) && GetLastError() != ERROR_ALREADY_EXISTS)
        rc = win_error();
    LocalFree(attributes.lpSecurityDescriptor);
    return rc;
}

static int check_kind(HANDLE directory, const char *path, struct error *err) {
    FILE_ATTRIBUTE_TAG_INFO info = {0};
    if (!GetFileInformationByHandleEx(directory, FileAttributeTagInfo, &info, sizeof info))
        return error_set(err, win_error(), "cannot examine %s: %s", path,
                         os_error_text(win_error()).text);
    if (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return error_set(err, UV_ELOOP,
                         "%s is a link to somewhere else, not a directory: remove it, " ELSEWHERE,
                         path);
    if (!(info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        return error_set(err, UV_ENOTDIR, "%s is not a directory: move it away, " ELSEWHERE, path);
    return 0;
}

/* Opens, or makes, one private level. */
static int open_level(HANDLE *out, const char *path, bool create, struct error *err) {
    wchar_t *wide = NULL;
    int rc = win_path(path, &wide);
    *out = INVALID_HANDLE_VALUE;
    if (rc < 0)
        return error_set(err, rc, "%s is not an absolute path", path);
    if (create)
        rc = make_level(wide);
    if (rc < 0) {
        free(wide);
        return error_set(err, rc, "cannot make the directory %s: %s: free the way, " ELSEWHERE,
                         path, os_error_text(rc).text);
    }
    *out = CreateFileW(wide, FILE_LIST_DIRECTORY | FILE_TRAVERSE | READ_CONTROL,
                       FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
                       FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    rc = *out == INVALID_HANDLE_VALUE ? win_error() : 0;
    free(wide);
    if (rc < 0)
        return error_set(err, rc, "cannot open the directory %s: %s: check it, " ELSEWHERE, path,
                         os_error_text(rc).text);
    rc = check_kind(*out, path, err);
    if (rc == 0)
        rc = check_private(*out, path, err);
    if (rc < 0)
        CloseHandle(*out);
    return rc;
}

/* The path in the system's form: what is told to people and joined to names. */
static int set_path(struct os_dir *dir, const char *path, struct error *err) {
    wchar_t *wide = NULL;
    int rc = win_path(path, &wide);
    if (rc < 0)
        return error_set(err, rc, "%s is not an absolute path", path);
    /* People know it without what makes it take any length. */
    const wchar_t *shown = wide;
    if (wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0) {
        wide[6] = L'\\';
        shown = wide + 6;
    } else if (wide[5] == L':') {
        shown = wide + 4;
    }
    rc = win_text_into(shown, dir->path, sizeof dir->path);
    free(wide);
    if (rc < 0)
        return error_set(err, rc, "the path is longer than %d bytes: %s", OS_PATH_MAX - 1, path);
    return 0;
}

static int open_both(struct os_dir *dir, bool create, struct error *err) {
    char *last = strrchr(dir->path, '\\');
    HANDLE above, below;
    int rc;
    if (!last || strchr(dir->path, '\\') == last || last[1] == '\0')
        return error_set(err, UV_EINVAL, "%s is not the path of a directory for Tether", dir->path);
    *last = '\0';
    rc = open_level(&above, dir->path, create, err);
    *last = '\\';
    if (rc < 0)
        return rc;
    rc = open_level(&below, dir->path, create, err);
    CloseHandle(above);
    if (rc == 0)
        dir->handle = (os_handle)below;
    return rc;
}

int os_dir_open(struct os_dir *dir, const char *path, bool create, struct error *err) {
    dir->handle = OS_NO_HANDLE;
    int rc = set_path(dir, path, err);
    if (rc == 0)
        rc = open_both(dir, create, err);
    if (rc < 0)
        dir->path[0] = '\0';
    return rc;
}

int os_dir_enter(struct os_dir *dir, const struct os_dir *parent, const char *name, bool create,
                 struct error *err) {
    HANDLE opened;
    int n, rc;
    dir->handle = OS_NO_HANDLE;
    dir->path[0] = '\0';
    if (!win_name_is_plain(name))
        return error_set(err, UV_EINVAL, "not the name of a directory: \"%s\"", name ? name : "");
    n = snprintf(dir->path, sizeof dir->path, "%s\\%s", parent->path, name);
    if (n < 0 || (size_t)n >= sizeof dir->path)
        rc = error_set(err, UV_ENAMETOOLONG, "the path is too long: %s\\%s", parent->path, name);
    else
        rc = open_level(&opened, dir->path, create, err);
    if (rc < 0)
        dir->path[0] = '\0';
    else
        dir->handle = (os_handle)opened;
    return rc;
}

void os_dir_finish(struct os_dir *dir) {
    os_handle_close(&dir->handle);
}

/* ---- what is in it ---- */

int os_dir_each(const struct os_dir *dir, os_name_fn fn, void *arg) {
    WIN32_FIND_DATAW entry;
    wchar_t *pattern;
    char name[3 * MAX_PATH];
    bool more = true;
    int rc = files_path(dir, "*", &pattern);
    if (rc < 0)
        return rc;
    HANDLE search = FindFirstFileW(pattern, &entry);
    free(pattern);
    if (search == INVALID_HANDLE_VALUE)
        return GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : win_error();
    for (; more; more = FindNextFileW(search, &entry))
        if (win_text_into(entry.cFileName, name, sizeof name) == 0 && win_name_is_plain(name) &&
            !fn(name, arg))
            break;
    if (!more && GetLastError() != ERROR_NO_MORE_FILES)
        rc = win_error();
    FindClose(search);
    return rc;
}

void os_dir_wait(const struct os_dir *dir, int limit_ms) {
    wchar_t *path;
    HANDLE change = INVALID_HANDLE_VALUE;
    if (win_path(dir->path, &path) == 0) {
        change = FindFirstChangeNotificationW(path, FALSE, FILE_NOTIFY_CHANGE_FILE_NAME);
        free(path);
    }
    if (change == INVALID_HANDLE_VALUE) {
        Sleep((DWORD)limit_ms);
        return;
    }
    WaitForSingleObject(change, (DWORD)limit_ms);
    FindCloseChangeNotification(change);
}
