/* Who is meant when a process is, and whether it lives. */
#ifndef TETHER_IDENTITY_H
#define TETHER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A process, told apart from every other that had or will have its pid. `start` is the system's own
 * start time in its own unit (Linux: field 22 of /proc/PID/stat), greater for who started later; 0
 * means that it is not known. Pid 1 is a valid identity: in a container it may well be the editor.
 */
struct os_identity {
    int64_t pid;
    uint64_t start;
};

/* Nobody, pid 0, is the same as nobody else. */
static inline bool os_identity_same(const struct os_identity *a, const struct os_identity *b) {
    return a->pid != 0 && a->pid == b->pid && a->start == b->start;
}

/* OS_UNKNOWN is what the system would not tell; it must never be treated as dead. */
enum os_life { OS_UNKNOWN = 0, OS_ALIVE, OS_DEAD };

#endif
