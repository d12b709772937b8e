/* What libuv does to the process that it finds itself in, kept from one that is not ours.
 *
 * At its first use it gives the system addresses of its own, for good: of what is to be called at
 * Ctrl-C, when the machine wakes up, and when the console changes, on a thread that watches for
 * that. A library goes while its process stays, and then the next such call would end the editor.
 * None of it is needed for loops, pipes, timers and sockets. The linker puts these in their place,
 * in the library only: see extension() in SConstruct. */
#include "win.h"

void __wrap_uv__signals_init(void);
void __wrap_uv__console_init(void);
void __wrap_uv__init_detect_system_wakeup(void);

void __wrap_uv__signals_init(void) {
}

void __wrap_uv__console_init(void) {
}

void __wrap_uv__init_detect_system_wakeup(void) {
}

/* It also switches off what the system shows when a program crashes. */
void os_library_begin(void) {
    UINT mode = GetErrorMode();
    uv_hrtime();
    SetErrorMode(mode);
}
