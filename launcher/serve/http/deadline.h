/* Many deadlines, one timer, and no wakeup while nothing waits.
 *
 * A class of deadlines has one length of time, so its entries are due in the order in which they
 * were started: each class is a list, and only its first entry counts. Starting and stopping are a
 * look at the clock and a few assignments; the timer is only ever set earlier, and set anew when it
 * fires. Time in which the machine sleeps is none. */
#ifndef TETHER_SERVE_HTTP_DEADLINE_H
#define TETHER_SERVE_HTTP_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum { DEADLINE_CLASSES = 16 };

struct deadline;
struct deadlines;

struct deadline_class {
    struct deadlines *all;
    struct deadline *first, *last;
    uint64_t length_ms;
    /* The deadline has been stopped; it may be started again. */
    void (*expired)(struct deadline *deadline);
};

/* Embedded in what it is for. Zeroed memory is one that does not run. */
struct deadline {
    struct deadline *next, *previous;
    struct deadline_class *class; /* NULL: it does not run */
    uint64_t due;
};

struct deadlines {
    uv_timer_t timer;
    struct deadline_class *classes[DEADLINE_CLASSES];
    unsigned count;
    uint64_t set_for; /* when the timer fires; 0: it does not run */
};

void deadlines_init(struct deadlines *all, uv_loop_t *loop);
void deadlines_finish(struct deadlines *all);

/* Adds a class, which must outlive all. */
void deadlines_add(struct deadlines *all, struct deadline_class *class, uint64_t length_ms,
                   void (*expired)(struct deadline *deadline));

/* Starts it, or starts it anew. */
void deadline_start(struct deadline *deadline, struct deadline_class *class);
void deadline_stop(struct deadline *deadline);

/* What a deadline is embedded in. */
#define deadline_owner(deadline, type, member)                                                     \
    ((type *)(void *)((char *)(deadline)-offsetof(type, member)))

#endif
