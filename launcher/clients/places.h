/* Where clients' files are on this system, and for this project. */
#ifndef TETHER_CLIENTS_PLACES_H
#define TETHER_CLIENTS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "os/os.h"
#include "table.h"

/* The path of the client's file; false: it has none here. `project` NULL: none is known. */
bool places_file(const struct client_kind *kind, const char *project, char out[OS_PATH_MAX]);

/* The ports that the project's own settings say; what they do not say, or what makes no sense,
 * stays, the latter with a line that is added to the warnings. NULL: this one is not asked for. */
void places_ports(const char *project, uint16_t *http_port, uint16_t *ws_port,
                  struct buffer *warnings);

/* Whether the client seems to be there. */
bool places_is_there(const struct client_kind *kind);

#endif
