#include "target.h"

#include <inttypes.h>
#include <string.h>

#include <uv.h>

#include "options/project.h"
#include "os/os.h"

static void add_encoded(struct buffer *out, const char *text) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/,";
    for (; *text; text++) {
        if (strchr(plain, *text))
            buffer_add_char(out, *text);
        else
            buffer_format(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

static void add_pair(struct buffer *out, const char *name, const char *value) {
    buffer_add_char(out, out->length == 0 ? '?' : '&');
    buffer_add_text(out, name);
    buffer_add_char(out, '=');
    add_encoded(out, value);
}

void target_write(struct buffer *out, const struct options *options) {
    struct os_identity self = {0};
    char name[64], place[OS_PATH_MAX];
    if (!options->builtin || options->stdio)
        return;
    if (options->project) {
        project_folder(options->project, place);
        add_pair(out, "project", place);
    } else if (project_near(place)) {
        add_pair(out, "project", place);
    } else if (place[0]) {
        add_pair(out, "near", place);
    }
    if (options->tools)
        add_pair(out, "tools", options->tools);
    os_identity_self(&self);
    snprintf(name, sizeof name, "front-%" PRId64 "-%" PRIu64, self.pid, self.start);
    add_pair(out, "client", name);
}
