/* Who may open a WebSocket as an editor, as far as the request tells. Pure. */
#ifndef TETHER_SERVE_RELAY_UPGRADE_H
#define TETHER_SERVE_RELAY_UPGRADE_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/websocket_handshake.h"

/* Judges the head of a request, through its empty line, made to the server of that port and token.
 * Returns 101 and the accept text to answer with, or the HTTP status of a refusal, the reason for
 * which is static:
 * 403 for a host that is not the loopback or another port (a page whose name was made to lead
 *     here), and for any origin (only web pages have one);
 * 404 for another path than /editor; 405 for another method than GET;
 * 400 and 426 for what is no proper upgrade to a WebSocket of version 13;
 * 401 for another token than ours, compared in a time that does not tell how much of it fits. */
int editor_request_check(const char *head, size_t length, uint16_t port, const char *token,
                         char accept[WEBSOCKET_ACCEPT_SIZE], const char **why);

#endif
