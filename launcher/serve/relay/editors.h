/* The editors that are connected, what they offer, and which of them is the active one.
 *
 * A client sees one editor only: what it registered, and the two tools of our own. Which that is,
 * mcp/caller.h tells; for a client that says nothing about it, it is the active one: the one that
 * said so last, else the one that has been there longest. While it is not there, what the last
 * editor registered stays listed. */
#ifndef TETHER_SERVE_RELAY_EDITORS_H
#define TETHER_SERVE_RELAY_EDITORS_H

#include "serve/serve.h"

struct mcp_request;

struct editor {
    struct editor *next;
    struct serve *serve;
    struct editor_socket *socket;
    struct stdio_server *program; /* or NULL: no editor, but what stands behind this one */
    bool greeted, closing;
    char id[40];
    char name[128]; /* for people: the project, and the pid */
    json_t *hello;
    struct offer *offer;
    uint64_t number, activated;
};

extern const struct editor_socket_events editor_events;

enum { EDITOR_MARK_MAX = 96 };

/* By what an editor is known again, also by the next server and when it has connected anew: its
 * process, or, if it has not said which, its connection. One line. */
void editor_mark(const struct editor *editor, char out[EDITOR_MARK_MAX]);

/* NULL: it is not there. */
struct editor *editor_marked(const struct serve *serve, const char *mark);

/* One more, that has said nothing so far. NULL: out of memory. */
struct editor *editor_add(struct serve *serve);

/* Takes over what it registers, and tells who wants to know. */
void editor_register(struct editor *editor, const json_t *params);

/* It is gone, and its calls are over. */
void editor_remove(struct editor *editor);

/* What it is, for people. */
const char *editor_kind(const struct editor *editor);

/* Sends a message, as text; consumed. */
bool editor_send(struct editor *editor, struct buffer *message);

/* Sends a request or notification; the params are consumed. number 0: a notification. */
bool editor_tell(struct editor *editor, int64_t number, const char *method, json_t *params);

/* Answers a request of the editor's; result and data (NULL: none) are consumed. */
void editor_answer(struct editor *editor, const json_t *id, json_t *result);
void editor_refuse(struct editor *editor, const json_t *id, int code, const char *text,
                   json_t *data);

void editor_activate(struct editor *editor);

/* By its id, or by its project's path or name. NULL: there is none, or several of that name. */
struct editor *editor_find(const struct serve *serve, const char *which, bool *several);

/* The editors as clients are told of them; this one (or NULL) is the reader's own. */
json_t *editors_json(const struct serve *serve, const struct editor *own);

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

/* What an editor has registered. */
struct offer {
    unsigned holders;
    bool is_known;             /* it has something in it */
    bool is_foreign;           /* of a stdio server: without the two tools of our own */
    json_t *lists[LIST_COUNT]; /* arrays, or NULL: none, or forgotten */
    json_t *profiles;          /* name → names of tools; or NULL */
    json_t *hello;             /* whose it is; NULL: nobody's */
    char *instructions;
    unsigned offers;                 /* beside tools */
    struct buffer texts[LIST_COUNT]; /* the lists as members of a result: "tools":[…] */
    uint64_t marks[LIST_COUNT];      /* of the texts: what has another mark has changed */
};

struct offer *offer_create(void);
struct offer *offer_hold(struct offer *offer);
void offer_drop(struct offer *offer);

/* A number for a text that is another one for another text. */
uint64_t offer_mark(const char *text, size_t length);

/* Takes over what is registered; what is not usable is left out, with a line on stderr that names
 * whose it is. */
void offer_register(struct offer *offer, const json_t *params, const char *whose);

/* From now on the lists are there as text only: an editor is likely to bring others soon. */
void offer_forget_values(struct offer *offer);

/* The tools as values; a new reference. */
json_t *offer_tools(const struct offer *offer);

/* The same as the parameters of a registration. */
json_t *offer_json(const struct offer *offer);

/* What clients of this editor (NULL: of none) are shown that have named the project there (NULL:
 * none): its own offer, once it has made one; until then what was kept. */
const struct offer *offer_shown(const struct serve *serve, const struct editor *editor,
                                const char *path);

/* Whether clients are told of this list by itself, and it is another than they have seen. */
bool list_has_changed(const struct offer *offer, const uint64_t seen[LIST_COUNT],
                      enum list_kind kind);

/* The entry of this name (or uri) in a list of this kind; NULL: there is none. */
const json_t *list_find(const json_t *list, enum list_kind kind, const char *name);

/* ---- kept.c ---- */

/* Opens the directory of the instance, and finds what the last editor offered, or else what is
 * shipped. */
void kept_open(struct serve *serve);
void kept_finish(struct serve *serve);

/* From now on this is what is shown while no editor is there, also by the next server. */
void kept_set(struct serve *serve, struct offer *offer);

/* The same to those who name its project, whichever editor was the last. */
void kept_note(struct serve *serve, struct offer *offer);

/* What is shown to who has named the project there while it has no editor. If it has never had one
 * that is what is shipped: what another project's plugins offer is not for it. `path` NULL: to who
 * has named none; the next editor may be of the project in `next`, or that is NULL, too. */
const struct offer *kept_shown(const struct serve *serve, const char *path, const char *next);

/* Marks of the lists that were shown there when the server began. */
const uint64_t *kept_at_start(const struct serve *serve, const char *path);

/* The secret by which sessions are known that began with an earlier server. */
bool kept_secret(struct serve *serve, uint8_t secret[32]);

/* What a Godot editor offers that has nothing but Tether in it: JSON, made by `./dev offer`. */
extern const char shipped_offer[];
extern const size_t shipped_offer_length;

/* ---- own_tools.c ---- */

/* The definitions of our own tools: JSON objects, separated by commas. */
extern const char builtin_tools[];

bool builtin_has(const char *name);

/* Runs one of them; returns the result of tools/call. */
json_t *builtin_call(struct mcp_request *request, const char *name, const json_t *arguments);

/* A result of tools/call that says what went wrong. */
json_t *tool_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
