/* Names of files and instances, the same on every system. For the systems' parts of os/. */
#ifndef TETHER_OS_NAMES_H
#define TETHER_OS_NAMES_H

#include "os.h"

#define NAMES_MAX 256

/* The name under which a file is written before it gets its own. */
int names_temporary(char out[NAMES_MAX], const char *name);

/* Says what is wrong with the name of an instance; 0: nothing. */
int names_check_instance(const char *instance, struct error *err);

#endif
