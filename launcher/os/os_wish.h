/* What somebody may wish of a program that runs. POSIX wishes by signals; on systems without, some
 * of these never come. */
#ifndef TETHER_OS_WISH_H
#define TETHER_OS_WISH_H

/* Each a bit, so that a set of them is a sum. */
enum os_wish {
    OS_WISH_END = 1,
    OS_WISH_HANGUP = 2, /* the terminal is gone */
    OS_WISH_USER1 = 4,  /* what these two mean is the program's own affair */
    OS_WISH_USER2 = 8,
};

#endif
