/* The environment. */
#include "os/os.h"

#include <stdlib.h>

extern char **environ;

char *const *os_environment(void) {
    return environ;
}

const char *os_variable(const char *name) {
    return getenv(name);
}
