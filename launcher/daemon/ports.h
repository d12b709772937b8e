/* The two ports of an instance: free before a start, held if asked for, free again after the end.
 * Whoever is in the way is named, and never touched. */
#ifndef TETHER_DAEMON_PORTS_H
#define TETHER_DAEMON_PORTS_H

#include "options/options.h"
#include "os/os.h"

/* Who was in the way at the last attempt, and which pair is free instead. */
struct ports_conflict {
    uint16_t port; /* 0: nobody was */
    bool is_shown; /* the system says who it is */
    struct os_port_holder holder;
    uint16_t next_http, next_ws; /* 0: no free pair was found */
};

struct ports {
    const struct options *options;
    struct ports_conflict conflict;
    os_handle listeners[2], reserved[2]; /* on 127.0.0.1, and what keeps others from [::1] */
    size_t listener_count;               /* 0: the server listens itself */
};

void ports_init(struct ports *ports, const struct options *options);

/* Makes sure that both ports can be had, and takes them if they are to be held. UV_EADDRINUSE: a
 * stranger has one; the error names it and the next free pair. UV_EAGAIN: nobody has it any more,
 * as far as can be told. */
int ports_prepare(struct ports *ports, struct error *err);

/* Gives held ports up. */
void ports_release(struct ports *ports);

/* Whether a server could have both ports now; the error says what is in the way. */
bool ports_are_free(struct ports *ports, struct error *err);

/* Whether a start would fail because of a stranger, as far as can be told beforehand. Only for who
 * holds the lock. */
bool ports_have_stranger(const struct options *options, const struct os_dir *dir);

#endif
