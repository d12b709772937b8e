/* What the files of this folder share. */
#ifndef TETHER_SERVE_STDIO_SERVER_INSIDE_H
#define TETHER_SERVE_STDIO_SERVER_INSIDE_H

#include "stdio_program.h"
#include "stdio_server.h"

enum stdio_state {
    STDIO_STARTS, /* and calls wait */
    STDIO_SERVES,
    STDIO_ENDS
};

struct stdio_server {
    struct stdio_server *next;
    struct serve *serve;
    struct editor *editor; /* which it is for the others */
    struct stdio_program program;
    enum stdio_state state;
    struct mcp_session *session; /* --per-client: whose it is */
    bool for_one_call;
    bool modern; /* it speaks 2026-07-28 */

    json_t *pages[LIST_COUNT]; /* of the lists that are being fetched */
    unsigned fetching;         /* these; a bit each */
    unsigned doubted;          /* they have changed meanwhile */
    unsigned page_counts[LIST_COUNT];
    unsigned listens; /* so often has one of 2026-07-28 been told what we want to hear of */
    int level;        /* of its log, that an older one was asked for; -1: none */
    json_t *capabilities, *instructions;
};

/* It has told what it offers. */
void stdio_serves(struct stdio_server *server);

void stdio_server_end(struct stdio_server *server);

/* Nothing will come of it any more. */
void stdio_give_up(struct stdio_server *server);

/* ---- stdio_lines.c: what it says ---- */

void stdio_take_line(void *context, char *line, size_t length);
void stdio_take_overlong(void *context, char *edges, size_t length);

#endif
