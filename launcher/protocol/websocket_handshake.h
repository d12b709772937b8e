/* The opening handshake of a WebSocket (RFC 6455, section 4), for both sides. No I/O.
 *
 * The server's HTTP is parsed elsewhere; it asks here which headers make an upgrade. The client's
 * is written and read here, strictly: its peer is known to be one of ours. */
#ifndef TETHER_PROTOCOL_WEBSOCKET_HANDSHAKE_H
#define TETHER_PROTOCOL_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define WEBSOCKET_NONCE_SIZE  16
#define WEBSOCKET_KEY_SIZE    25 /* as text, with its end */
#define WEBSOCKET_ACCEPT_SIZE 29

/* The text of a Sec-WebSocket-Key, from random bytes. */
void websocket_key(const unsigned char nonce[WEBSOCKET_NONCE_SIZE], char out[WEBSOCKET_KEY_SIZE]);

/* The text of the Sec-WebSocket-Accept that answers a key. */
void websocket_accept(const char key[WEBSOCKET_KEY_SIZE], char out[WEBSOCKET_ACCEPT_SIZE]);

/* The length of the head of an HTTP message, through its empty line; 0: it has not all come. */
size_t websocket_head_length(const char *bytes, size_t count);

/* ---- Server ---- */

/* What the headers of a request say about an upgrade. Zeroed memory is the start. */
struct websocket_upgrade {
    bool upgrade, connection;
    unsigned keys, versions; /* how often they came */
    bool key_is_valid, version_is_known;
    char key[WEBSOCKET_KEY_SIZE];
};

/* Takes one header; those that do not matter here are ignored. The value comes without the space
 * around it. */
void websocket_upgrade_header(struct websocket_upgrade *upgrade, const char *name,
                              size_t name_length, const char *value, size_t value_length);

/* The HTTP status to answer with: 101; 426 for what is no upgrade to a WebSocket of version 13; 400
 * for a broken one. `why` is static. */
int websocket_upgrade_check(const struct websocket_upgrade *upgrade, const char **why);

/* ---- Client ---- */

/* Writes a request to 127.0.0.1, with a bearer token if it is neither NULL nor empty, and returns
 * its length; 0 if it does not fit, or if path or token have characters that it cannot carry. */
size_t websocket_request(char *out, size_t size, uint16_t port, const char *path, const char *token,
                         const char *key);

/* Checks the head of the response, as long as websocket_head_length says. UV_EACCES: the server
 * answers 401 or 403. UV_ECONNREFUSED: it answers something else, but not 101. UV_EPROTO: what it
 * answers is no proper HTTP, or not for this key. */
int websocket_response(const char *head, size_t length, const char *key, struct error *err);

#endif
