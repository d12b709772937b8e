/* Something that a thread rings and the main thread waits for, between two frames. */
#ifndef TETHER_SESSION_BELL_H
#define TETHER_SESSION_BELL_H

#include <stdint.h>

/* From any thread: something has come that a frame should see to. */
void bell_ring(void);

/* Waits until it has rung since the last time, or until this moment of uv_hrtime. */
void bell_wait(uint64_t end);

#endif
