#include "clients.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "file.h"
#include "jsonc.h"
#include "memory.h"
#include "options/project.h"
#include "places.h"
#include "readable.h"
#include "toml.h"

enum { PATH_NAMES = 4, TRIES_MOST = 3 };

/* What an entry says of the way to its server, and nothing else. */
static const char *const transport[] = {"type", "command",   "args",    "cmd",
                                        "url",  "serverUrl", "httpUrl", "uri"};

const struct client_kind *clients_find(const char *id) {
    for (size_t i = 0; i < client_kind_count; i++)
        if (strcmp(client_kinds[i].id, id) == 0)
            return &client_kinds[i];
    return NULL;
}

static bool is_transport(const char *key) {
    for (size_t i = 0; i < sizeof transport / sizeof transport[0]; i++)
        if (strcmp(transport[i], key) == 0)
            return true;
    return false;
}

/* ---- what is in an entry ---- */

static void add_argument(json_t *list, const char *word, unsigned number, unsigned usual) {
    char text[8];
    if (number == usual)
        return;
    snprintf(text, sizeof text, "%u", number);
    json_array_append_new(list, json_string(word));
    json_array_append_new(list, json_string(text));
}

/* What the front finds by itself is left out. */
static void add_arguments(json_t *list, const struct clients_place *place) {
    json_array_append_new(list, json_string("mcp"));
    if (place->project) {
        json_array_append_new(list, json_string("--project"));
        json_array_append_new(list, json_string(place->project));
    }
    add_argument(list, "--http-port", place->http_port, 8000);
    add_argument(list, "--ws-port", place->ws_port, 9500);
}

/* The pattern with all that it leaves open put in. */
static json_t *fill(const json_t *pattern, const struct clients_place *place) {
    const char *text = json_string_value(pattern);
    json_t *made = NULL, *each;
    const char *key;
    size_t i;
    if (text && strcmp(text, "{launcher}") == 0)
        return json_string(place->launcher);
    if (text && strcmp(text, "{url}") == 0)
        return json_sprintf("http://127.0.0.1:%u/mcp", (unsigned)place->http_port);
    if (json_is_array(pattern)) {
        made = json_array();
        json_array_foreach(pattern, i, each) {
            const char *item = json_string_value(each);
            if (item && strcmp(item, "{arguments}") == 0)
                add_arguments(made, place);
            else
                json_array_append_new(made, fill(each, place));
        }
        return made;
    }
    made = json_deep_copy(pattern);
    if (json_is_object(pattern)) {
        void *at;
        for (at = json_object_iter(made); at; at = json_object_iter_next(made, at)) {
            key = json_object_iter_key(at);
            json_object_iter_set_new(made, at, fill(json_object_get(pattern, key), place));
        }
    }
    return made;
}

static json_t *entry_of(const struct client_kind *kind, const struct clients_place *place,
                        bool http) {
    const char *text = http ? kind->http : kind->stdio;
    json_t *pattern = text ? json_loads(text, 0, NULL) : NULL, *entry = NULL;
    if (pattern)
        entry = fill(pattern, place);
    json_decref(pattern);
    return entry;
}

/* ---- the ways in which files are written ---- */

/* The names that lead to the entry. Returns how many there are; `room` holds them. */
static size_t path_of(const struct client_kind *kind, char room[64],
                      const char *names[PATH_NAMES]) {
    size_t count = 0;
    snprintf(room, 64, "%s", kind->key);
    for (char *name = room; name && count < PATH_NAMES - 2;) {
        char *slash = strchr(name, '/');
        names[count++] = name;
        if (slash)
            *slash++ = 0;
        name = slash;
    }
    names[count++] = CLIENTS_ENTRY;
    return count;
}

static bool is_toml(const struct client_kind *kind) {
    return kind->format == CLIENT_TOML;
}

/* The entry in a text; NULL without an error: there is none. With `all`, that becomes all values of
 * it, if its format tells them. */
static json_t *read_entry(const struct client_kind *kind, const struct buffer *text, json_t **all,
                          struct error *err) {
    const char *names[PATH_NAMES];
    char room[64];
    size_t count = path_of(kind, room, names);
    json_t *values, *at;
    if (is_toml(kind)) {
        struct toml_table table = {kind->key, CLIENTS_ENTRY};
        return toml_values(text->data, text->length, &table, err);
    }
    at = values = jsonc_values(text->data, text->length, err);
    if (values && !json_is_object(values))
        error_set(err, UV_EINVAL, "it is not an object");
    for (size_t i = 0; at && i < count; i++) {
        if (i > 0 && !json_is_object(at))
            error_set(err, UV_EINVAL, "\"%s\" is not an object", names[i - 1]);
        at = json_object_get(at, names[i]);
    }
    json_incref(at);
    if (all)
        *all = values;
    else
        json_decref(values);
    return at;
}

