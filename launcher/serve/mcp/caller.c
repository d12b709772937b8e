#include "caller.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "caseless.h"
#include "memory.h"
#include "readable.h"
#include "serve/relay/editors.h"
#include "sessions.h"
#include "utf8.h"

enum { ROOTS_MOST = 64, SELECTIONS_MOST = 128, SELECTION_MAX = EDITOR_MARK_MAX + OS_PATH_MAX };

/* ---- the query ---- */

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* What is no text becomes one that nothing is called by: who says something, if only nonsense, is
 * not served as if nothing had been said. */
static json_t *text_of(const struct buffer *bytes) {
    bool good = !memchr(bytes->data, 0, bytes->length) && utf8_is_valid(bytes->data, bytes->length);
    return good ? json_stringn(bytes->data, bytes->length) : json_string("\xef\xbf\xbd");
}

static json_t *decode(const char *text, size_t length, bool is_query) {
    struct buffer out = {0};
    json_t *value;
    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex(text[i + 1]) : -1;
        int low = high >= 0 ? hex(text[i + 2]) : -1;
        if (low >= 0)
            i += 2;
        buffer_add_char(&out, low >= 0                     ? (char)(high * 16 + low)
                              : is_query && text[i] == '+' ? ' '
                                                           : text[i]);
    }
    value = out.failed || !out.data ? NULL : text_of(&out);
    buffer_finish(&out);
    return value;
}

json_t *caller_read(const char *query) {
    json_t *said = query && query[0] ? json_object() : NULL;
    while (said && *query) {
        size_t length = strcspn(query, "&"), name = strcspn(query, "=&");
        json_t *value = name < length ? decode(query + name + 1, length - name - 1, true) : NULL;
        char key[16];
        if (value && name < sizeof key) {
            memcpy(key, query, name);
            key[name] = 0;
            json_object_set(said, key, value);
        }
        json_decref(value);
        query += length + (query[length] == '&');
    }
    return said;
}

/* ---- paths ---- */

static size_t path_length(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && os_is_separator(path[length - 1]))
        length--;
    return length;
}

/* Whether `inner` is the folder `outer`, or is in it. Where paths begin with the letter of a drive
 * they mean the same in capitals. */
static bool is_within(const char *inner, const char *outer) {
    size_t length = path_length(outer);
    bool caseless = outer[0] && outer[1] == ':';
    if (length == 0 || path_length(inner) < length)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool same = os_is_separator(inner[i]) ? os_is_separator(outer[i])
                    : caseless                ? caseless_equal_n(inner + i, outer + i, 1)
                                              : inner[i] == outer[i];
        if (!same)
            return false;
    }
    return !inner[length] || os_is_separator(inner[length]) || os_is_separator(inner[length - 1]);
}

bool caller_is_same_path(const char *a, const char *b) {
    return is_within(a, b) && is_within(b, a);
}

uint64_t caller_path_mark(const char *path) {
    struct buffer plain = {0};
    bool caseless = path[0] && path[1] == ':';
    size_t length = path_length(path);
    uint64_t mark;
    for (size_t i = 0; i < length; i++)
        buffer_add_char(&plain, os_is_separator(path[i]) ? '/'
                                : caseless && path[i] >= 'A' && path[i] <= 'Z'
                                    ? (char)(path[i] + 32)
                                    : path[i]);
    mark = offer_mark(plain.data, plain.length);
    buffer_finish(&plain);
    return mark;
}

static const char *path_of(const struct editor *editor) {
    return rpc_text(editor->hello, "path");
}

static bool is_there(const struct editor *editor) {
    return editor->greeted && !editor->closing && path_of(editor);
}

static struct editor *at_path(const struct serve *serve, const char *path) {
    for (struct editor *editor = serve->editors; editor; editor = editor->next)
        if (is_there(editor) && caller_is_same_path(path_of(editor), path))
            return editor;
    return NULL;
}

/* The same where a path leads through links. */
static struct editor *at_real_path(const struct serve *serve, const char *path) {
    struct editor *found = at_path(serve, path);
    uv_fs_t look;
    if (found)
        return found;
    if (uv_fs_realpath(NULL, &look, path, NULL) == 0)
        found = at_path(serve, look.ptr);
    uv_fs_req_cleanup(&look);
    return found;
}

