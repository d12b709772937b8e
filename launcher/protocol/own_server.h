/* Whether the server that we have just connected to is ours: asked before the first word is said on
 * a connection, for the words are a secret, and whoever answers is believed. */
#ifndef TETHER_PROTOCOL_OWN_SERVER_H
#define TETHER_PROTOCOL_OWN_SERVER_H

#include <uv.h>

/* 0: of our own user, or the system does not tell. UV_EPERM: of another user. UV_ECONNRESET: it is
 * gone already. */
int own_server_check(const uv_tcp_t *tcp);

#endif
