/* The console that this process shares with others, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_CONSOLE_H
#define TETHER_OS_WIN_CONSOLE_H

#include "win.h"

bool console_is_there(void);

/* Whether nobody of the job is at it. */
bool console_is_left(HANDLE job);

/* Interrupts every process at the console, if all of them but this one are in the job; this one
 * does not take it for a wish. An interrupt that a person has typed has reached them already, and
 * is not sent a second time. False: none of the job is there, others are, or the system refuses. */
bool console_interrupt(HANDLE job);

/* The same with Break, which some programs know as their end and others take no notice of. */
bool console_break(HANDLE job);

bool console_is_in_job(DWORD pid, HANDLE job);

#endif
