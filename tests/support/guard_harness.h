/* A daemon for tests of the guard: the test process forks it, it starts a guard and the server, and
 * tells the test through a pipe what the guard reported. No loop library, no threads.
 *
 * The test process adopts orphans. Whatever a test leaves behind becomes its child, is found there
 * by harness_finish, counted, and ended by its number. */
#ifndef TETHER_TEST_GUARD_HARNESS_H
#define TETHER_TEST_GUARD_HARNESS_H

#include "os/linux/guard.h"

enum { HARNESS_DEADLINE_MS = 8000, HARNESS_SERVERS_MAX = 8 };

/* What the daemon writes: every event, and these two of its own. */
enum { HARNESS_STARTED = 100, HARNESS_DONE };

struct harness_record {
    int type; /* enum guard_event_type, or one of the above */
    int guard_pid;
    bool ended;   /* DONE: the guard ended the tree (else the daemon did) */
    int children; /* DONE: children the daemon had left after it */
    struct guard_event event;
};

struct harness_options {
    const char *const *words;
    const char *const *environment; /* NULL: our own */
    const os_handle *listeners;
    const char *listener_names;
    size_t listener_count;
    uint32_t grace_ms;
    void (*prepare)(void); /* runs in the daemon before it starts the guard */
};

struct harness {
    int daemon;
    int guard;
    int control; /* one letter each: t terminate, k kill, a abandon, q exit without a word */
    int records;
    int life; /* the server's stdout, held by every process of the tree: ends when all are gone */
    char text[65536];
    size_t used;
};

void harness_start(struct harness *harness, const struct harness_options *options);
void harness_command(const struct harness *harness, char letter);

/* The next record of this type within the deadline, skipping others; false if there is none. */
bool harness_await(struct harness *harness, int type, struct harness_record *out);
/* The very next record. */
bool harness_next(struct harness *harness, struct harness_record *out);

/* Waits until the server's output holds this many lines. */
bool harness_lines(struct harness *harness, size_t lines);
/* Waits until no process of the tree holds the server's output any more. */
bool harness_output_ends(struct harness *harness);
/* The pid behind NAME in the output, 0 if it is not there. */
int harness_pid(const struct harness *harness, const char *name);

/* Waits for all the processes and returns how many live on when the time is up. */
int harness_survivors(const int *pidfds, size_t count, int deadline_ms);
int harness_pidfd(int pid);

/* Waits for daemon and guard, and counts and kills what else has become the test's child. */
int harness_finish(struct harness *harness);

/* The path of a helper program beside the running one. */
const char *harness_program(const char *name);

/* The same program in memory, for a daemon that may not go where the file is: run it by its
 * descriptor. The caller closes it; -1 if it cannot be had. */
int harness_program_copy(const char *name);

int64_t harness_now_us(void);

#endif
