/* `tether clients`: what AI clients' files say of this server, and writing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client_files.h"
#include "clients/places.h"
#include "commands.h"
#include "exit_code.h"
#include "nearest.h"
#include "options/project.h"
#include "os/os_spawn.h"
#include "protocol/message.h"
#include "readable.h"
#include "utf8.h"

enum { INDENT = 4 };

static const char why_stdio[] =
    "As a command (stdio) a client is served that starts before the editor, and one whose editor "
    "comes\nback; and nothing is to be changed when ports are. `--http` is there for what cannot "
    "start commands.\n";

/* What the settings say of these ports; the same as for the editor, that reads them, too. */
static void take_ports(struct client_files *files, uint16_t *http_port, uint16_t *ws_port) {
    struct buffer warnings = {0}, shown = {0};
    places_ports(files->project, http_port, ws_port, &warnings);
    if (files->place.http_port == files->place.ws_port) {
        buffer_format(&warnings, "both ports are %u; the second one is left out\n",
                      (unsigned)files->place.ws_port);
        files->place.ws_port = 0;
    }
    if (warnings.length > 0) {
        buffer_add_literal(&shown, "tether: warning: ");
        readable_add_lines(&shown, warnings.data, INDENT);
    }
    if (shown.data && !shown.failed)
        fprintf(stderr, "%s\n", shown.data);
    buffer_finish(&shown);
    buffer_finish(&warnings);
}

/* Files of clients are JSON and TOML, in which nothing else than UTF-8 can be named. */
static int check_name(const char *path, struct error *err) {
    if (utf8_is_valid(path, strlen(path)))
        return 0;
    return error_set(err, UV_EILSEQ,
                     "%s has a name that is not UTF-8, so that no client's file can say it; give "
                     "it another one",
                     path);
}

int client_files_init(struct client_files *files, const struct options *options,
                      struct error *err) {
    int rc = os_own_program(files->launcher, sizeof files->launcher);
    uint16_t *http_port = NULL, *ws_port = NULL;
    bool found = true;
    if (rc < 0)
        return error_set(err, rc, "cannot find this program's own file: %s", uv_strerror(rc));
    files->place = (struct clients_place){
        .launcher = files->launcher, .http_port = options->http_port, .ws_port = options->ws_port};
    if (options->project) {
        project_folder(options->project, files->project);
        if (!project_is_at(files->project))
            return error_set(err, UV_ENOENT,
                             "there is no project.godot in %s; --project takes the folder of a "
                             "Godot project",
                             options->project);
    } else {
        found = project_near(files->project);
    }
    if (found)
        files->place.project = files->project;
    rc = check_name(files->launcher, err);
    if (rc == 0 && found)
        rc = check_name(files->project, err);
    if (rc < 0)
        return rc;
    if (found && !options->http_port_named)
        http_port = &files->place.http_port;
    if (found && !options->ws_port_named)
        ws_port = &files->place.ws_port;
    if (http_port || ws_port)
        take_ports(files, http_port, ws_port);
    return 0;
}

/* ---- list ---- */

static const char *state_of(const json_t *client, char room[OS_PATH_MAX]) {
    const char *stale = message_text(client, "stale"), *way = message_text(client, "transport");
    if (message_text(client, "problem")[0])
        return message_text(client, "problem");
    if (stale[0]) {
        snprintf(room, OS_PATH_MAX, "%s%sstale: %s", way, way[0] ? ", " : "", stale);
        return room;
    }
    if (way[0])
        return way;
    return clients_find(message_text(client, "id"))->files[0] ? "-" : "- (to be pasted)";
}

/* Those that are there come first. */
static json_t *describe_all(const struct client_files *files) {
    json_t *all = json_array(), *rest = json_array();
    for (size_t i = 0; i < client_kind_count; i++) {
        json_t *client = clients_describe(&client_kinds[i], &files->place);
        bool there = json_is_true(json_object_get(client, "there"));
        json_array_append_new(there ? all : rest, client);
    }
    json_array_extend(all, rest);
    json_decref(rest);
    return all;
}

static void print_list(const struct client_files *files, const json_t *all) {
    struct buffer out = {0};
    const json_t *client;
    size_t i;
    if (files->place.project) {
        buffer_add_literal(&out, "project: ");
        readable_add_lines(&out, files->place.project, INDENT);
        buffer_add_literal(&out, "\n\n");
    } else {
        buffer_add_literal(&out, "no project here: clients that read a file of the project are "
                                 "not looked at; --project PATH names one\n\n");
    }
    buffer_format(&out, "%-15s %-25s %-6s %s\n", "NAME", "CLIENT", "THERE", "CONNECTED");
    json_array_foreach(all, i, client) {
        char room[OS_PATH_MAX];
        buffer_format(&out, "%-15s %-25s %-6s ", message_text(client, "id"),
                      message_text(client, "name"),
                      json_is_true(json_object_get(client, "there")) ? "yes" : "-");
        readable_add_lines(&out, state_of(client, room), INDENT);
        buffer_add_char(&out, '\n');
    }
    buffer_add_literal(&out, "\n`tether clients add NAME` connects one, or mends a stale entry.\n");
    buffer_add_text(&out, why_stdio);
    if (out.data && !out.failed)
        fputs(out.data, stdout);
    buffer_finish(&out);
}

static int list(const struct client_files *files, const struct options *options) {
    json_t *all = describe_all(files);
    if (options->json) {
        json_t *answer = json_pack("{s:s?, s:O}", "project", files->place.project, "clients", all);
        command_print_json(answer);
        json_decref(answer);
    } else {
        print_list(files, all);
    }
    json_decref(all);
    return EXIT_FINE;
}

