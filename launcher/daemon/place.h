/* The place of an instance: its directory with the lock in it, the control endpoint, the records.
 *
 * The lock says who runs an instance, but only as long as its file is there. Cleaners of /tmp, and
 * people, remove files; so who gets the lock looks for a daemon that lives all the same, and a
 * daemon makes again what somebody has taken from it. */
#ifndef TETHER_DAEMON_PLACE_H
#define TETHER_DAEMON_PLACE_H

#include <uv.h>

#include "os/os.h"

struct daemon;

/* Takes the lock of the instance. UV_EAGAIN: another has it. UV_EBUSY: it was free only because
 * its file was removed, and is given up again: a daemon runs here, or may do so, whom the error
 * names. */
int place_take(os_handle *lock, const struct os_dir *dir, struct error *err);

/* For whom somebody waited in vain: the error names the daemon that has the lock, if it is known.
 */
int place_tell_silent(const struct os_dir *dir, struct error *err);

/* Whether a daemon runs here, or may do so, be it with its lock or without. */
bool place_is_taken(const struct os_dir *dir);

struct place_keeper {
    uv_fs_event_t *lock, *endpoint;
    uv_timer_t again; /* what was lost could not be had at once, or was made anew */
    uint64_t delay_ms;
    bool changed; /* what was lost has just been made anew */
    bool kept;    /* the timer is there */
};

/* From now on what is removed is made again. */
void place_keep(struct daemon *daemon);
void place_finish(struct daemon *daemon);

#endif
