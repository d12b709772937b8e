/* Everything Tether asks of the operating system, behind one interface.
 *
 * os/posix/ holds what Linux and macOS share, os/linux/ what only Linux has; other systems add
 * directories of their own. Outside os/ nothing includes a system header.
 *
 * Unless a comment says otherwise: functions return 0 or one of libuv's codes (UV_ENOENT and so on;
 * on POSIX they are -errno); a `struct error *` may be NULL; output is written only on success,
 * except that text buffers always end up terminated and handles that were not opened read
 * OS_NO_HANDLE; all handles are close-on-exec; no function keeps a pointer to its arguments; all
 * are safe to call from any thread. */
#ifndef TETHER_OS_H
#define TETHER_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "identity.h"

struct text_list;

/* A file descriptor on POSIX, a HANDLE on Windows. */
typedef intptr_t os_handle;
#define OS_NO_HANDLE ((os_handle)-1)

/* Closes the handle and sets it to OS_NO_HANDLE; closing OS_NO_HANDLE does nothing. */
void os_handle_close(os_handle *handle);

/* ---- Identity ---- */

/* Strict decimal text: digits only, no sign, space or leading zero, nothing behind, within range
 * and above 0. Returns UV_EINVAL for anything else and UV_ERANGE for a number no process can have.
 */
int os_pid_parse(const char *text, int64_t *pid);
int os_start_parse(const char *text, uint64_t *start);

/* The text that os_start_parse and os_pid_parse read back. */
#define OS_NUMBER_MAX 21
void os_pid_format(char out[OS_NUMBER_MAX], int64_t pid);
void os_start_format(char out[OS_NUMBER_MAX], uint64_t start);

/* Who has this pid now, zombies included. UV_ESRCH: nobody. UV_EACCES: somebody, but the system
 * does not show who. */
int os_identity_of(int64_t pid, struct os_identity *identity);
int os_identity_self(struct os_identity *identity);

/* The program that started us, if it may be watched for its end. UV_ESRCH: there is none. It is
 * outside our pid namespace, or we were orphaned already, or are process 1 ourselves. */
int os_identity_parent(struct os_identity *identity);

/* A zombie is dead, and so is an identity whose pid now belongs to another start. With an unknown
 * start any living process of that pid counts. A pid that no process can have is unknown. */
enum os_life os_liveness(const struct os_identity *identity);

enum os_answer { OS_MAYBE = 0, OS_YES, OS_NO };

/* Whether the process counts pids, and the time since the start of the machine, as we do. If not,
 * an identity that it sends means nothing here. */
enum os_answer os_same_namespace(int64_t pid);

/* Where the identities of processes mean what they mean here: this start of the machine, and our
 * namespaces of pids and of time, as a text for records. A part that the system does not tell is
 * missing in it. */
#define OS_PLACE_MAX 96
void os_place(char out[OS_PLACE_MAX]);

/* Whether such a text names our place. OS_NO: it was another start of the machine, and whoever is
 * meant is dead. OS_MAYBE: the same start, but pids count differently there, or the text tells too
 * little. */
enum os_answer os_place_is_ours(const char *place);

/* ---- Processes ---- */

/* A process that is held on to: the handle refers to this very process even after its pid has been
 * given to another. On POSIX the handle polls readable once the process has exited, on Windows it
 * is signalled. Whoever opened it closes it. */
struct os_process {
    struct os_identity identity;
    os_handle handle;
};

/* Opens the process and makes sure afterwards that it is the one meant; fills in a start that was
 * unknown if the system shows it. UV_ESRCH: no such process, or dead, or the pid is another's now.
 * UV_EACCES: the start cannot be verified. UV_ENOSYS: no such handles here; poll os_liveness. */
int os_process_open(struct os_process *process, const struct os_identity *identity);

/* Waits until the process has exited: 0, or UV_ETIMEDOUT. 0 ms asks without waiting, a negative
 * time waits for ever. It may be anybody's child; its status is not collected. */
int os_process_wait(const struct os_process *process, int timeout_ms);

/* Also accepts a process that was never opened, if its handle is OS_NO_HANDLE. */
void os_process_close(struct os_process *process);

/* Facts about a process. With a known start they are about that process or fail with UV_ESRCH, also
 * if the pid changes hands meanwhile. UV_EACCES: the system does not show them to us.
 * Command and executable are made for people: control characters and broken UTF-8 come out as '?',
 * and text cut for space ends in "...". */
int os_process_command(const struct os_identity *identity, char *out, size_t size);
int os_process_executable(const struct os_identity *identity, char *out, size_t size);
int os_process_parent(const struct os_identity *identity, int64_t *parent);

/* The session in which the process is; where there are none, UV_ENOSYS. */
int os_process_session(const struct os_identity *identity, int64_t *session);

