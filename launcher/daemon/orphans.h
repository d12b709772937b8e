/* What an earlier daemon left behind when it was killed together with its guard.
 *
 * To be ended, a process has to be proven ours. Pid and start in a file are no proof: files are
 * restored and forged. Neither are variables alone: environments are inherited and copied. It takes
 * a record of a daemon that is dead, made where pids mean what they mean here; the mark of that
 * record, a random text, in the environment of the process; and descent: it is the recorded server,
 * in the session of that one, or child of a process above its daemon, where orphans of it go.
 * Whoever asked for us, or is above him, is never ended. All others are left alone and told of. */
#ifndef TETHER_DAEMON_ORPHANS_H
#define TETHER_DAEMON_ORPHANS_H

#include "log.h"
#include "options/options.h"
#include "os/os.h"
#include "records.h"

struct orphans {
    char instance[OPTIONS_INSTANCE_MAX];
    bool known; /* there is a record, and its daemon is dead */
    struct records_state record;
    struct os_identity self, owner;
};

/* For who has the lock of the instance, or only looks. */
void orphans_init(struct orphans *orphans, const struct options *options, const struct os_dir *dir);

/* Whether its environment says that a daemon of the instance started it that is dead. */
bool orphans_says_so(const struct orphans *orphans, const struct os_identity *identity);

/* Whether a daemon started it that is not us, and it is not below us either. */
bool orphans_is_others(const struct os_identity *identity);

/* Whether it is proven to be ours to end. */
bool orphans_is_ours(const struct orphans *orphans, const struct os_identity *identity);

/* Ends those that are ours, each with all below it, and tells of the others. */
void orphans_end(const struct orphans *orphans, int grace_ms, struct log *log);

#endif
