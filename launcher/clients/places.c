#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "file.h"

static bool put(char out[OS_PATH_MAX], const char *folder, const char *rest) {
    int length;
    if (!folder || !folder[0])
        return false;
    length = snprintf(out, OS_PATH_MAX, "%s%s%s", folder, rest[0] ? "/" : "", rest);
    if (length >= OS_PATH_MAX)
        return false;
    for (char *c = out + strlen(folder); *c; c++)
        if (*c == '/')
            *c = os_path_separator;
    return true;
}

static bool in_home(char out[OS_PATH_MAX], const char *rest) {
    char home[OS_PATH_MAX];
    size_t size = sizeof home;
    return uv_os_homedir(home, &size) == 0 && put(out, home, rest);
}

/* What the variable names, or else a folder of the user's. */
static bool in_folder(char out[OS_PATH_MAX], const char *variable, const char *usual) {
    const char *folder = variable[0] ? os_variable(variable) : NULL;
    return folder && folder[0] ? put(out, folder, "") : in_home(out, usual);
}

static bool root_path(const char *root, size_t length, const char *project, char out[OS_PATH_MAX]) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)length, root);
    if (name[0] == '$')
        return put(out, os_variable(name + 1), "");
    if (strcmp(name, "project") == 0)
        return project && put(out, project, "");
    if (strcmp(name, "home") == 0)
        return in_home(out, "");
    if (strcmp(name, "config") == 0)
        return in_folder(out, os_config_variable, os_config_folder);
    if (strcmp(name, "xdg") == 0)
        return in_folder(out, "XDG_CONFIG_HOME", ".config");
    /* The two that only one system has. */
    return put(out, os_variable(strcmp(name, "local") == 0 ? "LOCALAPPDATA" : "APPDATA"), "");
}

/* Puts the first folder in place of a name that ends in '*', behind the root: what that is called
 * means nothing else. */
static bool fill_star(char path[OS_PATH_MAX], size_t root) {
    char whole[OS_PATH_MAX], *star = strchr(path + root, '*'), *name = star, *rest;
    uv_dirent_t entry;
    uv_fs_t scan;
    bool found = false;
    if (!star)
        return true;
    while (name[-1] != os_path_separator)
        name--;
    rest = star + 1;
    name[-1] = 0;
    if (uv_fs_scandir(NULL, &scan, path, 0, NULL) >= 0)
        while (!found && uv_fs_scandir_next(&scan, &entry) == 0)
            if (strncmp(entry.name, name, (size_t)(star - name)) == 0)
                found = snprintf(whole, sizeof whole, "%s%c%s%s", path, os_path_separator,
                                 entry.name, rest) < OS_PATH_MAX;
    uv_fs_req_cleanup(&scan);
    if (found)
        memcpy(path, whole, sizeof whole);
    return found;
}

/* "ROOT/PATH" as a path of this system. */
static bool resolve(const char *place, const char *project, char out[OS_PATH_MAX]) {
    char root[OS_PATH_MAX];
    size_t length = strcspn(place, "/");
    return root_path(place, length, project, root) &&
           put(out, root, place[length] ? place + length + 1 : "") && fill_star(out, strlen(root));
}

bool places_file(const struct client_kind *kind, const char *project, char out[OS_PATH_MAX]) {
    char path[OS_PATH_MAX];
    bool found = false;
    for (size_t i = 0; i < CLIENT_FILES && kind->files[i]; i++) {
        if (!resolve(kind->files[i], project, path))
            continue;
        if (!found || client_file_kind(path))
            memcpy(out, path, sizeof path);
        if (client_file_kind(path))
            return true;
        found = true;
    }
    return found;
}

bool places_is_there(const struct client_kind *kind) {
    char path[OS_PATH_MAX];
    for (size_t i = 0; i < CLIENT_SIGNS && kind->signs[i]; i++)
        if (resolve(kind->signs[i], NULL, path) && client_file_kind(path))
            return true;
    return false;
}

/* ---- what the project says ---- */

/* The text of a setting, if the line is about it; else NULL. */
static const char *value_of(const char *line, const char *name) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0)
        return NULL;
    line += length + strspn(line + length, " \t");
    return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* A number, and nothing behind it but perhaps a comment, as the editor takes it. */
static bool read_port(const char *text, unsigned long least, uint16_t *port) {
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits + strspn(text + digits, " \t\r");
    unsigned long number = digits > 0 && digits < 8 ? strtoul(text, NULL, 10) : UINT16_MAX + 1UL;
    if (number < least || number > UINT16_MAX || (*rest && *rest != '\n' && *rest != ';'))
        return false;
    *port = (uint16_t)number;
    return true;
}

static void take_port(const char *line, const char *name, unsigned long least, uint16_t *port,
                      struct buffer *warnings) {
    const char *text = port ? value_of(line, name) : NULL;
    if (text && !read_port(text, least, port))
        buffer_format(warnings,
                      "project.godot: tether/%s: '%.*s' is not valid here; the default is taken\n",
                      name, (int)strcspn(text, "\r\n"), text);
}

void places_ports(const char *project, uint16_t *http_port, uint16_t *ws_port,
                  struct buffer *warnings) {
    char path[OS_PATH_MAX];
    struct client_file file = {0};
    struct error err = {0};
    bool ours = false;
    if (!put(path, project, "project.godot") || client_file_read(&file, path, &err) < 0) {
        buffer_format(warnings, "%s; the default ports are taken\n", err.message);
        client_file_finish(&file);
        return;
    }
    buffer_add_char(&file.text, 0);
    for (const char *line = file.text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == '[')
            ours = strncmp(line, "[tether]", 8) == 0;
        if (!ours)
            continue;
        take_port(line, "server/http_port", 1, http_port, warnings);
        take_port(line, "server/ws_port", 0, ws_port, warnings);
    }
    client_file_finish(&file);
}
