/* JSON for AI clients to read: compact, and each number in the fewest digits that read back to it.
 */
#ifndef TETHER_SESSION_JSON_TEXT_H
#define TETHER_SESSION_JSON_TEXT_H

#include <jansson.h>

/* Any value as text, which the caller frees; NULL if it has none. */
char *json_text(const json_t *value);

#endif
