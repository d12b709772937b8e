/* The command of a server as others see it: in the state, in messages, for people.
 *
 * A state is one line of the protocol, which has a limit, so a long command is cut: then its last
 * word ends in "…". */
#ifndef TETHER_DAEMON_COMMAND_WORDS_H
#define TETHER_DAEMON_COMMAND_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "buffer.h"
#include "environment.h"

/* The command of this start as an array of readable texts, as the server gets it. A new reference.
 */
json_t *command_words(const struct server_start *start);

/* Whether these options start something else than what `server`, of a state, tells of itself. False
 * if it does not tell. */
bool command_words_differ(const json_t *server, const struct options *options);

/* Adds the command as one would type it into a shell, in `most` characters; what is cut for that
 * ends in "…". */
void command_words_quote(struct buffer *out, const json_t *command, size_t most);

#endif
