#include "deadline.h"

#include <stddef.h>

#include "os/os.h"

static void on_timer(uv_timer_t *timer);

static void set_timer(struct deadlines *all, uint64_t due) {
    uint64_t now = (uint64_t)os_clock_ms();
    if (all->set_for != 0 && all->set_for <= due)
        return;
    all->set_for = due;
    uv_update_time(all->timer.loop);
    uv_timer_start(&all->timer, on_timer, due > now ? due - now : 0, 0);
}

static void run_class(struct deadline_class *class, uint64_t now) {
    while (class->first && class->first->due <= now) {
        struct deadline *deadline = class->first;
        deadline_stop(deadline);
        class->expired(deadline);
    }
}

/* It may come early: on some systems the loop's time goes on while the machine sleeps. */
static void on_timer(uv_timer_t *timer) {
    struct deadlines *all = timer->data;
    uint64_t now = (uint64_t)os_clock_ms();
    all->set_for = 0;
    for (unsigned i = 0; i < all->count; i++)
        run_class(all->classes[i], now);
    for (unsigned i = 0; i < all->count; i++)
        if (all->classes[i]->first)
            set_timer(all, all->classes[i]->first->due);
}

void deadlines_init(struct deadlines *all, uv_loop_t *loop) {
    *all = (struct deadlines){.count = 0};
    uv_timer_init(loop, &all->timer);
    all->timer.data = all;
}

void deadlines_finish(struct deadlines *all) {
    uv_close((uv_handle_t *)&all->timer, NULL);
}

void deadlines_add(struct deadlines *all, struct deadline_class *class, uint64_t length_ms,
                   void (*expired)(struct deadline *deadline)) {
    *class = (struct deadline_class){.all = all, .length_ms = length_ms, .expired = expired};
    all->classes[all->count++] = class;
}

void deadline_start(struct deadline *deadline, struct deadline_class *class) {
    deadline_stop(deadline);
    deadline->class = class;
    deadline->due = (uint64_t)os_clock_ms() + class->length_ms;
    deadline->next = NULL;
    deadline->previous = class->last;
    if (class->last)
        class->last->next = deadline;
    else
        class->first = deadline;
    class->last = deadline;
    set_timer(class->all, deadline->due);
}

void deadline_stop(struct deadline *deadline) {
    struct deadline_class *class = deadline->class;
    if (!class)
        return;
    if (deadline->previous)
        deadline->previous->next = deadline->next;
    else
        class->first = deadline->next;
    if (deadline->next)
        deadline->next->previous = deadline->previous;
    else
        class->last = deadline->previous;
    *deadline = (struct deadline){.class = NULL};
}
