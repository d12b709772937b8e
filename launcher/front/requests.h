/* The client's messages on their way; see front.h. */
#ifndef TETHER_FRONT_REQUESTS_H
#define TETHER_FRONT_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct front;

/* Takes a message of the client, which `front->scan` has looked at. */
void flights_add(struct front *front, const char *line, size_t length);

/* Sends what may go, and answers what has waited too long. */
void flights_pump(struct front *front);

/* When one of those that wait is due, to go or to be answered; 0: none is. */
int64_t flights_due(const struct front *front);

/* Answers all that wait for the server. */
void flights_fail_waiting(struct front *front, const char *why);

/* Answers everything, and closes what is under way. */
void flights_finish(struct front *front, const char *why);

/* How many wait, and how long they are together. */
size_t flights_waiting(const struct front *front, size_t *bytes);

/* Whether requests are waiting, or under way, that an end should wait for. */
bool flights_open(const struct front *front);

#endif
