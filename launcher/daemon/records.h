/* The files in which an instance tells the world about itself.
 *
 *     state.json            {"version":…,"daemon":{pid,start},"guard":{…},"server":{…},…}
 *     sessions/<pid>.json   {"pid":…,"start":…,"role":…,"project":…}
 *     last.json             the last state of a run that is over, with "ended" and "cause"
 *
 * They help people and the next start; who runs is told by the lock alone. They are replaced whole,
 * and all but the last one are removed at the end. What cannot be written is reported once and
 * changes nothing else. */
#ifndef TETHER_DAEMON_RECORDS_H
#define TETHER_DAEMON_RECORDS_H

#include <jansson.h>

#include "os/os.h"

#define RECORDS_MARK  33
#define RECORDS_ABOVE 16

/* What an earlier daemon left in state.json; identities with pid 0 are not known, texts that are
 * empty neither. */
struct records_state {
    struct os_identity daemon, guard, server;
    struct os_identity above[RECORDS_ABOVE]; /* the daemon's parent, that one's parent, … */
    char place[OS_PLACE_MAX];                /* where those identities mean something */
    char lock[OS_LOCK_TEXT_MAX];             /* the file that the daemon has locked */
    char mark[RECORDS_MARK]; /* what all that it started have in their environment */
};

/* False if there is no such file, or none that can be used. */
bool records_read_state(const struct os_dir *dir, struct records_state *state);

/* Writes the JSON as state.json; takes the reference. */
int records_write_state(const struct os_dir *dir, json_t *state, struct error *err);

/* Writes and removes the file of one session's process. `session` takes the reference. */
int records_write_session(const struct os_dir *dir, int64_t pid, json_t *session);
void records_remove_session(const struct os_dir *dir, int64_t pid);

/* Removes what dead processes left: session files whose process is dead, and temporary files. Files
 * of living or unknown processes, with other names or without a usable content stay. Calls
 * `removed` for each, if given. Only for who holds the lock. Returns how many. */
unsigned records_clean(const struct os_dir *dir, void (*removed)(const char *name, void *context),
                       void *context);

/* Writes the JSON as last.json; takes the reference. */
int records_write_last(const struct os_dir *dir, json_t *last, struct error *err);

/* Makes the state that a dead daemon left the last one. Only for who holds the lock. */
void records_keep_last(const struct os_dir *dir);

/* The last state of the run before, if nothing runs: of a daemon that left its state file, or else
 * of one that ended in order, which has "ended". NULL if there is none for this instance that can
 * be used; else a new reference. */
json_t *records_read_last(const struct os_dir *dir, const char *instance);

/* Removes state.json if it is this daemon's, which has ended in order. */
void records_remove_all(const struct os_dir *dir, const struct os_identity *daemon);

#endif