/* One change to a text: a key of the entry, or all of it. */
static int set_one(const struct client_kind *kind, struct buffer *text, const char *key,
                   json_t *value, struct error *err) {
    struct buffer next = {0};
    const char *names[PATH_NAMES];
    char room[64];
    size_t count = path_of(kind, room, names);
    int rc = 0;
    buffer_add_literal(&next, "");
    if (is_toml(kind)) {
        struct toml_table table = {kind->key, CLIENTS_ENTRY};
        toml_set(text->data, text->length, &table, key, value, &next);
    } else {
        if (key)
            names[count++] = key;
        rc = jsonc_set(text->data, text->length, names, count, value, &next, err);
    }
    if (rc == 0 && next.failed)
        rc = error_set(err, UV_ENOMEM, "there is no memory for it");
    if (rc < 0) {
        buffer_finish(&next);
        return rc;
    }
    buffer_finish(text);
    *text = next;
    return 0;
}

/* The entry that is there with the way to the server that is wanted. Each difference is one change
 * of the text. */
static int merge(const struct client_kind *kind, struct buffer *text, json_t *now, json_t *wanted,
                 json_t *merged, struct error *err) {
    json_t *value, *old = json_deep_copy(now);
    const char *key;
    int rc = 0;
    json_object_foreach(old, key, value) {
        if (rc < 0 || !is_transport(key) || json_object_get(wanted, key))
            continue;
        json_object_del(merged, key);
        rc = set_one(kind, text, key, NULL, err);
    }
    json_object_foreach(wanted, key, value) {
        const json_t *was = json_object_get(old, key);
        bool ours = is_transport(key) || strcmp(key, "transport") == 0;
        if (rc < 0 || (was && (!ours || json_equal(was, value))))
            continue;
        json_object_set(merged, key, value);
        rc = set_one(kind, text, key, value, err);
    }
    json_decref(old);
    return rc;
}

/* Puts the entry where it belongs in values. */
static void put(const struct client_kind *kind, json_t *values, json_t *entry) {
    const char *names[PATH_NAMES];
    char room[64];
    size_t count = path_of(kind, room, names);
    for (size_t i = 0; i + 1 < count; i++) {
        json_t *next = json_object_get(values, names[i]);
        if (!next && !entry)
            return;
        if (!next)
            json_object_set_new(values, names[i], json_object());
        values = json_object_get(values, names[i]);
    }
    if (entry)
        json_object_set(values, CLIENTS_ENTRY, entry);
    else
        json_object_del(values, CLIENTS_ENTRY);
}

/* Reads the new text again: it holds what it should, and all else as before. */
static int check(const struct client_kind *kind, const struct buffer *text, json_t *before,
                 json_t *expected, struct error *err) {
    struct error fault = {0};
    json_t *all = NULL, *entry = read_entry(kind, text, &all, &fault);
    bool same = fault.code == 0 && (expected ? json_equal(entry, expected) : entry == NULL);
    if (same && before) {
        put(kind, before, expected);
        same = json_equal(all, before);
    }
    json_decref(entry);
    json_decref(all);
    return same ? 0
                : error_set(err, UV_EINVAL, "its form is not understood well enough to change it");
}

static int change_text(const struct client_kind *kind, struct buffer *text, json_t *wanted,
                       struct error *err) {
    struct error fault = {0};
    json_t *all = NULL, *now = read_entry(kind, text, &all, &fault), *merged = NULL;
    int rc = fault.code;
    if (rc < 0)
        error_set(err, rc, "%s", fault.message);
    else if (!wanted)
        rc = now ? set_one(kind, text, NULL, NULL, err) : 0;
    else if (json_is_object(now))
        rc = merge(kind, text, now, wanted, merged = json_deep_copy(now), err);
    else
        rc = set_one(kind, text, NULL, merged = json_incref(wanted), err);
    if (rc == 0)
        rc = check(kind, text, all, merged, err);
    json_decref(merged);
    json_decref(now);
    json_decref(all);
    return rc;
}

/* ---- telling ---- */

static void add_pasted(const struct client_kind *kind, json_t *entry, struct buffer *out) {
    const char *key;
    json_t *value;
    bool is_yaml = kind->format == CLIENT_YAML;
    if (is_yaml)
        buffer_format(out, "%s:\n  %s:\n", kind->key, CLIENTS_ENTRY);
    else
        buffer_format(out, "[[%s]]\nname = \"%s\"\n", kind->key, CLIENTS_ENTRY);
    json_object_foreach(entry, key, value) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        buffer_format(out, is_yaml ? "    %s: %s\n" : "%s = %s\n", key, text ? text : "");
        free(text);
    }
}

