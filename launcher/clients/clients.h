/* AI clients, and what their files say of us: told, written and taken out again.
 *
 * What a file holds besides our entry stays byte for byte, and what is not understood well enough
 * for that is left alone. Of our entry only what leads to the server is ours: what its user has
 * added stays. */
#ifndef TETHER_CLIENTS_H
#define TETHER_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "buffer.h"
#include "error.h"
#include "os/os.h"
#include "table.h"

/* What entries are made of. */
struct clients_place {
    const char *project;  /* as project_folder tells it; NULL: none is known */
    const char *launcher; /* the path of this program */
    uint16_t http_port, ws_port;
};

/* NULL: there is none of this name. */
const struct client_kind *clients_find(const char *id);

/* {id, name, there, file, writable, transport, stale, problem, hint, stdio, http}: `file` is null
 * where there is none; `transport` is what is configured, "stdio" or "http", or null; `stale` says
 * what is wrong with that, `problem` why the file is not understood; the last two are the texts to
 * paste. */
json_t *clients_describe(const struct client_kind *kind, const struct clients_place *place);

/* The text to paste into an empty file, or into the client's window. Nothing is added if the client
 * cannot use that transport. */
void clients_text(const struct client_kind *kind, const struct clients_place *place, bool http,
                  struct buffer *out);

enum clients_wish { CLIENTS_STDIO, CLIENTS_HTTP, CLIENTS_REMOVE };

/* Does it. Returns 1 if the file was changed, 0 if there was nothing to change, or an error: then
 * nothing has changed. `path` becomes the file's. */
int clients_change(const struct client_kind *kind, const struct clients_place *place,
                   enum clients_wish wish, char path[OS_PATH_MAX], struct error *err);

#endif
