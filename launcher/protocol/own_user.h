/* Whether the other end of a connection on this machine is ours. A server is asked about before the
 * first word is said to it, for the words are a secret, and whoever answers is believed; a client
 * when its connection comes. */
#ifndef TETHER_PROTOCOL_OWN_USER_H
#define TETHER_PROTOCOL_OWN_USER_H

#include <uv.h>

/* 0: of our own user, or the system does not tell. UV_EPERM: of another user. UV_ECONNRESET: it is
 * gone already. */
int own_server_check(const uv_tcp_t *tcp);
int own_client_check(const uv_tcp_t *tcp);

#endif
