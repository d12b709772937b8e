/* Starting a program: its words as one command line, its environment as one block, and what of ours
 * it inherits. */
#ifndef TETHER_OS_WIN_START_H
#define TETHER_OS_WIN_START_H

#include "win.h"

/* A text that grows. Zeroed memory is an empty one. */
struct line {
    wchar_t *text;
    size_t used, room;
    bool failed;
};
void line_put(struct line *line, wchar_t c, size_t times);

/* The words as the C library of the other program takes them apart again; to be freed. */
wchar_t *start_command_line(const char *const *words);

/* The same for a program that was found, which may be a batch file: then it is replaced by the one
 * that runs such files. UV_EINVAL: a word has more than one line, which such a file cannot get. */
int start_command(wchar_t **program, const char *const *words, wchar_t **command_line);

/* A path without the "\\?\" that only a long one needs. */
const wchar_t *start_plain_path(const wchar_t *path);

/* The block of an environment of NAME=value; of two whose names differ in case only, the later. */
wchar_t *start_environment(const char *const *environment);

struct start_spec {
    const wchar_t *program;
    wchar_t *command_line;
    wchar_t *environment;
    const wchar_t *directory; /* NULL: ours */
    os_handle stdio[3];       /* OS_NO_HANDLE: an empty one */
    const os_handle *handed;  /* inherited under the same values */
    size_t handed_count;
    DWORD flags;         /* for CreateProcessW: CREATE_NO_WINDOW if it cannot share our console */
    HANDLE job;          /* which it is in from the beginning; NULL: none */
    bool leaves_package; /* what it starts is outside of the package that we are in, and so is it */
};

/* Nothing else of ours is inherited. */
int start_process(const struct start_spec *spec, PROCESS_INFORMATION *started);

#endif
