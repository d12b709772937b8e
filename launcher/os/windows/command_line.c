/* Command lines: words in a row, quoted so that they are taken apart as they were. */
#include "start.h"

#include <stdlib.h>
#include <string.h>

#include "find.h"
#include "memory.h"

/* Backslashes mean something only in front of a quotation mark, and there twice as many are needed;
 * one more keeps the mark from ending the word. */
static void put_quoted(struct line *line, const wchar_t *word) {
    size_t backslashes = 0;
    line_put(line, L'"', 1);
    for (; *word; word++) {
        if (*word == L'\\') {
            backslashes++;
            continue;
        }
        line_put(line, L'\\', *word == L'"' ? 2 * backslashes + 1 : backslashes);
        backslashes = 0;
        line_put(line, *word, 1);
    }
    line_put(line, L'\\', 2 * backslashes);
    line_put(line, L'"', 1);
}

static void put_word(struct line *line, const char *word) {
    wchar_t *wide = win_wide(word);
    if (!wide) {
        line->failed = true;
    } else if (*wide && !wcspbrk(wide, L" \t\n\v\"")) {
        for (const wchar_t *p = wide; *p; p++)
            line_put(line, *p, 1);
    } else {
        put_quoted(line, wide);
    }
    free(wide);
}

wchar_t *start_command_line(const char *const *words) {
    struct line line = {0};
    for (size_t i = 0; words[i]; i++) {
        line_put(&line, L' ', i > 0);
        put_word(&line, words[i]);
    }
    line_put(&line, 0, 1);
    if (line.failed) {
        free(line.text);
        return NULL;
    }
    return line.text;
}

/* ---- batch files ---- */

/* They are run by the system's shell, which reads their words with rules of its own: variables are
 * replaced even within quotation marks, and a mark within them is written as two. What stands alone
 * is known to mean nothing. An empty part of a variable, behind a percent sign, keeps the sign from
 * being the begin of a name. */
static void put_for_shell(struct line *line, const wchar_t *word, bool quoted) {
    size_t backslashes = 0;
    line_put(line, L'"', quoted);
    for (; *word; word++) {
        if (*word == L'"') {
            line_put(line, L'\\', backslashes);
            line_put(line, L'"', 1);
        }
        if (*word == L'%')
            for (const wchar_t *p = L"%%cd:~,"; *p; p++)
                line_put(line, *p, 1);
        line_put(line, *word, 1);
        backslashes = *word == L'\\' ? backslashes + 1 : 0;
    }
    line_put(line, L'\\', quoted ? backslashes : 0);
    line_put(line, L'"', quoted);
}

static bool is_harmless(const wchar_t *word) {
    static const wchar_t harmless[] = L"#$*+-./:?@_\\";
    size_t length = wcslen(word);
    for (const wchar_t *p = word; *p; p++)
        if (!(*p >= L'0' && *p <= L'9') && !(*p >= L'A' && *p <= L'Z') &&
            !(*p >= L'a' && *p <= L'z') && !wcschr(harmless, *p))
            return false;
    return length > 0 && word[length - 1] != L'\\';
}

static void put_text(struct line *line, const wchar_t *text) {
    for (; *text; text++)
        line_put(line, *text, 1);
}

/* No sign stands for the end of a line: the shell would take the rest for another command, or leave
 * it out. */
static int put_shell_words(struct line *line, const char *const *words) {
    for (; *words; words++) {
        wchar_t *word = win_wide(*words);
        bool ends_line = word && wcspbrk(word, L"\r\n");
        line->failed = line->failed || !word;
        if (word && !ends_line) {
            line_put(line, L' ', 1);
            put_for_shell(line, word, !is_harmless(word));
        }
        free(word);
        if (ends_line)
            return UV_EINVAL;
    }
    return 0;
}

static wchar_t *shell_path(void) {
    static const wchar_t name[] = L"\\cmd.exe";
    UINT size = GetSystemDirectoryW(NULL, 0);
    wchar_t *path = memory_zeroed((size + sizeof name / sizeof name[0]) * sizeof *path);
    if (path && GetSystemDirectoryW(path, size) < size)
        memcpy(path + wcslen(path), name, sizeof name);
    return path;
}

static int shell_command(wchar_t **program, const char *const *words, wchar_t **command_line) {
    struct line line = {0};
    wchar_t *shell = shell_path();
    int rc;
    put_text(&line, L"cmd.exe /e:ON /v:OFF /d /c \"");
    put_for_shell(&line, start_plain_path(*program), true);
    rc = put_shell_words(&line, words + 1);
    line_put(&line, L'"', 1);
    line_put(&line, 0, 1);
    if (rc == 0 && (line.failed || !shell))
        rc = UV_ENOMEM;
    if (rc < 0) {
        free(line.text);
        free(shell);
        return rc;
    }
    free(*program);
    *program = shell;
    *command_line = line.text;
    return 0;
}

/* npm and npx are programs of Node.js that lie beside it. Run without a shell they can be
 * interrupted, and no question comes up whether to end the batch job. */
static int node_command(wchar_t **program, const wchar_t *script, const char *const *words,
                        wchar_t **command_line) {
    struct line line = {0};
    wchar_t *node = find_beside(*program, L"node.exe"), *path = find_beside(*program, script);
    int rc = node && path ? 0 : UV_ENOENT;
    if (rc == 0) {
        put_text(&line, L"node.exe ");
        put_quoted(&line, start_plain_path(path));
        for (words++; *words; words++) {
            line_put(&line, L' ', 1);
            put_word(&line, *words);
        }
        line_put(&line, 0, 1);
        rc = line.failed ? UV_ENOMEM : 0;
    }
    free(path);
    if (rc < 0) {
        free(node);
        free(line.text);
        return rc;
    }
    free(*program);
    *program = node;
    *command_line = line.text;
    return 0;
}

int start_command(wchar_t **program, const char *const *words, wchar_t **command_line) {
    int rc = UV_ENOENT;
    if (!find_is_batch(*program)) {
        *command_line = start_command_line(words);
        return *command_line ? 0 : UV_ENOMEM;
    }
    if (find_is_named(*program, L"npx.cmd"))
        rc = node_command(program, L"node_modules\\npm\\bin\\npx-cli.js", words, command_line);
    else if (find_is_named(*program, L"npm.cmd"))
        rc = node_command(program, L"node_modules\\npm\\bin\\npm-cli.js", words, command_line);
    return rc == UV_ENOENT ? shell_command(program, words, command_line) : rc;
}
