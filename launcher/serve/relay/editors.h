/* The editors that are connected, what they offer, and which of them is the active one.
 *
 * Clients see the active editor only: what it registered, and the two tools of our own. The active
 * one is the one that said so last or was selected last; else the one that has been there longest.
 */
#ifndef TETHER_SERVE_RELAY_EDITORS_H
#define TETHER_SERVE_RELAY_EDITORS_H

#include "serve/serve.h"

struct editor {
    struct editor *next;
    struct serve *serve;
    struct editor_socket *socket;
    bool greeted, closing;
    char id[40];
    char name[128]; /* for people: the project, and the pid */
    json_t *hello;
    json_t *lists[LIST_COUNT]; /* arrays, or NULL */
    unsigned offers;           /* beside tools */
    char *instructions;
    uint64_t number, activated;
};

extern const struct editor_socket_events editor_events;

enum { EDITOR_MARK_MAX = 96 };

/* By what an editor is known again, also by the next server and when it has connected anew: its
 * process, or, if it has not said which, its connection. One line. */
void editor_mark(const struct editor *editor, char out[EDITOR_MARK_MAX]);

/* NULL: it is not there. */
struct editor *editor_marked(const struct serve *serve, const char *mark);

/* Sends a message, as text; consumed. */
bool editor_send(struct editor *editor, struct buffer *message);

/* Sends a request or notification; the params are consumed. number 0: a notification. */
bool editor_tell(struct editor *editor, int64_t number, const char *method, json_t *params);

/* Answers a request of the editor's; result and data (NULL: none) are consumed. */
void editor_answer(struct editor *editor, const json_t *id, json_t *result);
void editor_refuse(struct editor *editor, const json_t *id, int code, const char *text,
                   json_t *data);

void editor_activate(struct editor *editor);

/* By its id, or by its project's name or path. */
struct editor *editor_find(const struct serve *serve, const char *which);

/* The editors as clients are told of them. */
json_t *editors_json(const struct serve *serve);

void editors_finish(struct serve *serve);

/* ---- offers.c ---- */

/* How the protocol calls a list, and what it says of it. */
extern const struct list_terms {
    const char *name;
    const char *key;     /* what an entry must have */
    const char *another; /* and what else; NULL: nothing */
    unsigned offer;      /* what it takes to be there for clients: a bit; 0: it always is */
    const char *method;
    const char *changed, *filter; /* to tell, and to ask to be told; NULL: not by itself */
} list_terms[LIST_COUNT];

/* Writes the lists anew, and tells who wants to know of those that changed. */
void lists_update(struct serve *serve);

/* The entry of this name (or uri) in a list of this kind; NULL: there is none. */
const json_t *list_find(const json_t *list, enum list_kind kind, const char *name);

/* Takes over what an editor registers; what is not usable is left out, with a line on stderr. */
void lists_register(struct editor *editor, const json_t *params);

/* ---- own_tools.c ---- */

/* The definitions of our own tools: JSON objects, separated by commas. */
extern const char builtin_tools[];

bool builtin_has(const char *name);

/* Runs one of them; returns the result of tools/call. */
json_t *builtin_call(struct serve *serve, const char *name, const json_t *arguments);

/* A result of tools/call that says what went wrong. */
json_t *tool_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
