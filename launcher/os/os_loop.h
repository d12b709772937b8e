/* What the system tells, as callbacks on a loop.
 *
 * As in os.h, a function returns 0 or one of libuv's codes. Callbacks come from the loop, never
 * from within a call. What was created is destroyed on the loop's thread, from a callback of its
 * own if need be; no callback comes after that, and the loop frees it in its own time. Destroying
 * NULL does nothing. */
#ifndef TETHER_OS_LOOP_H
#define TETHER_OS_LOOP_H

#include <uv.h>

#include "os.h"

/* ---- The end of a process ---- */

struct os_watch;

/* Called once; the watch is still to be destroyed. */
typedef void (*os_watch_fn)(void *context, const struct os_identity *identity);

/* Watches a process until it ends or the watch is destroyed. `poll_ms` is how often to look where
 * the system has no event. UV_ESRCH: it is dead already. Other codes: it cannot be watched, which
 * does not mean that it is dead. */
int os_watch_create(struct os_watch **watch, uv_loop_t *loop, const struct os_identity *identity,
                    uint32_t poll_ms, os_watch_fn fn, void *context);
void os_watch_destroy(struct os_watch *watch);

/* ---- Connections ---- */

/* Lets an initialised handle listen with this socket, which is the handle's then and closed with
 * it, or at once if that fails. */
int os_listener_start(uv_tcp_t *tcp, os_handle listener, int backlog, uv_connection_cb fn);

/* Takes in nobody any more, so that the socket's other owners get whoever comes next. True: the
 * handle may be closed. False: as soon as the function is called with an error, for until then
 * somebody who came before may be told of. */
bool os_listener_rest(uv_tcp_t *tcp);

/* ---- The end of who reads our output ---- */

struct os_reader;

/* Calls the function once, as soon as nobody reads any more what is written to `output`; for a file
 * never. */
int os_reader_watch(struct os_reader **reader, uv_loop_t *loop, os_handle output,
                    void (*fn)(void *context), void *context);
void os_reader_forget(struct os_reader *reader);

/* ---- What a person at the terminal or a service manager wishes ---- */

struct os_wishes;
typedef void (*os_wish_fn)(void *context, enum os_wish wish);

/* Hears of those in `which`, a sum of them; the others do to the process what the system does by
 * itself. A program that is to outlive its terminal (`nohup`) is not told that the latter is gone.
 */
int os_wishes_create(struct os_wishes **wishes, uv_loop_t *loop, unsigned which, os_wish_fn fn,
                     void *context);
void os_wishes_destroy(struct os_wishes *wishes);

/* ---- Being told by a server that it is ready ---- */

struct os_ready;

/* The environment variable in which a server finds where to say so. */
extern const char os_ready_variable[];

/* Makes such a place. `fn` is called whenever somebody says there that he is ready, unless it is
 * certain that he is no process below ours. */
int os_ready_listen(struct os_ready **ready, uv_loop_t *loop, const struct os_dir *dir,
                    void (*fn)(void *context), void *context, struct error *err);

/* What the variable is to hold. Lives as long as the place. */
const char *os_ready_place(const struct os_ready *ready);

/* False: somebody has removed it, and the server finds nobody there. */
bool os_ready_is_there(const struct os_ready *ready);

/* What was said so far, by an earlier run, is not told any more. */
void os_ready_forget(struct os_ready *ready);
void os_ready_close(struct os_ready *ready);

/* ---- The control endpoint: where a daemon is reached by processes of its own user alone ---- */

struct os_control;

/* Whether the endpoint is a file, which somebody may remove, and the system tells of that. */
extern const bool os_control_is_file;

/* Somebody has connected; os_control_accept takes the connection. */
typedef void (*os_control_fn)(void *context);

/* Listens at the endpoint of the instance, whose name is os_control_name, in place of one that a
 * killed daemon left. Only for who holds the instance's lock. */
int os_control_listen(struct os_control **control, uv_loop_t *loop, const struct os_dir *instance,
                      int backlog, os_control_fn fn, void *context, struct error *err);

/* Once for each call of the function: gives the connection to an initialised pipe. */
int os_control_accept(struct os_control *control, uv_pipe_t *connection);

/* Ends the listening, and the endpoint is no more. Connections stay, and so does an endpoint that
 * another has put in the place of ours. */
void os_control_close(struct os_control *control);

/* False: somebody has removed or replaced the endpoint, and nobody can connect any more. */
bool os_control_is_there(const struct os_control *control);

/* Connects an initialised pipe to the endpoint of that name, at once. UV_ENOENT or UV_ECONNREFUSED:
 * nobody listens; UV_EAGAIN: more wait there already than it takes. After a failure the pipe is as
 * it was before. */
int os_control_connect(uv_pipe_t *pipe, const char *name);

/* Who is at the other end: os_peer_of, for either side. */
int os_control_peer(const uv_pipe_t *connection, struct os_peer *peer);

#endif