/* The project that the folder is in, the innermost; else the only one in it; else NULL. */
static struct editor *near_path(const struct serve *serve, const char *path) {
    struct editor *around = NULL, *inside = NULL;
    unsigned count = 0;
    for (struct editor *editor = serve->editors; editor; editor = editor->next) {
        if (!is_there(editor))
            continue;
        if (is_within(path, path_of(editor)) &&
            (!around || path_length(path_of(editor)) > path_length(path_of(around))))
            around = editor;
        if (is_within(path_of(editor), path)) {
            inside = editor;
            count++;
        }
    }
    return around ? around : count == 1 ? inside : NULL;
}

/* ---- roots ---- */

/* file:///home/me/game, file://localhost/…, file:///C:/game; NULL: no folder of this machine. */
static json_t *root_path(const char *uri) {
    static const char scheme[] = "file://", host[] = "localhost";
    if (!uri || strncmp(uri, scheme, strlen(scheme)) != 0)
        return NULL;
    uri += strlen(scheme);
    if (strncmp(uri, host, strlen(host)) == 0)
        uri += strlen(host);
    if (uri[0] != '/')
        return NULL;
    if (uri[1] &&
        (uri[2] == ':' || strncmp(uri + 2, "%3A", 3) == 0 || strncmp(uri + 2, "%3a", 3) == 0))
        uri++; /* the letter of a drive */
    return decode(uri, strlen(uri), false);
}

json_t *caller_roots(const json_t *result) {
    json_t *paths = json_array(), *path;
    const json_t *root;
    size_t i;
    json_array_foreach(json_object_get(result, "roots"), i, root) {
        path = json_array_size(paths) < ROOTS_MOST ? root_path(rpc_text(root, "uri")) : NULL;
        if (path)
            json_array_append_new(paths, path);
    }
    return paths;
}

/* The one editor that is near a root; NULL: there is none, or there are several. */
static struct editor *near_roots(const struct serve *serve, const json_t *roots) {
    struct editor *found = NULL, *editor;
    const json_t *root;
    size_t i;
    json_array_foreach(roots, i, root) {
        editor = near_path(serve, json_string_value(root));
        if (editor && found && editor != found)
            return NULL;
        found = editor ? editor : found;
    }
    return found;
}

/* ---- which editor ---- */

/* Clients of the modern era have no session. Who does not say what it is called is known by the
 * name of its program, which is then that of all who run it. */
static const char *client_key(const json_t *said) {
    const char *key = rpc_text(said, "client");
    return key ? key : "";
}

static const char *selection_of(const struct serve *serve, const struct mcp_session *session,
                                const json_t *said) {
    return session ? session->selected : rpc_text(serve->selections, client_key(said));
}

/* The editor that was selected, or, if its process is gone, the one that has its project now. */
static struct editor *selected_editor(const struct serve *serve, const char *selection) {
    char mark[EDITOR_MARK_MAX];
    const char *path = strchr(selection, '\n');
    struct editor *editor;
    snprintf(mark, sizeof mark, "%.*s", (int)(path - selection), selection);
    editor = editor_marked(serve, mark);
    return editor || !path[1] ? editor : at_path(serve, path + 1);
}

struct editor *caller_editor(const struct serve *serve, const struct mcp_session *session,
                             const json_t *said) {
    const char *selection = selection_of(serve, session, said);
    const char *project = rpc_text(said, "project"), *folder = rpc_text(said, "near");
    struct editor *editor = NULL;
    if (selection)
        return selected_editor(serve, selection);
    if (project)
        return at_real_path(serve, project);
    if (folder)
        editor = near_path(serve, folder);
    else if (session && session->roots)
        editor = near_roots(serve, session->roots);
    return editor ? editor : serve->active;
}

const char *caller_path(const struct serve *serve, const struct mcp_session *session,
                        const json_t *said) {
    const char *selection = selection_of(serve, session, said);
    const char *path = selection ? strchr(selection, '\n') + 1 : rpc_text(said, "project");
    return path && path[0] ? path : NULL;
}

const struct offer *caller_offer(const struct serve *serve, const struct mcp_session *session,
                                 const json_t *said) {
    return offer_shown(serve, caller_editor(serve, session, said),
                       caller_path(serve, session, said));
}

void caller_name(struct mcp_request *request) {
    json_t *name = json_object_get(json_object_get(request->meta, META_CLIENT), "name");
    if (request->session || !json_is_string(name) || json_object_get(request->said, "client"))
        return;
    if (!request->said)
        request->said = json_object();
    json_object_set(request->said, "client", name);
}

