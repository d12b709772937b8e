/* A state of the control protocol in words, for people. */
#ifndef TETHER_CLI_STATUS_TEXT_H
#define TETHER_CLI_STATUS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "buffer.h"

/* Adds what `tether status` shows. columns: of the terminal; 0: it is none. */
void status_text(struct buffer *out, const json_t *state, size_t columns);

/* "59 s", "3 min", "2 h 5 min", "4 days". */
void status_text_duration(struct buffer *out, int64_t ms);

#endif
