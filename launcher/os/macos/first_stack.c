#include "first_stack.h"

#include <errno.h>
#include <string.h>

static size_t after_text(const struct first_stack *stack, size_t at) {
    while (at < stack->length && stack->bytes[at])
        at++;
    return at < stack->length ? at + 1 : at;
}

struct first_stack first_stack_of(const char *bytes, size_t length) {
    struct first_stack stack = {.bytes = bytes, .length = length};
    int count = 0;
    size_t at = length;
    if (length >= sizeof count) {
        memcpy(&count, bytes, sizeof count);
        at = after_text(&stack, sizeof count);
    }
    while (at < length && !bytes[at])
        at++;
    stack.words = at;
    for (int i = 0; i < count && at < length; i++)
        at = after_text(&stack, at);
    stack.variables = at;
    return stack;
}

int first_stack_variable(const struct first_stack *stack, const char *name, char *out,
                         size_t size) {
    size_t length = strlen(name);
    for (size_t at = stack->variables; at < stack->length; at = after_text(stack, at)) {
        const char *entry = stack->bytes + at;
        size_t left = stack->length - at;
        if (left <= length || memcmp(entry, name, length) != 0 || entry[length] != '=')
            continue;
        size_t value = strnlen(entry + length + 1, left - length - 1);
        if (value == left - length - 1)
            break;
        if (value >= size)
            return -ENOBUFS;
        memcpy(out, entry + length + 1, value);
        out[value] = '\0';
        return 0;
    }
    return -ENOENT;
}