bool caller_select(struct mcp_request *request, const struct editor *editor) {
    struct serve *serve = request->serve;
    const char *path = path_of(editor);
    char text[SELECTION_MAX], mark[EDITOR_MARK_MAX];
    editor_mark(editor, mark);
    snprintf(text, sizeof text, "%s\n%s", mark, path ? path : "");
    if (request->session) {
        free(request->session->selected);
        request->session->selected = memory_text(text, strlen(text));
        return request->session->selected != NULL;
    }
    caller_name(request);
    if (!serve->selections)
        serve->selections = json_object();
    if (json_object_size(serve->selections) >= SELECTIONS_MOST)
        json_object_del(serve->selections,
                        json_object_iter_key(json_object_iter(serve->selections)));
    return json_object_set_new(serve->selections, client_key(request->said), json_string(text)) ==
           0;
}

/* ---- words ---- */

static const char *shown_text(char *out, size_t size, const char *text) {
    char readable[256 * READABLE_GROWTH + 1];
    readable_text(readable, text, utf8_cut(text, 256));
    snprintf(out, size, "%.*s", (int)utf8_cut(readable, size - 1), readable);
    return out;
}

/* The project that has to be opened. */
static void name_project(const struct serve *serve, const struct mcp_session *session,
                         const json_t *said, char *out, size_t size) {
    const char *wanted = caller_path(serve, session, said), *project, *path;
    char name[100], place[300];
    project = rpc_text(serve->kept->hello, "project");
    path = rpc_text(serve->kept->hello, "path");
    if (wanted && !(path && caller_is_same_path(path, wanted)))
        snprintf(out, size, "the project in %s", shown_text(place, sizeof place, wanted));
    else if (project && path)
        snprintf(out, size, "the project \"%s\" (%s)", shown_text(name, sizeof name, project),
                 shown_text(place, sizeof place, path));
    else
        snprintf(out, size, "the project");
}

void caller_explain(const struct serve *serve, const struct mcp_session *session,
                    const json_t *said, char out[CALLER_WORDS_MAX]) {
    const struct editor *editor = caller_editor(serve, session, said);
    bool others = serve->active != NULL;
    char project[512];
    if (editor) {
        snprintf(out, CALLER_WORDS_MAX,
                 "The Godot editor %s has offered no tools yet; it may still be starting. Try "
                 "again in a moment.",
                 editor->name);
        return;
    }
    name_project(serve, session, said, project, sizeof project);
    snprintf(out, CALLER_WORDS_MAX,
             "%s, so there is nobody who could do this. Open %s in Godot with the Tether addon "
             "enabled, then try again.%s",
             others ? "The Godot editor that this client belongs to is not connected to Tether"
                    : "No Godot editor is connected to Tether",
             project,
             others ? " Or use another editor that is open: editors_list tells which are, "
                      "editor_select goes there."
                    : "");
}

/* ---- which tools ---- */

bool caller_has_all(const json_t *said) {
    const char *tools = rpc_text(said, "tools");
    return !tools || !tools[0];
}

static bool is_in_profile(const struct offer *offer, const char *profile, const char *name) {
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(offer->profiles, profile), i, entry) {
        const char *text = json_string_value(entry);
        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

bool caller_has_tool(const struct offer *offer, const json_t *said, const char *name) {
    const char *word = rpc_text(said, "tools");
    char text[128];
    if (caller_has_all(said) || builtin_has(name))
        return true;
    while (*word) {
        size_t length = strcspn(word, ",");
        snprintf(text, sizeof text, "%.*s", (int)length, word);
        if (strcmp(text, "all") == 0 || strcmp(text, name) == 0 || is_in_profile(offer, text, name))
            return true;
        word += length + (word[length] == ',');
    }
    return false;
}

void caller_add_tools(struct buffer *out, const struct offer *offer, const json_t *said) {
    json_t *tools = offer_tools(offer);
    const json_t *tool;
    size_t i;
    bool first = true;
    buffer_add_literal(out, "\"tools\":[");
    json_array_foreach(tools, i, tool) {
        if (!caller_has_tool(offer, said, rpc_text(tool, "name")))
            continue;
        if (!first)
            buffer_add_char(out, ',');
        first = false;
        rpc_add_json(out, tool);
    }
    buffer_add_char(out, ']');
    json_decref(tools);
}
