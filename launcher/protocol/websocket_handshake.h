/* The opening handshake of a WebSocket (RFC 6455, section 4): the client's part, and what the
 * server's (serve/relay/upgrade) has in common with it. No I/O. */
#ifndef TETHER_PROTOCOL_WEBSOCKET_HANDSHAKE_H
#define TETHER_PROTOCOL_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "http_head.h"

#define WEBSOCKET_NONCE_SIZE  16
#define WEBSOCKET_KEY_SIZE    25 /* as text, with its end */
#define WEBSOCKET_ACCEPT_SIZE 29

/* The text of a Sec-WebSocket-Key, from random bytes. */
void websocket_key(const unsigned char nonce[WEBSOCKET_NONCE_SIZE], char out[WEBSOCKET_KEY_SIZE]);

/* The text of the Sec-WebSocket-Accept that answers a key. */
void websocket_accept(const char key[WEBSOCKET_KEY_SIZE], char out[WEBSOCKET_ACCEPT_SIZE]);

/* Writes a request to 127.0.0.1, with a bearer token if it is neither NULL nor empty, and returns
 * its length; 0 if it does not fit, or if path or token have characters that it cannot carry. */
size_t websocket_request(char *out, size_t size, uint16_t port, const char *path, const char *token,
                         const char *key);

/* Checks the head of the response, as long as http_head_length says. UV_EACCES: the server
 * answers 401 or 403. UV_ECONNREFUSED: it answers something else, but not 101. UV_EPROTO: what it
 * answers is no proper HTTP, or not for this key. */
int websocket_response(const char *head, size_t length, const char *key, struct error *err);

#endif
