#include "not_yet.h"

#include <uv.h>

int os_not_yet(struct error *err, const char *what) {
    return error_set(err, UV_ENOSYS, "tether cannot %s: not on this system yet", what);
}
