/* What the kernel keeps of a program's first stack (KERN_PROCARGS2): the number of its words, its
 * path, zeros, the words, the variables; each text ends with a zero. The process itself may have
 * written over all of it. */
#ifndef TETHER_OS_MACOS_FIRST_STACK_H
#define TETHER_OS_MACOS_FIRST_STACK_H

#include <stddef.h>

struct first_stack {
    const char *bytes;
    size_t length;
    size_t words, variables; /* where they begin */
};

/* `bytes` stay the caller's. */
struct first_stack first_stack_of(const char *bytes, size_t length);

/* -ENOENT: there is none of this name, or its value was cut off; -ENOBUFS: it does not fit. */
int first_stack_variable(const struct first_stack *stack, const char *name, char *out, size_t size);

#endif