void clients_text(const struct client_kind *kind, const struct clients_place *place, bool http,
                  struct buffer *out) {
    json_t *entry = entry_of(kind, place, http);
    struct buffer text = {0};
    if (!entry)
        return;
    buffer_add_literal(&text, "");
    if (kind->format == CLIENT_YAML || kind->format == CLIENT_TOML_LIST)
        add_pasted(kind, entry, out);
    else if (set_one(kind, &text, NULL, entry, NULL) == 0)
        buffer_add(out, text.data, text.length);
    buffer_finish(&text);
    json_decref(entry);
}

static const char *text_in(const json_t *entry, const char *key) {
    return json_string_value(json_object_get(entry, key));
}

static const char *address_in(const json_t *entry) {
    static const char *const keys[] = {"url", "httpUrl", "serverUrl", "uri"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof keys / sizeof keys[0]; i++)
        found = text_in(entry, keys[i]);
    return found;
}

/* The command and its arguments are one list with some clients, and two with others. */
static const char *command_in(const json_t *entry, const json_t **arguments) {
    const json_t *command = json_object_get(entry, "command");
    *arguments = json_is_array(command) ? command : json_object_get(entry, "args");
    return json_is_array(command) ? json_string_value(json_array_get(command, 0))
                                  : json_string_value(command);
}

/* What stands behind a word among the arguments; NULL: nothing. */
static const char *behind(const json_t *arguments, const char *word) {
    const json_t *each;
    size_t i;
    json_array_foreach(arguments, i, each) {
        const char *text = json_string_value(each);
        if (text && strcmp(text, word) == 0)
            return json_string_value(json_array_get(arguments, i + 1));
    }
    return NULL;
}

static bool is_the_projects(const struct client_kind *kind) {
    return kind->files[0] && strncmp(kind->files[0], "project/", 8) == 0;
}

/* The project whose addon the program belongs to; false: it belongs to none. */
static bool addon_of(const char *command, char project[OS_PATH_MAX]) {
    static const char folder[] = "/addons/tether/bin/";
    size_t length = strlen(folder);
    for (const char *at = command; *at; at++) {
        size_t same = 0;
        while (same < length && at[same] && (at[same] == '\\' ? '/' : at[same]) == folder[same])
            same++;
        if (same < length || (size_t)(at - command) >= OS_PATH_MAX)
            continue;
        memcpy(project, command, (size_t)(at - command));
        project[at - command] = 0;
        return true;
    }
    return false;
}

/* Projects may share one by a link; what is no project is nobody's. */
static bool is_same_addon(const char *one, const char *other) {
    char paths[2][OS_PATH_MAX + 16], real[2][OS_PATH_MAX];
    snprintf(paths[0], sizeof paths[0], "%s/addons/tether", one);
    snprintf(paths[1], sizeof paths[1], "%s/addons/tether", other);
    project_folder(paths[0], real[0]);
    project_folder(paths[1], real[1]);
    return !project_is_at(one) || strcmp(real[0], real[1]) == 0;
}

static void add_port(struct buffer *out, long port, uint16_t here) {
    if (out->length == 0 && port != here)
        buffer_format(out, "it asks for port %ld, and here it is %u", port, (unsigned)here);
}

static long port_behind(const json_t *arguments, const char *word, long usual) {
    const char *port = behind(arguments, word);
    return port ? strtol(port, NULL, 10) : usual;
}

/* A name without a folder is looked for by the client. */
static bool is_gone(const char *command) {
    char kind = strpbrk(command, "/\\") ? client_file_kind(command) : 'f';
    return kind != 'f' && kind != '?';
}

static void judge_command(const struct client_kind *kind, const struct clients_place *place,
                          const char *command, const json_t *arguments, struct buffer *out) {
    const char *said = behind(arguments, "--project");
    char project[OS_PATH_MAX] = "", addon[OS_PATH_MAX];
    bool here = is_the_projects(kind);
    if (said)
        project_folder(said, project);
    if (place->project && (!said || strcmp(project, place->project) == 0))
        here = true;
    if (is_gone(command)) {
        buffer_format(out, "its launcher is gone: %s", command);
    } else if (said && !project_is_at(project)) {
        buffer_format(out, "its project is gone: %s", said);
    } else if (said && place->project && is_the_projects(kind) &&
               strcmp(project, place->project) != 0) {
        buffer_format(out, "it is for another project: %s", said);
    } else if (said && addon_of(command, addon) && !is_same_addon(addon, project)) {
        buffer_format(out, "its launcher belongs to another project: %s", command);
    }
    if (here && place->project) {
        add_port(out, port_behind(arguments, "--http-port", 8000), place->http_port);
        add_port(out, port_behind(arguments, "--ws-port", 9500), place->ws_port);
    }
}