/* Users are uids on POSIX and the last part of the SID on Windows. */
int os_process_user(const struct os_identity *identity, uint32_t *user);
uint32_t os_user_self(void);
#define OS_USER_UNKNOWN UINT32_MAX /* where no user is told */

/* A variable as it was when the process started. UV_ENOENT: not set. UV_ENOBUFS: longer than out.
 */
int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size);

/* Return false to end the iteration. */
typedef bool (*os_identity_fn)(const struct os_identity *identity, void *arg);

/* Calls fn for each living process of our user whose environment has name=value, the caller's own
 * included; those whose environment is hidden from us are passed over. value: below 256 bytes. */
int os_process_each(const char *name, const char *value, os_identity_fn fn, void *arg);

/* Ends a process that an earlier daemon left behind, with all below it: SIGTERM, the grace, then
 * freeze and kill; where the system ends the trees of a daemon that is gone, this one alone. Blocks
 * until they are gone. UV_ESRCH: it is gone already. The caller has made sure that it is ours to
 * end. */
int os_orphan_end(const struct os_identity *root, int grace_ms);

/* What a fork of ours has no use for, for as long as we live: of this memory it does not get the
 * whole pages, which would become its own as soon as we write to ours. */
void os_keep_from_forks(void *memory, size_t size);

/* ---- Within another's process ---- */

/* For a thread inside of another's process: signals are not for it, neither theirs nor the one for
 * writing to a peer that is gone. */
void os_thread_block_signals(void);

/* For a library in a process that is not ours, before anything else here and of libuv: what libuv
 * sets for a whole process stays as it is. */
void os_library_begin(void);

/* Adds this process's environment as it is now; another thread may be changing it. */
void os_environment(struct text_list *list);

/* ---- Private directories ---- */

#define OS_PATH_MAX     1024
#define OS_ENDPOINT_MAX 256 /* the name of a control endpoint */

/* An open directory that was found to be ours alone. Close handle with os_dir_finish. */
struct os_dir {
    os_handle handle;
    char path[OS_PATH_MAX];
};

/* What stands between the names in a path that is shown. */
extern const char os_path_separator;

/* Whether it stands between names in a path that somebody has written. */
bool os_is_separator(char c);

/* Where programs keep what belongs to a user: the variable that names the folder, and where below
 * the user's own it is without that. */
extern const char os_config_variable[], os_config_folder[];

/* What people type before a pid to end that process; and what they can do about a daemon that does
 * not answer. */
extern const char os_end_command[], os_silent_advice[];

/* Where an instance keeps its state: <state_dir>/<instance> if state_dir is neither NULL nor empty
 * (it must be absolute), else /run/user/UID/tether/<instance> if the first part is a directory of
 * ours, else /tmp/tether-UID/<instance>. Depends on no environment variable: the caller passes the
 * value of TETHER_STATE_DIR. instance: letters, digits, '-', '_' and '.', at most 64. */
int os_instance_path(const char *state_dir, const char *instance, char *out, size_t size,
                     struct error *err);

/* Opens the directory; its last two levels must be real directories that are ours with no access
 * for others, everything above is the system's. With create, missing ones of the two are made with
 * mode 0700. Nothing is ever repaired: what others could write to before is not trusted after a
 * chmod, so the error names the path, its owner or mode, and the remedy. UV_ENOENT: not there. */
int os_dir_open(struct os_dir *dir, const char *path, bool create, struct error *err);

/* The same for one level below an open directory. */
int os_dir_enter(struct os_dir *dir, const struct os_dir *parent, const char *name, bool create,
                 struct error *err);

/* Also accepts a directory that failed to open. */
void os_dir_finish(struct os_dir *dir);

/* Return false to end the iteration. Removing entries from within is allowed. */
typedef bool (*os_name_fn)(const char *name, void *arg);
int os_dir_each(const struct os_dir *dir, os_name_fn fn, void *arg);

/* The name of an instance's control endpoint; servers and clients both come here, and os_loop.h has
 * what is done with it. A Unix socket: control.sock in the instance's directory if the system's
 * limit for socket paths allows, else /tmp/tether-UID/<hash>.sock, where the hash is FNV-1a 64 of
 * the directory's path in 16 hexadecimal digits. That directory is checked as os_dir_open does, and
 * made if create is set. (Windows: the name of a pipe.) */
int os_control_name(const struct os_dir *instance, bool create, char out[OS_ENDPOINT_MAX],
                    struct error *err);

/* Removes what is left of an endpoint; 0 if there is nothing. Only for who holds the lock. */
int os_control_remove(const struct os_dir *instance, struct error *err);

/* Whether somebody listens at the endpoint, even if it does not come to answer. */
bool os_control_is_answered(const struct os_dir *instance);

/* ---- Files in a private directory ---- */

/* Names are plain: not empty, no slash, not "." or "..". Anything else is UV_EINVAL. */

