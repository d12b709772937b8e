/* The class TetherServer: a companion server that lives as long as the editors that use it. */
#ifndef TETHER_CLASS_TETHER_SERVER_H
#define TETHER_CLASS_TETHER_SERVER_H

#include "engine/class.h"

extern const struct class_description tether_server_class;

/* A frame of the editor: does what there is to do for all of them. True if there was anything. */
bool tether_servers_frame(void);

/* Whether the built-in server reaches this editor: then tools may be called. */
bool tether_servers_may_be_called(void);

/* Whether one has been started and has reached nobody yet. */
bool tether_servers_are_launching(void);

/* Lets all sessions go over to editor_loop, which says the farewell. True if there are any. */
bool tether_servers_part(void);

#endif