/* ---- show ---- */

static int show(const struct client_kind *kind, const struct client_files *files,
                const struct options *options) {
    json_t *client = clients_describe(kind, &files->place);
    const char *text = message_text(client, options->http ? "http" : "stdio");
    char room[OS_PATH_MAX];
    if (options->json) {
        command_print_json(client);
    } else {
        struct buffer out = {0};
        if (json_is_true(json_object_get(client, "writable"))) {
            buffer_add_literal(&out, "file:      ");
            readable_add_lines(&out, message_text(client, "file"), INDENT);
            buffer_add_literal(&out, "\nconnected: ");
            readable_add_lines(&out, state_of(client, room), INDENT);
            buffer_add_literal(&out, "\n");
        } else if (kind->files[0]) {
            buffer_add_literal(&out, "file:      one of the project; --project PATH names it\n");
        }
        buffer_format(&out, "then:      %s\n\n", kind->hint);
        readable_add_lines(&out, text[0] ? text : "(it cannot be reached that way)", 0);
        if (out.data && !out.failed)
            puts(out.data);
        buffer_finish(&out);
    }
    json_decref(client);
    return EXIT_FINE;
}

/* ---- add, remove ---- */

static int change(const struct client_kind *kind, const struct client_files *files,
                  const struct options *options, enum clients_wish wish) {
    char path[OS_PATH_MAX], shown[OS_PATH_MAX], said[2 * OS_PATH_MAX];
    struct error err = {0};
    int rc = clients_change(kind, &files->place, wish, path, &err);
    bool removes = wish == CLIENTS_REMOVE;
    readable_cut(path, strlen(path), shown, sizeof shown);
    if (rc > 0)
        snprintf(said, sizeof said, removes ? "%s: %s was taken out" : "%s: %s was written", shown,
                 CLIENTS_ENTRY);
    else if (rc == 0)
        snprintf(said, sizeof said, removes ? "%s: %s is not there" : "%s: %s is as it should be",
                 shown, CLIENTS_ENTRY);
    if (options->json) {
        json_t *answer =
            json_pack("{s:b, s:b, s:s, s:s, s:s}", "ok", rc >= 0, "changed", rc > 0, "file", shown,
                      "message", rc < 0 ? err.message : said, "hint", removes ? "" : kind->hint);
        command_print_json(answer);
        json_decref(answer);
    } else if (rc < 0) {
        exit_tell("tether clients", err.message);
    } else {
        struct buffer out = {0};
        readable_add_lines(&out, said, INDENT);
        if (out.data && !out.failed)
            puts(out.data);
        buffer_finish(&out);
        if (!removes)
            printf("%s\n", kind->hint);
    }
    return rc < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- words ---- */

static int usage(const struct error *err) {
    exit_tell("tether clients", err->message);
    fprintf(stderr, "See `tether help clients`.\n");
    return EXIT_USAGE;
}

static int unknown_client(const char *name, struct error *err) {
    struct nearest nearest = {.typed = name, .length = strlen(name)};
    for (size_t i = 0; i < client_kind_count; i++)
        nearest_offer(&nearest, client_kinds[i].id);
    return error_set(err, UV_EINVAL,
                     "no client is known as '%.64s'; %s%s%s`tether clients list` "
                     "names them",
                     name, nearest.word ? "is '" : "", nearest.word ? nearest.word : "",
                     nearest.word ? "' meant? " : "");
}

enum action { LIST, SHOW, ADD, REMOVE, ACTIONS };

static int read_words(char **words, enum action *action, const struct client_kind **kind,
                      struct options *options, struct error *err) {
    static const char *const names[] = {"list", "show", "add", "remove"};
    const unsigned scopes = SCOPE_INSTANCE | SCOPE_JSON | SCOPE_PROJECT | SCOPE_WAY;
    *action = LIST;
    if (words[0] && words[0][0] != '-') {
        while (*action < ACTIONS && strcmp(names[*action], words[0]) != 0)
            ++*action;
        if (*action == ACTIONS)
            return error_set(err, UV_EINVAL, "'%.64s' is none of list, show, add and remove",
                             words[0]);
        words++;
    }
    if (*action != LIST) {
        if (!words[0] || words[0][0] == '-')
            return error_set(err, UV_EINVAL,
                             "which client? `tether clients %s NAME`; `tether "
                             "clients list` names them",
                             names[*action]);
        *kind = clients_find(words[0]);
        if (!*kind)
            return unknown_client(words[0], err);
        words++;
    }
    if (options_parse(options, scopes, words, stderr, err) < 0)
        return err->code;
    if (options->stdio && options->http)
        return error_set(err, UV_EINVAL, "--stdio or --http: one of them");
    return 0;
}

int command_clients(char **words) {
    struct client_files files;
    const struct client_kind *kind = NULL;
    struct options options = {0};
    struct error err = {0};
    enum action action;
    if (read_words(words, &action, &kind, &options, &err) < 0 || (action != LIST && !kind))
        return usage(&err);
    if (client_files_init(&files, &options, &err) < 0)
        return exit_failing(EXIT_FAILED, &err);
    switch (action) {
    case SHOW:
        return show(kind, &files, &options);
    case ADD:
        return change(kind, &files, &options, options.http ? CLIENTS_HTTP : CLIENTS_STDIO);
    case REMOVE:
        return change(kind, &files, &options, CLIENTS_REMOVE);
    default:
        return list(&files, &options);
    }
}
