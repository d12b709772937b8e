#include "version.h"

/* From the file VERSION, by the build. */
const char tether_version[] = TETHER_VERSION;
