#include "find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { PATH_BYTES = 32768 };

static const char *variable_in(const char *const *environment, const char *name) {
    const char *found = NULL;
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (_strnicmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            found = *environment + length + 1; /* the later of two */
    return found;
}

static bool is_file(const wchar_t *path) {
    DWORD found = GetFileAttributesW(path);
    return found != INVALID_FILE_ATTRIBUTES && !(found & FILE_ATTRIBUTE_DIRECTORY);
}

/* 0, or UV_ENOENT for this spelling. */
static int try_path(const char *path, wchar_t **program) {
    int rc = win_path(path, program);
    if (rc == UV_EINVAL)
        return UV_ENOENT; /* a part of PATH that is relative is not for programs that we start */
    if (rc < 0 || is_file(*program))
        return rc;
    free(*program);
    *program = NULL;
    return UV_ENOENT;
}

static bool has_ending(const char *path) {
    const char *name = path + strlen(path);
    while (name > path && name[-1] != '\\' && name[-1] != '/')
        name--;
    return strchr(name, '.') != NULL;
}

/* The name as it is if it has an ending, then with each that stands for a program. */
static int try_endings(const char *base, const char *endings, wchar_t **program) {
    char *path = memory_zeroed(PATH_BYTES);
    int rc = path ? UV_ENOENT : UV_ENOMEM;
    if (path && has_ending(base))
        rc = try_path(base, program);
    while (rc == UV_ENOENT && *endings) {
        size_t length = strcspn(endings, ";");
        if (length > 0) {
            snprintf(path, PATH_BYTES, "%s%.*s", base, (int)length, endings);
            rc = try_path(path, program);
        }
        endings += length + (endings[length] == ';');
    }
    free(path);
    return rc;
}

static int try_in(const char *folder, size_t length, const char *word, const char *endings,
                  wchar_t **program) {
    size_t size = length + strlen(word) + 2;
    char *base = memory_zeroed(size);
    int rc = UV_ENOMEM;
    if (length >= 2 && folder[0] == '"' && folder[length - 1] == '"') {
        folder++;
        length -= 2;
    }
    if (base) {
        snprintf(base, size, "%.*s\\%s", (int)length, folder, word);
        rc = try_endings(base, endings, program);
    }
    free(base);
    return rc;
}

static bool is_rooted(const char *path) {
    return (path[0] && path[1] == ':') || (path[0] == '\\' && path[1] == '\\');
}

static int try_relative(const char *word, const char *directory, const char *endings,
                        wchar_t **program) {
    wchar_t here[PATH_BYTES];
    DWORD length;
    char *text;
    int rc;
    if (directory)
        return try_in(directory, strlen(directory), word, endings, program);
    length = GetCurrentDirectoryW(PATH_BYTES, here);
    if (length == 0 || length >= PATH_BYTES)
        return length ? UV_ENAMETOOLONG : win_error();
    text = win_text(here, wcslen(here));
    rc = text ? try_in(text, strlen(text), word, endings, program) : UV_ENOMEM;
    free(text);
    return rc;
}

/* The current directory is not looked into for a plain name: whoever may write there would choose
 * what runs. */
int find_program(const char *word, const char *const *environment, const char *directory,
                 wchar_t **program) {
    const char *endings = variable_in(environment, "PATHEXT");
    const char *at = variable_in(environment, "PATH");
    int rc = UV_ENOENT;
    *program = NULL;
    if (!endings || !endings[0])
        endings = ".COM;.EXE;.BAT;.CMD";
    if (is_rooted(word))
        return try_endings(word, endings, program);
    if (strpbrk(word, "\\/"))
        return try_relative(word, directory, endings, program);
    while (at && *at && rc == UV_ENOENT) {
        size_t length = strcspn(at, ";");
        if (length > 0)
            rc = try_in(at, length, word, endings, program);
        at += length + (at[length] == ';');
    }
    return rc;
}

bool find_is_batch(const wchar_t *program) {
    size_t length = wcslen(program);
    return length > 4 && (_wcsicmp(program + length - 4, L".bat") == 0 ||
                          _wcsicmp(program + length - 4, L".cmd") == 0);
}

static size_t folder_length(const wchar_t *path) {
    const wchar_t *end = wcsrchr(path, L'\\');
    return end ? (size_t)(end - path) + 1 : 0;
}

bool find_is_named(const wchar_t *program, const wchar_t *name) {
    return _wcsicmp(program + folder_length(program), name) == 0;
}

wchar_t *find_beside(const wchar_t *program, const wchar_t *name) {
    size_t folder = folder_length(program);
    wchar_t *path = memory_zeroed((folder + wcslen(name) + 1) * sizeof *path);
    if (!path)
        return NULL;
    memcpy(path, program, folder * sizeof *path);
    memcpy(path + folder, name, wcslen(name) * sizeof *path);
    if (is_file(path))
        return path;
    free(path);
    return NULL;
}
