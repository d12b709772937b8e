/* A session with the launcher, on a thread of its own.
 *
 * The thread runs `tether launch`, connects to the daemon that it names as soon as that listens,
 * says hello and listens. How a start ends, launch says; what it is like meanwhile, the daemon. If
 * the daemon goes away without having been told to, it is launched again and the session resumed.
 * Everything here returns at once; what happens arrives as events, to be taken once a frame. */
#ifndef TETHER_SESSION_CONTROL_CLIENT_H
#define TETHER_SESSION_CONTROL_CLIENT_H

#include <jansson.h>

#include "launch_setup.h"
#include "mailbox.h"

struct control_client;

/* Starts the thread; takes what is in the setup over. NULL without memory or threads. */
struct control_client *control_client_create(struct launch_setup *setup);

/* What later launches will use; takes it over. */
void control_client_set_up(struct control_client *client, struct launch_setup *setup);

void control_client_start(struct control_client *client);
void control_client_stop(struct control_client *client, bool force);

/* With the properties that were set up last. If the server that runs was launched with others, that
 * is a stop and a start: refused while other editors use it, unless forced. */
void control_client_restart(struct control_client *client, bool force);

/* What this editor offers to the built-in server, in the terms of its protocol; takes the
 * reference.
 */
void control_client_offer(struct control_client *client, json_t *registration);

/* Answers a call; takes the reference. */
void control_client_answer(struct control_client *client, int64_t call, json_t *result);

/* The user works in this editor now. */
void control_client_activate(struct control_client *client);

/* The last word: "disable", "quit", "reload", "restart", or NULL to go without saying anything. If
 * hurried, what is still under way is given up. The thread then ends by itself. */
void control_client_leave(struct control_client *client, const char *reason, bool hurry);

/* The reason of this name, for as long as the library lives; NULL: there is none. */
const char *control_reason(const char *word);

/* Whether the thread has ended, so that control_client_destroy does not wait. */
bool control_client_is_done(struct control_client *client);

/* Waits for the end of the thread, after leave. */
void control_client_destroy(struct control_client *client);

/* The events since the last call, oldest first; each for control_event_free. */
struct control_event *control_client_take(struct control_client *client);
#endif
