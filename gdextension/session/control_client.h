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

/* Starts the thread; takes over what is in the setup, also if there is no memory or thread: then it
 * is NULL. */
struct control_client *control_client_create(struct launch_setup *setup);

/* Takes over what is in the command. */
void control_client_tell(struct control_client *client, struct mailbox_command command);

/* The reason of this name, for as long as the library lives; NULL: there is none. */
const char *control_reason(const char *word);

/* Whether the thread has ended, so that control_client_destroy does not wait. */
bool control_client_is_done(struct control_client *client);

/* Waits for the end of the thread, after COMMAND_LEAVE. */
void control_client_destroy(struct control_client *client);

/* The events since the last call, oldest first; each for control_event_free. */
struct control_event *control_client_take(struct control_client *client);
#endif
