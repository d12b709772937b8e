/* The release, and the version of the control protocol. Peers of one protocol understand each
 * other, whatever their releases; unknown types and keys are ignored, so a new version is needed
 * only for a new meaning. */
#ifndef TETHER_PROTOCOL_VERSION_H
#define TETHER_PROTOCOL_VERSION_H

#define TETHER_PROTOCOL 1

extern const char tether_version[]; /* "1.2.3" */

#endif
