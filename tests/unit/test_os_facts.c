/* What is told about other processes, and finding them by a variable of their environment. */
#include "os/os.h"
#include "os_unit.h"
#include "readable.h"

/* Starts `cat` with an environment and waits until it is that. */
static struct os_identity start_cat(struct unit_child *child, char **environment) {
    struct os_identity identity;
    unit_child_start(child, unit_body_exec, environment);
    unit_child_await_exec(child);
    assert_int_equal(os_identity_of(child->pid, &identity), 0);
    return identity;
}

static void printable(const char *in, size_t length, size_t size, const char *expected) {
    char out[64];
    memset(out, '#', sizeof out);
    readable_cut(in, length, out, size);
    assert_string_equal(out, expected);
    assert_int_equal(out[size], '#');
}

#define PRINTABLE(in, size, expected) printable((in), sizeof(in) - 1, (size), (expected))

static void test_printable_text(void **state) {
    (void)state;
    PRINTABLE("node\0server.js\0--port", 32, "node server.js --port");
    PRINTABLE("a\nb\tc\x1b[31m\x7f", 32, "a?b?c?[31m?");
    PRINTABLE("gr\xc3\xbc\xc3\x9f"
              "e \xe2\x82\xac \xf0\x9f\x98\x80",
              32,
              "gr\xc3\xbc\xc3\x9f"
              "e \xe2\x82\xac \xf0\x9f\x98\x80");
    /* Overlong forms, lone halves, surrogates, too large, cut off, second control set. */
    PRINTABLE("\xc0\xaf|\x80|\xed\xa0\x80|\xf5\x80\x80\x80", 32, "??|?|\?\?\?|????");
    PRINTABLE("\xe0\x82\xa9|\xf0\x80\x82\xa9", 32, "\?\?\?|????");
    PRINTABLE("x\xe2\x82", 32, "x??");
    PRINTABLE("x\xc2\x85y", 32, "x??y");
    PRINTABLE("a\xe2\x80\xae"
              "b",
              32, "a\?\?\?b");
    PRINTABLE("", 8, "");
    PRINTABLE("1234567", 8, "1234567");
    PRINTABLE("12345678", 8, "1234...");
    PRINTABLE("123\xe2\x82\xac"
              "5678",
              8, "123...");
    PRINTABLE("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8, "\xf0\x9f\x98\x80...");
    PRINTABLE("12345", 4, "...");
    PRINTABLE("12345", 3, "");
    PRINTABLE("12345", 1, "");
}

static void test_facts_of_a_child(void **state) {
    char first[] = "TETHER_INSTANCE=8000-9500";
    char *environment[] = {first, NULL};
    char text[256], link[256];
    struct unit_child child;
    int64_t parent;
    uint32_t user;
    (void)state;
    struct os_identity cat = start_cat(&child, environment);
    assert_int_equal(os_process_command(&cat, text, sizeof text), 0);
    assert_string_equal(text, "cat -");
    assert_int_equal(os_process_executable(&cat, text, sizeof text), 0);
    assert_non_null(realpath("/bin/cat", link));
    assert_string_equal(text, link);
    assert_int_equal(os_process_parent(&cat, &parent), 0);
    assert_int_equal(parent, getpid());
    assert_int_equal(os_process_user(&cat, &user), 0);
    assert_int_equal(user, geteuid());
    assert_int_equal(user, os_user_self());
    assert_int_equal(os_same_namespace(cat.pid), OS_YES);
    kill(child.pid, SIGKILL);
    unit_child_await_zombie(&child);
    assert_int_equal(os_process_command(&cat, text, sizeof text), 0);
    assert_string_equal(text, "[cat]");
    assert_int_equal(unit_child_collect(&child), -SIGKILL);
    assert_int_equal(os_process_command(&cat, text, sizeof text), -ESRCH);
    assert_int_equal(os_process_executable(&cat, text, sizeof text), -ESRCH);
    assert_string_equal(text, "");
    assert_int_equal(os_process_parent(&cat, &parent), -ESRCH);
    assert_int_equal(os_process_user(&cat, &user), -ESRCH);
    assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", text, sizeof text), -ESRCH);
}

static void test_facts_of_a_wrong_start(void **state) {
    struct os_identity self;
    char text[64];
    int64_t parent;
    uint32_t user;
    (void)state;
    assert_int_equal(os_identity_self(&self), 0);
    self.start++;
    assert_int_equal(os_process_command(&self, text, sizeof text), -ESRCH);
    assert_int_equal(os_process_executable(&self, text, sizeof text), -ESRCH);
    assert_int_equal(os_process_variable(&self, "PATH", text, sizeof text), -ESRCH);
    assert_int_equal(os_process_parent(&self, &parent), -ESRCH);
    assert_int_equal(os_process_user(&self, &user), -ESRCH);
    self.start = 0;
    assert_int_equal(os_process_user(&self, &user), 0);
}

static void test_variable_only_where_an_entry_begins(void **state) {
    char inside[] = "DECOY=TETHER_INSTANCE=decoy";
    char before[] = "XTETHER_INSTANCE=before";
    char longer[] = "TETHER_INSTANCES=longer";
    char shorter[] = "TETHER_INSTANC=shorter";
    char no_sign[] = "TETHER_INSTANCE";
    char nothing[] = "";
    char real[] = "TETHER_INSTANCE=8000-9500";
    char second[] = "TETHER_INSTANCE=second";
    char blank[] = "BLANK=";
    char equal[] = "EQUAL=a=b=";
    char *environment[] = {inside, before, longer, shorter, no_sign, nothing,
                           real,   second, blank,  equal,   NULL};
    char text[64];
    struct unit_child child;
    (void)state;
    struct os_identity cat = start_cat(&child, environment);
    assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", text, sizeof text), 0);
    assert_string_equal(text, "8000-9500");
    assert_int_equal(os_process_variable(&cat, "BLANK", text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(os_process_variable(&cat, "EQUAL", text, sizeof text), 0);
    assert_string_equal(text, "a=b=");
    assert_int_equal(os_process_variable(&cat, "ABSENT", text, sizeof text), -ENOENT);
    assert_int_equal(os_process_variable(&cat, "", text, sizeof text), -EINVAL);
    assert_int_equal(os_process_variable(&cat, "A=B", text, sizeof text), -EINVAL);
    /* "8000-9500" and its end take ten. */
    assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", text, 10), 0);
    assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", text, 9), -ENOBUFS);
    assert_string_equal(text, "");
    assert_int_equal(unit_child_finish(&child), 0);
}

/* The variable straddles the pieces in which a large environment is read. */
static void test_variable_in_a_large_environment(void **state) {
    static char filler[100000], value[100];
    char real[] = "TETHER_INSTANCE=found";
    char *environment[] = {filler, real, NULL};
    struct unit_child child;
    (void)state;
    for (size_t length = 4096 - 30; length <= 4096; length += 3) {
        memset(filler, 'x', length);
        memcpy(filler, "F=", 2);
        filler[length] = '\0';
        struct os_identity cat = start_cat(&child, environment);
        assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", value, sizeof value), 0);
        assert_string_equal(value, "found");
        assert_int_equal(unit_child_finish(&child), 0);
    }
    memset(filler, 'y', sizeof filler - 1);
    struct os_identity cat = start_cat(&child, environment);
    assert_int_equal(os_process_variable(&cat, "TETHER_INSTANCE", value, sizeof value), 0);
    assert_string_equal(value, "found");
    assert_int_equal(unit_child_finish(&child), 0);
}

struct seen {
    pid_t wanted[2];
    int wanted_count, other_count, stop_after;
};

static bool note(const struct os_identity *identity, void *arg) {
    struct seen *seen = arg;
    if (identity->pid == seen->wanted[0] || identity->pid == seen->wanted[1])
        seen->wanted_count++;
    else
        seen->other_count++;
    return seen->wanted_count + seen->other_count != seen->stop_after;
}

/* C3 */
static void test_processes_of_an_instance(void **state) {
    char value[48], ours[80], similar[80];
    struct unit_child a, b, c, zombie;
    struct seen seen = {0};
    (void)state;
    snprintf(value, sizeof value, "unit-%d", (int)getpid());
    snprintf(ours, sizeof ours, "TETHER_INSTANCE=%s", value);
    snprintf(similar, sizeof similar, "TETHER_INSTANCE=%sx", value);
    char *with[] = {ours, NULL};
    char *without[] = {similar, NULL};
    start_cat(&a, with);
    start_cat(&b, with);
    start_cat(&c, without);
    start_cat(&zombie, with);
    kill(zombie.pid, SIGKILL);
    unit_child_await_zombie(&zombie);
    seen.wanted[0] = a.pid;
    seen.wanted[1] = b.pid;
    assert_int_equal(os_process_each("TETHER_INSTANCE", value, note, &seen), 0);
    assert_int_equal(seen.wanted_count, 2);
    assert_int_equal(seen.other_count, 0);
    seen.wanted_count = 0;
    seen.stop_after = 1;
    assert_int_equal(os_process_each("TETHER_INSTANCE", value, note, &seen), 0);
    assert_int_equal(seen.wanted_count, 1);
    assert_int_equal(os_process_each("TETHER=X", value, note, &seen), -EINVAL);
    assert_int_equal(unit_child_finish(&a), 0);
    assert_int_equal(unit_child_finish(&b), 0);
    assert_int_equal(unit_child_finish(&c), 0);
    assert_int_equal(unit_child_collect(&zombie), -SIGKILL);
}

static int body_exec_as_nobody(const struct unit_line *line, void *arg) {
    if (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0)
        return 96;
    return unit_body_exec(line, arg);
}

static void test_processes_of_another_user_are_passed_over(void **state) {
    char value[48], ours[80];
    struct unit_child foreign;
    struct seen seen = {0};
    struct os_identity identity = {0};
    char text[64];
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    snprintf(value, sizeof value, "unit-%d", (int)getpid());
    snprintf(ours, sizeof ours, "TETHER_INSTANCE=%s", value);
    char *with[] = {ours, NULL};
    unit_child_start(&foreign, body_exec_as_nobody, with);
    unit_child_await_exec(&foreign);
    /* Where its variables can be read, it is the user that tells. */
    identity.pid = foreign.pid;
    assert_int_equal(os_process_variable(&identity, "TETHER_INSTANCE", text, sizeof text),
                     unit_may_look_into_others() ? 0 : -EACCES);
    assert_int_equal(os_process_each("TETHER_INSTANCE", value, note, &seen), 0);
    assert_int_equal(seen.wanted_count + seen.other_count, 0);
    assert_int_equal(unit_child_finish(&foreign), 0);
}

/* As an ordinary user: what belongs to others is refused, not invented. */
static int body_ask_about(const struct unit_line *line, void *arg) {
    struct os_identity other = {.pid = *(pid_t *)arg};
    char text[64];
    uint32_t user;
    (void)line;
    CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(os_process_executable(&other, text, sizeof text) == -EACCES);
    CHILD_CHECK(os_process_variable(&other, "PATH", text, sizeof text) == -EACCES);
    CHILD_CHECK(os_process_user(&other, &user) == 0 && user == 0);
    CHILD_CHECK(os_process_command(&other, text, sizeof text) == 0);
    return 0;
}

static void test_facts_of_another_user(void **state) {
    pid_t self = getpid();
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root to become another user");
    unit_run_child(body_ask_about, &self);
}

static int body_new_namespace(const struct unit_line *line, void *arg) {
    int status;
    if (geteuid() != 0 && !unit_enter_user_namespace())
        return unit_child_skip(line, "user namespace");
    if (unshare(CLONE_NEWPID) < 0)
        return unit_child_skip(line, "pid namespace");
    pid_t init = fork();
    if (init == 0) {
        unit_wait_for_test(line);
        _exit(0);
    }
    enum os_answer answer = os_same_namespace(init);
    kill(init, SIGKILL);
    CHILD_CHECK(waitpid(init, &status, 0) == init);
    CHILD_CHECK(answer == OS_NO);
    (void)arg;
    return 0;
}

static void test_other_namespace(void **state) {
    (void)state;
    assert_int_equal(os_same_namespace(getpid()), OS_YES);
    unit_run_child(body_new_namespace, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_printable_text),
        UNIT_TEST(test_facts_of_a_child),
        UNIT_TEST(test_facts_of_a_wrong_start),
        UNIT_TEST(test_variable_only_where_an_entry_begins),
        UNIT_TEST(test_variable_in_a_large_environment),
        UNIT_TEST(test_processes_of_an_instance),
        UNIT_TEST(test_processes_of_another_user_are_passed_over),
        UNIT_TEST(test_facts_of_another_user),
        UNIT_TEST(test_other_namespace),
    };
    return cmocka_run_group_tests_name("os facts", tests, NULL, NULL);
}
