/* A file is written under a name of the form ".<name>.<8 hexadecimal digits>.tmp" and renamed. */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#define TEMPORARY_SUFFIX  ".tmp"
#define INSTANCE_NAME_MAX 64

int names_temporary(char out[NAMES_MAX], const char *name) {
    uint32_t random;
    int rc = os_random(&random, sizeof random);
    if (rc < 0)
        return rc;
    int n = snprintf(out, NAMES_MAX, ".%s.%08x" TEMPORARY_SUFFIX, name, (unsigned)random);
    return n < 0 || n >= NAMES_MAX ? UV_ENAMETOOLONG : 0;
}

bool os_file_is_temporary(const char *name) {
    size_t tail = sizeof ".01234567" TEMPORARY_SUFFIX - 1;
    size_t length = strlen(name);
    if (length < tail + 2 || name[0] != '.')
        return false;
    const char *end = name + length - tail;
    return end[0] == '.' && strspn(end + 1, "0123456789abcdef") == 8 &&
           strcmp(end + 9, TEMPORARY_SUFFIX) == 0;
}

bool os_is_separator(char c) {
    return c == '/' || c == os_path_separator;
}

int names_check_instance(const char *instance, struct error *err) {
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
    size_t length = instance ? strspn(instance, allowed) : 0;
    if (length > 0 && length <= INSTANCE_NAME_MAX && !instance[length] && instance[0] != '.')
        return 0;
    return error_set(err, UV_EINVAL,
                     "\"%.80s\" is no name for an instance: it takes letters, digits and the "
                     "signs - _ . (at most %d)",
                     instance ? instance : "", INSTANCE_NAME_MAX);
}
