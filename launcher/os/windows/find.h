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

#endif
