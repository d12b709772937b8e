/* Finding a program as the system's own shell would. */
#ifndef TETHER_OS_WIN_FIND_H
#define TETHER_OS_WIN_FIND_H

#include "win.h"

/* The path of the program that a word means: in the directory if it is a path, else in PATH of the
 * environment; with the endings of PATHEXT where it has none. To be freed. UV_ENOENT: none. */
int find_program(const char *word, const char *const *environment, const char *directory,
                 wchar_t **program);

/* A batch file, which is no program. */
bool find_is_batch(const wchar_t *program);

/* Whether this is the name of the file that the path leads to. */
bool find_is_named(const wchar_t *program, const wchar_t *name);

/* The path of a file in the same folder, to be freed; NULL: there is none. */
wchar_t *find_beside(const wchar_t *program, const wchar_t *name);

#endif
