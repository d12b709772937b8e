#include "project.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

bool project_is_at(const char *folder) {
    char path[OS_PATH_MAX + sizeof "/project.godot"];
    uv_fs_t look;
    int rc;
    snprintf(path, sizeof path, "%s/project.godot", folder);
    rc = uv_fs_stat(NULL, &look, path, NULL);
    uv_fs_req_cleanup(&look);
    return rc == 0;
}

/* Cuts a path to the folder above it. False: there is none. */
static bool go_up(char *path) {
    size_t at = strlen(path);
    while (at > 0 && !os_is_separator(path[at - 1]))
        at--;
    if (at == 0 || !path[at])
        return false;
    path[at > 1 ? at - 1 : 1] = 0;
    return true;
}

bool project_near(char out[OS_PATH_MAX]) {
    char here[OS_PATH_MAX];
    size_t size = sizeof here;
    out[0] = 0;
    if (uv_cwd(here, &size) < 0)
        return false;
    memcpy(out, here, sizeof here);
    while (!project_is_at(out))
        if (!go_up(out)) {
            memcpy(out, here, sizeof here);
            return false;
        }
    return true;
}

void project_folder(const char *said, char out[OS_PATH_MAX]) {
    static const char file[] = "project.godot";
    uv_fs_t look;
    int rc = uv_fs_realpath(NULL, &look, said, NULL);
    size_t length;
    snprintf(out, OS_PATH_MAX, "%s", rc == 0 ? (const char *)look.ptr : said);
    uv_fs_req_cleanup(&look);
    length = strlen(out);
    if (length > sizeof file && os_is_separator(out[length - sizeof file]) &&
        strcmp(out + length + 1 - sizeof file, file) == 0)
        go_up(out);
}
