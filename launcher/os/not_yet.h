/* What a system still lacks, said in words. Gone when no system lacks anything. */
#ifndef TETHER_OS_NOT_YET_H
#define TETHER_OS_NOT_YET_H

#include "error.h"

/* Says that tether cannot do this ("start servers") on this system yet, and returns UV_ENOSYS. */
int os_not_yet(struct error *err, const char *what);

#endif
