/* Files in private directories, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_FILES_H
#define TETHER_OS_WIN_FILES_H

#include "win.h"

/* The path of an entry as the system takes it, to be freed. The name is not checked; it may be a
 * pattern. */
int files_path(const struct os_dir *dir, const char *name, wchar_t **out);

/* Opens a regular file of ours, as CreateFileW does; a new one is for our user alone. UV_EPERM: not
 * ours, or no regular file. UV_ELOOP: a link. */
int files_open(const struct os_dir *dir, const char *name, DWORD access, DWORD share,
               DWORD disposition, HANDLE *file);

/* 0, UV_EPERM, or why it cannot be told. */
int files_owner_is_self(HANDLE file);

#endif
