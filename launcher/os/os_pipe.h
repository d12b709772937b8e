/* Pipes: one end for us, the other for a program that we start. */
#ifndef TETHER_OS_PIPE_H
#define TETHER_OS_PIPE_H

#include <uv.h>

#include "os.h"

/* Both ends block, and are the caller's to close. */
int os_pipe(os_handle *reading, os_handle *writing);

/* The same, but the reading end belongs to the loop. `reader` is initialised in any case: it is to
 * be closed with uv_close also after a failure. */
int os_pipe_reader(uv_loop_t *loop, uv_pipe_t *reader, os_handle *writing);

/* Reads what is in the pipe now, behind the loop's back and without waiting: the count, 0 at the
 * end, UV_EAGAIN when there is nothing. For the last words of a program that has ended. */
int64_t os_pipe_read_now(uv_pipe_t *reader, void *out, size_t size);

#endif
