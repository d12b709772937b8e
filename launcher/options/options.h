/* What the command line and the environment ask for.
 *
 * A flag wins over its variable, and a variable over the default; the variable of --grace-ms is
 * TETHER_GRACE_MS, and so on for every flag that takes a value. Wrong words on the command line are
 * errors. Wrong values of intervals, of the owner and of variables are told as warnings and leave
 * the default, because the server they are for should still start. */
#ifndef TETHER_OPTIONS_H
#define TETHER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "lifecycle/lifecycle.h"
#include "os/os.h"
#include "text_list.h"

#define OPTIONS_MAX_ALIASES  8
#define OPTIONS_INSTANCE_MAX 16

enum ready_kind {
    READY_DEFAULT, /* ports, or notify if the daemon holds the ports */
    READY_PORTS,   /* both ports accept connections */
    READY_NOTIFY,  /* the server says READY=1 to NOTIFY_SOCKET */
    READY_HTTP,    /* GET ready_path is answered with 2xx or 3xx */
    READY_NONE     /* as soon as it runs */
};

/* Which flags a command takes. */
enum option_scope {
    SCOPE_INSTANCE = 1, /* which instance is meant */
    SCOPE_START = 2,    /* how to start a server */
    SCOPE_JSON = 4,
    SCOPE_WATCH = 8, /* how to look */
    SCOPE_FORCE = 16,
    SCOPE_LOGS = 32,
    SCOPE_DAEMON = 64, /* what `launch` tells `daemon` */
    SCOPE_TOLD = 128,  /* what those that run `launch` tell it, and it the daemon */
    SCOPE_STDIO = 256, /* whose command speaks over standard input and output */
    SCOPE_FRONT = 512, /* what a client starts */
    SCOPE_PROJECT = 1024,
    SCOPE_WAY = 2048, /* how a client reaches us */
};

struct options {
    char **command; /* what follows "--"; borrowed, NULL-terminated; NULL: none was given */
    bool http_port_named, ws_port_named; /* somebody has said it */
    uint16_t http_port;
    uint16_t ws_port;              /* 0: the server has one port only */
    bool ports_auto;               /* blocked by a stranger: take the next free pair */
    int pairs_passed;              /* how many were blocked so far */
    bool hold_ports;               /* the daemon listens, and hands the sockets down */
    bool builtin;                  /* the command is our own server */
    bool stdio;                    /* the command speaks MCP over standard input and output */
    bool per_client;               /* and each client gets a process of it */
    int64_t clients_most;          /* so many, at most */
    bool http;                     /* the command has been said to serve HTTP itself */
    const char *log_file;          /* of a watched server; NULL: none */
    const char *project, *tools;   /* of a front's client; NULL: not said */
    struct os_identity owner;      /* pid 0: none */
    bool owner_is_front;           /* it is a stdio front, no editor */
    bool owner_named, owner_wrong; /* while words are read: was there an owner, and a bad one */
    const char *aliases[OPTIONS_MAX_ALIASES];
    size_t alias_count;
    enum ready_kind ready;
    const char *ready_path;
    struct lifecycle_config config;
    const char *state_dir; /* TETHER_STATE_DIR, or NULL */

    bool json, watch, check, force, follow;
    int64_t line_count;
    int64_t lock_handle, result_handle; /* SCOPE_DAEMON; -1: none */
};

/* Fills the options from the environment and the words behind the command. `scopes` says which
 * flags it takes. Warnings go to `warnings`, if any. Returns 0, or UV_EINVAL with the error. */
int options_parse(struct options *options, unsigned scopes, char **arguments, FILE *warnings,
                  struct error *err);

/* Looked at before anything is started. UV_ESRCH, with the error: the owner is certainly dead, and
 * a server for it would end at once. UV_ENOTSUP: this system cannot end all that the command may
 * start, and nobody has said that this does not matter. */
int options_check_start(const struct options *options, struct error *err);

/* The name of the instance, "8000-9500". */
void options_instance(const struct options *options, char out[OPTIONS_INSTANCE_MAX]);

/* Opens the directory of the instance, as os_dir_open. */
int options_dir(const struct options *options, struct os_dir *dir, bool create, struct error *err);

/* With --ports auto: goes on to the next pair of ports. False when there is none, or ports are
 * fixed.
 */
bool options_next_pair(struct options *options);

/* The readiness that is meant when none is asked for. */
enum ready_kind options_ready(const struct options *options);

/* Explains the flags of these scopes, one on a line. */
void options_explain(unsigned scopes, FILE *out);

/* Adds every word that makes another tether start the same, be it without variables or with ours:
 * flags and their values, also where they are the default, then "--" and the command. What only a
 * command for people takes is left out. */
void options_emit(const struct options *options, struct text_list *to);

/* The environment for that other tether. Without what makes a command shared: the one that it gets
 * is shared already, or is what shares it. */
void options_environment(struct text_list *environment);

#endif