/* Puts the whole content in place or changes nothing and leaves nothing behind. Survives a killed
 * writer, not a power failure: the content is about processes, which do not survive one either. */
int os_file_write(const struct os_dir *dir, const char *name, const void *data, size_t length,
                  struct error *err);

/* Reads a whole regular file of ours, and terminates it. UV_EFBIG: length would reach size.
 * UV_EPERM: not ours, or not a regular file. UV_ELOOP: a symlink. length may be NULL. */
int os_file_read(const struct os_dir *dir, const char *name, char *out, size_t size,
                 size_t *length);

/* Removes the entry, never what a symlink points to. 0 also if it is not there. */
int os_file_remove(const struct os_dir *dir, const char *name);

/* Whether the name is one that os_file_write uses on its way. While the instance's lock is held and
 * no other thread writes, such a file belongs to a writer that was killed and can be removed. */
bool os_file_is_temporary(const char *name);

/* Opens a file of ours for appending, made if missing, and tells its size. UV_EPERM: not ours. */
int os_file_append(const struct os_dir *dir, const char *name, os_handle *handle, uint64_t *size);

/* Gives the entry another name, in place of what has that name. */
int os_file_rename(const struct os_dir *dir, const char *from, const char *to);

/* Waits until an entry of the directory comes or goes, or the time is over. A change that comes
 * just before the call is not noticed: for who asks again anyway. */
void os_dir_wait(const struct os_dir *dir, int limit_ms);

/* ---- Locks ---- */

/* Takes the exclusive lock on a file of the directory, made if missing and never removed, without
 * waiting. The kernel keeps the lock until the last copy of the handle is closed: it passes through
 * fork and, if the handle is inherited, through exec. UV_EAGAIN: another holds it. As long as the
 * directory's handle is open, programs that clean up and know of locks leave all in it alone. */
int os_lock_take(os_handle *lock, const struct os_dir *dir, const char *name, struct error *err);

/* For a process that was started with the lock in an inherited handle: checks that it is that file
 * and that this handle holds the lock, and keeps the handle from being inherited further. */
int os_lock_adopt(os_handle lock, const struct os_dir *dir, const char *name, struct error *err);

/* False: the lock excludes nobody any more, for its file was removed or replaced, or the directory
 * is no longer what its path leads to. */
bool os_lock_is_current(os_handle lock, const struct os_dir *dir, const char *name);

/* Names the locked file apart from every other that exists while the lock is held; for records. */
#define OS_LOCK_TEXT_MAX 48
void os_lock_text(os_handle lock, char out[OS_LOCK_TEXT_MAX]);

/* 1 if anybody, the caller included, holds the lock, else 0. Asking takes nothing: it never makes
 * an os_lock_take at the same moment fail. */
int os_lock_is_held(const struct os_dir *dir, const char *name);

/* ---- The other end of a control connection ---- */

/* What the kernel vouches for. process.identity.pid is 0 if the peer is in a pid namespace that we
 * do not see; then there is no handle either. process.identity.start is 0 if hidden from us.
 * process.handle is OS_NO_HANDLE where the system has none; else os_process_close it. */
struct os_peer {
    struct os_process process;
    uint32_t user;
    uint32_t group;
};

/* UV_ESRCH: the process that connected no longer lives, even if another holds its socket. On
 * kernels without SO_PEERPIDFD (before 6.5) a pid that died and was given away since the connect is
 * not noticed. */
int os_peer_of(os_handle connection, struct os_peer *peer);

/* Whose process holds the other end of a TCP connection within this machine. Asked when the
 * connection is accepted, it costs some microseconds. UV_ESRCH: nobody holds it any more (the peer
 * has closed it), it is not of this machine, or there is no descriptor or memory left to ask with:
 * such a peer is to be refused, or whoever writes and closes at once, or uses all of it up, would
 * not be asked. OS_USER_UNKNOWN: one that we may not ask about, so not our own user. Another error:
 * the system does not tell. */
int os_tcp_peer_user(os_handle connection, uint32_t *user);

/* The same for a connection that we made, to be asked before anything is said on it: whose server
 * it leads to, be it that it has been accepted, be it that it still waits in the queue of a
 * listener. */
int os_tcp_server_user(os_handle connection, uint32_t *user);

/* ---- Ports ---- */

/* Whether a server could listen on 127.0.0.1:port now, with nobody on [::1] or a wildcard address
 * to be reached in its place. UV_EADDRINUSE: somebody is there. UV_EAGAIN: nobody is, but
 * connections of one that is gone block it for a while (where there is SO_REUSEADDR, if that one
 * had not set it). UV_EACCES: the system keeps the port. */
int os_port_try(uint16_t port, struct error *err);

/* A blocking socket that listens on 127.0.0.1. Port 0 lets the system choose; os_socket_port tells
 * which. */
