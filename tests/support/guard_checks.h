/* Steps that tests of the guard have in common. Each fails the running test (cmocka) when what it
 * waits for does not come. */
#ifndef TETHER_TEST_GUARD_CHECKS_H
#define TETHER_TEST_GUARD_CHECKS_H

#include "guard_harness.h"

/* Starts a helper program under a guard; what and argument may be NULL. */
void check_start(struct harness *harness, const char *program, const char *what,
                 const char *argument, struct harness_options options);
/* The same without privileges, wherever the program is: its file may be in a folder of root's. */
void check_start_as_nobody(struct harness *harness, const char *program, const char *what,
                           const char *argument);
void check_start_probe(struct harness *harness, const char *what, const char *argument);

/* The next record of this type. */
void check_await(struct harness *harness, int type, struct harness_record *record);
/* The daemon is through, has no child left, and the guard did or did not end the tree itself. */
void check_done(struct harness *harness, bool ended);
/* Nobody of the tree is left anywhere. */
void check_finish(struct harness *harness);

/* The server's output holds this line. */
void check_says(const struct harness *harness, const char *line);

/* Waits until a child of the test is stopped, or any process is in a state of /proc/PID/stat. */
void check_stopped(int pid);
void check_state(int pid, char wanted);

/* To prepare a daemon: no privileges; or a kernel before 5.3, without pidfd and close_range, and
 * many open descriptors. */
void check_be_nobody(void);
void check_be_old_kernel(void);

/* How many children the test process has, dead or alive. */
int check_children(void);

/* Around each test: it leaves no descriptor and no process behind. */
int check_before(void **state);
int check_after(void **state);

#define guard_test(name) cmocka_unit_test_setup_teardown(name, check_before, check_after)

#endif
