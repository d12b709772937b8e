/* The environment, and the words of the command line. */
#include "os/os.h"

#include <stdlib.h>

#include "text_list.h"

extern char **environ;

void os_environment(struct text_list *list) {
    for (char **entry = environ; entry && *entry; entry++)
        text_list_add(list, *entry);
}

char **os_arguments(int *count, char **words) {
    (void)count;
    return words;
}

const char *os_variable(const char *name) {
    return getenv(name);
}
