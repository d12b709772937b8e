/* Windows on the desktop, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_TOP_WINDOWS_H
#define TETHER_OS_WIN_TOP_WINDOWS_H

#include "win.h"

/* Asks the windows of all in the job to close, as a click on their cross does: how many there are.
 */
int windows_close(HANDLE job);

#endif