/* Adds what is wrong with the entry, if anything is; returns its transport, or NULL. */
static const char *judge(const struct client_kind *kind, const struct clients_place *place,
                         const json_t *entry, struct buffer *out) {
    const json_t *arguments;
    const char *command = command_in(entry, &arguments), *address = address_in(entry);
    const char *port = address ? strstr(address, "://") : NULL;
    if (command) {
        judge_command(kind, place, command, arguments, out);
        return "stdio";
    }
    if (!address) {
        buffer_add_literal(out, "it says neither a command nor an address");
        return NULL;
    }
    port = port ? strpbrk(port + 3, ":/") : NULL;
    if (port && *port == ':')
        add_port(out, strtol(port + 1, NULL, 10), place->http_port);
    return "http";
}

static json_t *text_or_null(const struct buffer *text) {
    return text->length > 0 && !text->failed ? json_stringn(text->data, text->length) : json_null();
}

/* A path as JSON can say it. */
static json_t *path_json(const char *path) {
    char shown[OS_PATH_MAX];
    readable_cut(path, strlen(path), shown, sizeof shown);
    return json_string(shown);
}

static json_t *pasted(const struct client_kind *kind, const struct clients_place *place,
                      bool http) {
    struct buffer text = {0};
    json_t *made;
    clients_text(kind, place, http, &text);
    made = text_or_null(&text);
    buffer_finish(&text);
    return made;
}

json_t *clients_describe(const struct client_kind *kind, const struct clients_place *place) {
    char path[OS_PATH_MAX];
    struct client_file file = {0};
    struct buffer stale = {0};
    struct error err = {0};
    bool has_file = places_file(kind, place->project, path);
    const char *way = NULL;
    json_t *entry = NULL, *all;
    if (has_file && client_file_read(&file, path, &err) == 0 && file.exists)
        entry = read_entry(kind, &file.text, NULL, &err);
    if (entry)
        way = judge(kind, place, entry, &stale);
    all = json_pack("{s:s, s:s, s:b, s:o, s:b, s:s?, s:o, s:s?, s:s, s:o, s:o}", "id", kind->id,
                    "name", kind->name, "there", places_is_there(kind), "file",
                    has_file ? path_json(path) : json_null(), "writable", has_file, "transport",
                    way, "stale", text_or_null(&stale), "problem",
                    err.code < 0 ? err.message : NULL, "hint", kind->hint, "stdio",
                    pasted(kind, place, false), "http", pasted(kind, place, true));
    json_decref(entry);
    buffer_finish(&stale);
    client_file_finish(&file);
    return all;
}

/* ---- changing ---- */

static int change_file(const struct client_kind *kind, const struct clients_place *place,
                       enum clients_wish wish, struct client_file *file, struct error *err) {
    json_t *wanted = wish == CLIENTS_REMOVE ? NULL : entry_of(kind, place, wish == CLIENTS_HTTP);
    struct buffer text = {0};
    int rc;
    buffer_add(&text, file->text.data, file->text.length);
    rc = text.failed ? UV_ENOMEM : change_text(kind, &text, wanted, err);
    if (rc == 0 &&
        (text.length != file->text.length || memcmp(text.data, file->text.data, text.length) != 0))
        rc = client_file_replace(file, &text, err) == 0 ? 1 : err->code;
    buffer_finish(&text);
    json_decref(wanted);
    return rc;
}

int clients_change(const struct client_kind *kind, const struct clients_place *place,
                   enum clients_wish wish, char path[OS_PATH_MAX], struct error *err) {
    struct client_file file = {0};
    struct error fault = {0};
    int rc = 0;
    path[0] = 0;
    if (wish != CLIENTS_REMOVE && !(wish == CLIENTS_HTTP ? kind->http : kind->stdio))
        return error_set(err, UV_ENOTSUP, "%s cannot be reached over HTTP; leave --http out",
                         kind->name);
    if (!places_file(kind, place->project, path)) {
        if (is_the_projects(kind))
            return error_set(err, UV_ENOENT,
                             "which project? %s reads a file of it: give --project PATH, or run "
                             "this in its folder",
                             kind->name);
        return error_set(err, UV_ENOTSUP,
                         "%s has no file that could be written here: `tether clients show %s` "
                         "prints what to paste",
                         kind->name, kind->id);
    }
    for (int i = 0; i < TRIES_MOST; i++) {
        rc = client_file_read(&file, path, &fault);
        if (rc == 0)
            rc = change_file(kind, place, wish, &file, &fault);
        client_file_finish(&file);
        if (rc != UV_EAGAIN)
            break;
    }
    if (rc < 0)
        error_set(err, rc,
                  "%s was not changed: %s. `tether clients show %s` prints what belongs "
                  "into it",
                  path, fault.message, kind->id);
    return rc;
}
