/* What `tether launch` is told, and for whom: the only place where the editor starts a process.
 *
 * Every path comes through here, first start, restart, retry and hand-over alike, so that the owner
 * is told in one way: set in the child's environment, spawn, unset. The editor's own environment is
 * never touched, because other threads read it at any moment. */
#ifndef TETHER_SESSION_LAUNCH_SETUP_H
#define TETHER_SESSION_LAUNCH_SETUP_H

#include "protocol/launch_run.h"
#include "text_list.h"

/* What is started, and for whom. */
struct launch_setup {
    char *program;                /* path of tether; owned, as all of this */
    struct text_list words;       /* argv */
    struct text_list environment; /* a copy of the editor's, with the user's additions */
    struct text_list additions;   /* those alone, to tell whether they have changed */
    struct text_list aliases;     /* further variables that name the owner */
    int64_t http_port, ws_port;   /* as asked for */
    bool is_unowned;              /* the server outlives the editor */
    bool is_builtin;              /* it runs Tether's own server */
    char *project, *path, *godot; /* as the session names itself */
};

void launch_setup_finish(struct launch_setup *setup);

/* What is launched next, and with what the server that runs was launched, if that is another. */
struct launch_plan {
    struct launch_setup next, last;
    bool is_launched; /* `next`, or what is the same */
};

/* Takes over what is in the setup. */
void launch_plan_change(struct launch_plan *plan, struct launch_setup *setup);
bool launch_plan_keeps_ports(const struct launch_plan *plan);
void launch_plan_finish(struct launch_plan *plan);

/* Sets the owner, spawns, unsets it. */
int launch_setup_run(struct launch_run **run, uv_loop_t *loop, struct launch_setup *setup,
                     launch_listening_fn listening, launch_done_fn done, void *context);

#endif
