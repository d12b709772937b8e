/* The AI clients that are known, one entry each: the only place that says where a client keeps its
 * servers and how it writes them. docs/clients.md has the same with the documents that say so. */
#ifndef TETHER_CLIENTS_TABLE_H
#define TETHER_CLIENTS_TABLE_H

#include <stddef.h>

/* The name of our entry, in every client. */
#define CLIENTS_ENTRY "godot-tether"

enum client_format {
    CLIENT_JSON, /* with comments; an object of servers */
    CLIENT_TOML, /* a table for each server */
    CLIENT_TOML_LIST /* a list of tables: to be pasted */,
    CLIENT_YAML /* to be pasted */
};

enum { CLIENT_FILES = 4, CLIENT_SIGNS = 4 };

struct client_kind {
    const char *id, *name;
    enum client_format format;
    /* Below a root that the first name says (places.h): the first one that is there, or else the
     * first whose root is. None: to be pasted in the client's own window. */
    const char *files[CLIENT_FILES];
    const char *key; /* of what holds the servers; "/" between names that are within each other */
    /* What describes a server, as JSON: {launcher}, {arguments} and {url} are put in. NULL: the
     * client cannot. */
    const char *stdio, *http;
    const char *signs[CLIENT_SIGNS]; /* whose being there tells that the client is */
    const char *hint;                /* what to do then */
};

extern const struct client_kind client_kinds[];
extern const size_t client_kind_count;

#endif
