/* An error a person can act on: what went wrong, where, and what to do next.
 *
 * Functions that can fail for reasons worth telling take a `struct error *`, fill it where the
 * cause is known, and return its code (negative). The struct is plain data owned by the caller;
 * nothing in it needs releasing. Passing NULL means the caller does not want the text. */
#ifndef TETHER_ERROR_H
#define TETHER_ERROR_H

struct error {
    int code; /* negative, one of libuv's (UV_ENOENT …), on every system */
    char message[512];
};

/* Sets code and text and returns the code, so that `return error_set(err, UV_EACCES, …)` reads as
 * one step. Text that does not fit is cut at the end, and bytes that are no UTF-8
 * and control characters become '?'. Keeps errno. */
int error_set(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
