/* The first words with a stdio server: which era it is of, and what it offers. */
#ifndef TETHER_SERVE_STDIO_GREETING_H
#define TETHER_SERVE_STDIO_GREETING_H

#include "stdio_server_inside.h"

void greeting_begin(struct stdio_server *server);

/* Its answer to something of ours. */
void greeting_answer(struct stdio_server *server, const struct rpc_message *message);

/* It says that a list has changed. */
void greeting_list_changed(struct stdio_server *server, enum list_kind kind);

/* Tells one of 2026-07-28 what we want to hear of. */
void greeting_listen(struct stdio_server *server);

/* Asks it something on our own account, under a name; the params are consumed. */
void greeting_ask(struct stdio_server *server, const char *name, const char *method,
                  json_t *params);

/* Adds to the _meta of a request what 2026-07-28 wants in it. */
void greeting_add_self(json_t *meta);

void greeting_finish(struct stdio_server *server);

#endif
