/* What a thread within another's process needs. */
#include "os/os.h"

#include <signal.h>

void os_thread_block_signals(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&others, faults[i]); /* for the host's crash handler, whosever the fault is */
    pthread_sigmask(SIG_BLOCK, &others, NULL);
}
