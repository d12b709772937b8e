/* Windows on the desktop, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_TOP_WINDOWS_H
#define TETHER_OS_WIN_TOP_WINDOWS_H

#include "win.h"

/* How many windows all in the job have; `asks` them to close, as a click on their cross does. */
int windows_count(HANDLE job, bool asks);

#endif
