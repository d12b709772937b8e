/* The messages of the control protocol, as both sides read and write them.
 *
 * Each is one JSON object on one line. A reader takes what it knows and ignores every other type
 * and key, for ever: that is what lets old and new live together. */
#ifndef TETHER_PROTOCOL_MESSAGE_H
#define TETHER_PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "error.h"

/* Reads one line. NULL, with the reason in `err`, unless it is a JSON object; else a new reference.
 */
json_t *message_parse(const char *line, size_t length, struct error *err);

/* The text of the key, or "" if it is not there or no string. Borrowed from the message. */
const char *message_text(const json_t *message, const char *key);

/* The number of the key, or the fallback if it is not there or no number. */
int64_t message_number(const json_t *message, const char *key, int64_t fallback);

/* The message as one line with its newline, for the caller to free; NULL without memory. Takes the
 * reference. */
char *message_line(json_t *message, size_t *length);

/* ---- what a daemon says ---- */

enum message_kind {
    MESSAGE_OTHER, /* to be ignored */
    MESSAGE_WELCOME,
    MESSAGE_STATE,
    MESSAGE_LOG,
    MESSAGE_PING,
    MESSAGE_ERROR,
    MESSAGE_REPLY /* to a request, whose "id" it has */
};

enum message_kind message_kind(const json_t *message);

/* How the server is, by the "state" of a message. */
enum server_state {
    SERVER_UNKNOWN, /* not told, or by a word of a later release */
    SERVER_STARTING,
    SERVER_READY,
    SERVER_BACKOFF,
    SERVER_STOPPING,
    SERVER_STOPPED,
    SERVER_FAILED
};

enum server_state message_state(const json_t *message);
bool server_is_ending(enum server_state state);

/* Why something is refused, by the "code" of a message. */
enum refusal {
    REFUSED_NOT, /* it is granted, or no code was told */
    REFUSED_STOPPING,
    REFUSED_FULL,
    REFUSED_IN_USE,
    REFUSED_PROTOCOL,
    REFUSED_BAD_HELLO,
    REFUSED_BAD_LEAVE,
    REFUSED_BAD_MESSAGE,
    REFUSED_BAD_OWNER,
    REFUSED_NOT_YOU,
    REFUSED_NOT_YOURS,
    REFUSED_TOO_LONG,
    REFUSED_OTHERWISE /* by a word of a later release */
};

enum refusal message_refusal(const json_t *message);
const char *refusal_code(enum refusal refusal);

/* How a start went, as `tether launch` prints it: "started", "adopted" or "failed". */
json_t *launch_result(const char *result, int code, const char *message, int64_t daemon_pid,
                      int64_t server_pid, uint16_t http_port, uint16_t ws_port,
                      const char *control);

/* ---- what a client says ---- */

/* The first thing. Texts are borrowed. */
struct hello {
    int64_t protocol;
    const char *role; /* "editor", "front" or "cli" */
    int64_t pid;      /* 0: not said */
    uint64_t start;   /* 0: not said */
    const char *version, *godot, *project, *resume;
};

json_t *hello_message(const struct hello *hello);

/* False, with the reason in `err`, if a value makes no sense. */
bool hello_parse(const json_t *message, struct hello *hello, struct error *err);

/* A process as {"pid":…,"start":"…"}. A start is text: JSON numbers lose precision at 2^53. */
json_t *process_json(int64_t pid, uint64_t start);

/* Compares releases "1.2.3" number by number: < 0, 0, > 0. What is no number counts as 0. */
int version_compare(const char *a, const char *b);

#endif
