/* Ending a tree that is not below us; rows A12 and D1. */
#include "os/os.h"

#include "os_unit.h"

enum { MANY = 1500 };

/* A root with many children, in a group of their own. */
static int body_many(const struct unit_line *line, void *arg) {
    (void)arg;
    CHILD_CHECK(setpgid(0, 0) == 0);
    for (int i = 0; i < MANY; i++) {
        pid_t pid = fork();
        CHILD_CHECK(pid >= 0);
        if (pid == 0) {
            unit_wait_for_test(line);
            _exit(0);
        }
    }
    unit_tell(line, "ready");
    unit_wait_for_test(line);
    return 0;
}

/* Counts those of the group that have ended, and takes them away. */
static int collect_ended(pid_t group) {
    int status, count = 0;
    while (waitpid(-group, &status, WNOHANG) > 0)
        count++;
    return count;
}

static void test_no_number_of_members_is_too_many(void **state) {
    struct unit_child root;
    struct os_identity identity;
    char text[8];
    int rc, ended;
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    unit_child_start(&root, body_many, NULL);
    unit_hear(&root, text, sizeof text);
    assert_string_equal(text, "ready");
    assert_int_equal(os_identity_of(root.pid, &identity), 0);
    rc = os_orphan_end(&identity, 0);
    ended = collect_ended(root.pid);
    kill(-root.pid, SIGKILL); /* whoever is left after all */
    while (waitpid(-root.pid, NULL, 0) > 0)
        continue;
    unit_child_close(&root);
    assert_int_equal(rc, 0);
    assert_int_equal(ended, MANY + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_no_number_of_members_is_too_many),
    };
    return cmocka_run_group_tests_name("os orphan", tests, NULL, NULL);
}
