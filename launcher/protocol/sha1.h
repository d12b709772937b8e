/* SHA-1 (FIPS 180-4). The WebSocket handshake asks for it, where it proves nothing but that the
 * other side knows the protocol; not for anything that must be secure. */
#ifndef TETHER_PROTOCOL_SHA1_H
#define TETHER_PROTOCOL_SHA1_H

#include <stddef.h>

#define SHA1_SIZE 20

void sha1(const void *data, size_t length, unsigned char out[SHA1_SIZE]);

#endif
