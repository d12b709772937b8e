/* UTF-8 and UTF-16, and paths. */
#include "win.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

wchar_t *win_wide(const char *text) {
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? memory_zeroed((size_t)length * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    return wide;
}

char *win_text(const wchar_t *wide, size_t length) {
    int bytes =
        length ? WideCharToMultiByte(CP_UTF8, 0, wide, (int)length, NULL, 0, NULL, NULL) : 0;
    char *text = memory_zeroed((size_t)bytes + 1);
    if (text && bytes > 0)
        WideCharToMultiByte(CP_UTF8, 0, wide, (int)length, text, bytes, NULL, NULL);
    return text;
}

int win_text_into(const wchar_t *wide, char *out, size_t size) {
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, (int)size, NULL, NULL) > 0)
        return 0;
    out[0] = '\0';
    return UV_ENAMETOOLONG;
}

static bool is_absolute(const wchar_t *path) {
    bool drive = ((path[0] >= L'a' && path[0] <= L'z') || (path[0] >= L'A' && path[0] <= L'Z')) &&
                 path[1] == L':' && (path[2] == L'\\' || path[2] == L'/');
    return drive || (path[0] == L'\\' && path[1] == L'\\' && path[2] != L'.' && path[2] != 0);
}

/* The system's own normal form, which "\\?\" in front would switch off. */
static wchar_t *normal_form(const wchar_t *path) {
    static const wchar_t drive[] = L"\\\\?\\", share[] = L"\\\\?\\UNC";
    bool is_share = path[0] == L'\\', is_verbatim = is_share && path[2] == L'?';
    const wchar_t *prefix = is_verbatim ? L"" : is_share ? share : drive;
    size_t before = wcslen(prefix);
    DWORD length = GetFullPathNameW(path, 0, NULL, NULL);
    wchar_t *whole = length ? memory_zeroed((before + length + 1) * sizeof *whole) : NULL;
    if (!whole)
        return NULL;
    GetFullPathNameW(path, length, whole + before, NULL);
    if (is_share && !is_verbatim) /* of "\\server" one backslash is enough behind "\\?\UNC" */
        memmove(whole + before, whole + before + 1, length * sizeof *whole);
    memcpy(whole, prefix, before * sizeof *whole);
    length = (DWORD)wcslen(whole);
    while (length > 0 && whole[length - 1] == L'\\' && whole[length - 2] != L':')
        whole[--length] = 0;
    return whole;
}

int win_path(const char *path, wchar_t **out) {
    wchar_t *wide = win_wide(path);
    int rc = UV_EINVAL;
    *out = NULL;
    if (wide && is_absolute(wide)) {
        *out = normal_form(wide);
        rc = *out ? 0 : UV_ENOMEM;
    }
    free(wide);
    return rc;
}

bool win_name_is_plain(const char *name) {
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com", "lpt"};
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || strpbrk(name, "/\\:*?\"<>|") || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0 || name[length - 1] == '.' || name[length - 1] == ' ')
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ')
            return false;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        size_t end = strcspn(name, ".");
        if (_strnicmp(name, devices[i], 3) == 0 &&
            (end == 3 ? i < 4 : end == 4 && i >= 4 && name[3] >= '0' && name[3] <= '9'))
            return false;
    }
    return true;
}