int os_listen(os_handle *listener, uint16_t port, int backlog, struct error *err);
int os_socket_port(os_handle handle, uint16_t *port);

/* Keeps everybody else from [::1]:port, where nobody is to listen: who says "localhost" then gets
 * to 127.0.0.1. To be closed; an error where there is no such address, or somebody has it. */
int os_port_reserve(os_handle *reserved, uint16_t port);

/* Who is on a port. identity.pid is 0 if no process could be named: it belongs to another user or
 * another pid namespace; user is known all the same, or on some systems pid and executable's name,
 * as hidden_pid and executable: for people to read, and not enough to do anything to it. Of several
 * processes that share the socket (a server and its children) it is the oldest, and count says how
 * many there are. listening is false for a process that merely has a connection which uses the
 * port. */
struct os_port_holder {
    struct os_identity identity;
    int64_t hidden_pid;
    uint32_t user;
    unsigned count;
    bool listening;
    char executable[256];
    char command[256];
};

/* UV_ENOENT: nobody that the system shows; closed connections that still wait do not count. Runs no
 * program and asks no privilege. */
int os_port_holder(uint16_t port, struct os_port_holder *holder);

/* ---- What whoever started us gave us, and is to know ---- */

/* The words this program was started with, as UTF-8: of main's own, or in their place, and how many
 * there are. They stay as long as the process. */
char **os_arguments(int *count, char **words);

/* A variable of our environment; NULL: not set. The text stays as long as the process. */
const char *os_variable(const char *name);

/* What somebody may wish of a program that runs (os_loop.h tells of it, os_tree.h passes it on);
 * each a bit, so that a set of them is a sum. POSIX wishes by signals; on systems without, some of
 * these never come. */
enum os_wish {
    OS_WISH_END = 1,
    OS_WISH_HANGUP = 2, /* the terminal is gone */
    OS_WISH_USER1 = 4,  /* what these two mean is the program's own affair */
    OS_WISH_USER2 = 8,
};

/* Tells a service manager, or a daemon of ours, if it gave a place for that. 0 also if not. */
enum os_readiness { OS_IS_READY, OS_IS_STOPPING };
int os_ready_tell(enum os_readiness what);

/* Removes such a place of a daemon that was killed. Only for who holds the lock. */
void os_ready_remove(const struct os_dir *dir);

/* Sockets that listen already, as systemd hands them down: returns how many there are, `most` at
 * most. Nothing says that they are sockets indeed: os_socket_port does. */
size_t os_inherited_listeners(os_handle out[], size_t most);

/* ---- The rest ---- */

/* Writes all of it. */
int os_write(os_handle handle, const void *data, size_t length);

/* Writes what goes without waiting, to what os_stdio_unblocked gave: returns the count, or
 * UV_EAGAIN. Of a terminal that is not ours alone it may wait all the same. */
int64_t os_write_now(os_handle handle, const void *data, size_t length);

/* Whether os_write_now would write something, within so long. */
bool os_wait_writable(os_handle handle, int limit_ms);

/* Whether what is written there is read by nobody, for its reader has gone. */
bool os_reader_gone(os_handle output);

/* Returns the count, 0 at the end, or a negative code (UV_EAGAIN: nothing is there now). */
int64_t os_read(os_handle handle, void *out, size_t size);

/* Seconds of the system's clock as a date and time of day. */
struct tm;
bool os_utc(int64_t seconds, struct tm *parts);

/* "Killed", "Segmentation fault", … */
const char *os_signal_name(int number);

/* Milliseconds that never jump and do not run while the machine sleeps. */
int64_t os_clock_ms(void);

int os_random(void *out, size_t size);

/* Opens whichever of the descriptors 0 to 2 are closed to the null device, so that no file of ours
 * ever lands there. Called first thing in main. */
int os_stdio_ensure(void);

/* From now on, until this process ends, a console takes what is written to it for the UTF-8 that it
 * is. */
void os_console_speak_utf8(void);

/* From now on writing to a peer that is gone, or beyond what a file may hold, is an error of the
 * write, and no more than that. For a process that is ours alone. */
void os_ignore_broken_pipes(void);

/* Standard output (1) or error (2) for os_write_now: a handle of our own, since to make the one
 * that others share non-blocking would trouble them; or that one itself. */
os_handle os_stdio_unblocked(int number);

/* Gives it back. Where what was written is still on its way it gets a moment to arrive. */
void os_stdio_release(os_handle *handle, int number);

/* Makes standard output and error go where the handle goes. */
int os_stdio_redirect(os_handle handle);

/* Closes standard input and output, in whose places the null device is from then on. */
int os_stdio_let_go(void);

/* The system's text for an error code of either sign: os_error_text(rc).text. */
struct os_error_text {
    char text[96];
};
struct os_error_text os_error_text(int code);

#endif
