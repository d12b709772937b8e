/* The head of a request over HTTP, made from the message that is its body. */
#ifndef TETHER_FRONT_REQUEST_HEAD_H
#define TETHER_FRONT_REQUEST_HEAD_H

#include <stdint.h>

#include "blob.h"
#include "buffer.h"
#include "json_scan.h"

/* What the head says beyond the message. Texts are borrowed; NULL or "": left out. */
struct head {
    const char *method; /* POST, GET, DELETE */
    const char *target; /* the query of the URL */
    uint16_t port;
    const char *session;    /* Mcp-Session-Id */
    const char *version;    /* MCP-Protocol-Version, unless the message itself says one */
    const char *last_event; /* Last-Event-ID */
    const char *token;
    const struct buffer *more; /* further lines */
    const struct scan *scan;   /* of the body; NULL: there is none */
    size_t body;               /* its length */
};

void head_write(struct buffer *out, const struct head *head);

/* A value as it may stand in a header: as it is, or as =?base64?…?= if it has anything but
 * printable ASCII, a space at an end, or that form already. */
void head_add_value(struct buffer *out, const char *value);

/* Whether the message is of the stateless era: it says its version itself. */
bool head_is_modern(const struct scan *scan);

#endif
