/* The class TetherServer: a companion server that lives as long as the editors that use it. */
#ifndef TETHER_CLASS_TETHER_SERVER_H
#define TETHER_CLASS_TETHER_SERVER_H

#include "engine/class.h"

extern const struct class_description tether_server_class;

struct tether_server;

/* The link of the list that editor_loop keeps. */
struct tether_server **tether_server_next(struct tether_server *server);

/* A frame of the editor: marks all servers of the list as to be looked at … */
void tether_server_begin_frame(struct tether_server *first);

/* … and does what there is to do for one. True if scripts ran, which may have changed the list. */
bool tether_server_frame(struct tether_server *server);

/* Whether the built-in server reaches this editor: then tools may be called. */
bool tether_server_is_bridged(const struct tether_server *server);

/* Lets the session go over to editor_loop, which says the farewell. */
void tether_server_part(struct tether_server *server);

#endif
