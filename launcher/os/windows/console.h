/* The console that this process shares with others, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_CONSOLE_H
#define TETHER_OS_WIN_CONSOLE_H

#include "win.h"

bool console_is_there(void);

/* Whether nobody is at it but this process. */
bool console_is_left(void);

/* Interrupts every process at the console, if all of them but this one are in the job; this one
 * does not take it for a wish. False: there is no console, others are at it, or the system refuses.
 */
bool console_interrupt(HANDLE job);

#endif
