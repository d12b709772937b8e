/* One message of the client on its way, and the two lists in which it can be. For flight.c. */
#ifndef TETHER_FRONT_REQUEST_QUEUE_H
#define TETHER_FRONT_REQUEST_QUEUE_H

#include "http_client.h"
#include "json_scan.h"

struct front;
struct flight_list;
struct flights;

/* What a message is, as far as that makes a difference here. */
enum errand {
    ERRAND_OTHER,
    ERRAND_INITIALIZE,
    ERRAND_INITIALIZED,
    ERRAND_TOOLS,
    ERRAND_REMEMBERED, /* a level or a subscription */
    ERRAND_LISTEN,
    ERRAND_CANCEL
};

struct flight {
    struct flight *next, **link;
    struct flight_list *list;
    struct front *front;
    enum scan_kind kind;
    enum errand errand;
    struct blob *line;
    bool modern, calls_tool;
    bool repeatable; /* it does not matter if the server gets it twice */
    bool under_way, counted, lost, cancelled, answered, acknowledged;
    bool relayed; /* the client has been told something about it */
    unsigned attempts, resumes, epoch;
    uint64_t generation; /* of the server that it was sent to */
    int64_t deadline;    /* while it waits for the server */
    int64_t not_before;  /* 0: at once */
    char *last_event;    /* the answer goes on behind this event; NULL: from the start */
    struct exchange exchange;
    size_t id_length;
    char id[]; /* as it was written */
};

bool flight_is_request(const struct flight *flight);

/* Nothing that comes after it overtakes it. */
bool flight_is_barrier(const struct flight *flight);

/* Whether this is the id of its request. */
bool flight_has_id(const struct flight *flight, const struct scan_span *id);

/* How long a flight waits for the server at most. */
int64_t flight_patience(const struct front *front);

/* A flight at the end of the queue, made from a message that the scan has looked at. NULL without
 * memory. */
struct flight *flight_create(struct front *front, const char *line, size_t length,
                             const struct scan *scan);

/* Takes it out of its list, closes its connection, frees it. */
void flight_remove(struct flight *flight);

/* From the queue to those under way, and back to its start. */
void flight_begin_flying(struct flight *flight);
void flight_requeue(struct flight *flight);

/* It is to be answered with an error as soon as it is known what became of the server. */
void flight_set_lost(struct flight *flight);

/* It no longer counts among the requests that are under way. */
void flight_uncount(struct flight *flight);

/* Sees to it that time is not slept through; 0: nothing is due. */
void flights_note_due(struct flights *flights, int64_t due);

struct flight *flights_find_request(struct front *front, const struct scan_span *id);

#endif
