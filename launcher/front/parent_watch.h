/* The end of the program that started this one. */
#ifndef TETHER_FRONT_PARENT_WATCH_H
#define TETHER_FRONT_PARENT_WATCH_H

#include "options/options.h"
#include "os/os_loop.h"

/* Watches the parent, unless that is turned off; as for `tether run`, without a parent from the
 * start there is nothing to watch. If it has died just now, the function is called at once. */
void parent_watch(struct os_watch **watch, uv_loop_t *loop, const struct options *options,
                  os_watch_fn fn, void *context);

#endif
