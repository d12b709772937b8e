/* How a unit test says why it cannot be done here; ./dev test repeats it at its end. */
#ifndef TETHER_TESTS_UNIT_SKIP_H
#define TETHER_TESTS_UNIT_SKIP_H

#define unit_skip(...)                                                                             \
    do {                                                                                           \
        print_message("          skipped: " __VA_ARGS__);                                          \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

#endif
