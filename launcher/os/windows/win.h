/* Shared by the Windows parts of the OS layer; not for use outside os/windows.
 *
 * All text is UTF-8 outside, and UTF-16 only on its way into the system: what the C library and the
 * system's A functions do depends on a code page that cannot hold every name. */
#ifndef TETHER_OS_WIN_H
#define TETHER_OS_WIN_H

#include "os/os.h"

#include <windows.h>
#include <winsock2.h>

#include <uv.h>

/* One of libuv's codes for one of the system's. */
int win_code(DWORD error);
/* For the error that this thread has just met. */
int win_error(void);

/* Strings for the system, to be freed; NULL: no memory, or no UTF-8. */
wchar_t *win_wide(const char *text);
/* From the system; lone surrogates come out as U+FFFD. NULL: no memory. */
char *win_text(const wchar_t *wide, size_t length);
/* The same into a place that is there. UV_ENAMETOOLONG: it does not fit, and out is empty. */
int win_text_into(const wchar_t *wide, char *out, size_t size);

/* An absolute path as the system takes it at any length: "\\?\" in front, no "." or ".." or slash
 * in it. To be freed. UV_EINVAL: it is not absolute, or no UTF-8. */
int win_path(const char *path, wchar_t **out);

/* A name that cannot lead out of its directory, nor name a stream of a file or a device. */
bool win_name_is_plain(const char *name);

/* The standard streams by their numbers, as callers of os_write and the like know them; any other
 * handle is what it is. */
HANDLE win_handle(os_handle handle);

/* What a process must let us do to it so that we can ask whether it lives, and wait. Never more: to
 * hold a right to end a process is the first half of ending the wrong one. */
#define WIN_ASK (SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION)

/* Opens a process and makes sure that it is this one; it may have ended. With a start that is not
 * known any will do, and it is filled in. */
int win_process_open(struct os_identity *identity, DWORD access, HANDLE *process);
int win_process_start(HANDLE process, uint64_t *start);
bool win_has_ended(HANDLE process);

/* The pid of who started us; it may be another's by now. */
int win_noted_parent(int64_t *parent);

/* The name of its program, for people: asked about anybody's process, and about whoever has the
 * pid. Empty: nobody has. */
void win_name_of(int64_t pid, char *out, size_t size);

/* Whether we are in a job that lets nobody leave, so that we may end with who made it. */
bool win_is_bound(void);

/* Reads what is in a pipe now, as os_pipe_read_now does. */
int64_t win_read_now(HANDLE pipe, void *out, size_t size);

/* Gives the handle to an initialised pipe of a loop; after a failure it is closed. */
int win_pipe_open(uv_pipe_t *pipe, HANDLE handle);

/* ---- Users and what they may ---- */

/* A security identifier with its place. */
struct win_user {
    union {
        SID sid;
        BYTE bytes[SECURITY_MAX_SID_SIZE];
    };
};

int win_user_of(HANDLE process, struct win_user *user);
/* Ours, asked for once. NULL: the system does not tell. */
const struct win_user *win_user_self(void);
bool win_is_self(PSID sid);

/* The number that stands for the user in os.h; never ours for one that is not. */
uint32_t win_user_number(struct win_user *user);

/* "S-1-5-21-…" of our user. */
#define WIN_SID_TEXT 192
int win_user_text(char out[WIN_SID_TEXT]);

/* What only our user and the system may touch: for a directory and what is made in it, for a file,
 * for a pipe or an event. Whether other machines reach it is another question: to deny it to all
 * who come by the network would shut out ourselves, for so do those who log on by SSH. To be given
 * back by LocalFree. */
enum win_privacy { WIN_PRIVATE_DIRECTORY, WIN_PRIVATE_FILE, WIN_PRIVATE_PIPE };
int win_descriptor(enum win_privacy kind, PSECURITY_DESCRIPTOR *descriptor);

/* The variables that hand sockets down: their values, and whose child they are for. */
extern const char win_listeners[], win_listeners_from[];

/* Whether this is Wine: the one place that knows. It lacks a few things that every Windows has, and
 * where it does, less is known there, never more allowed. */
bool win_is_wine(void);

#endif
