/* Starting another program, with handles for it and without a loop. */
#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "os_unit.h"

struct shell {
    char script[512];
    char *words[4];
    char *environment[2];
    struct os_spawn_spec spec;
};

static void shell_prepare(struct shell *shell, os_handle output) {
    static char sh[] = "sh", c[] = "-c", colour[] = "COLOUR=teal";
    *shell = (struct shell){.words = {sh, c, shell->script, NULL}, .environment = {colour, NULL}};
    shell->spec = (struct os_spawn_spec){.path = "/bin/sh",
                                         .words = shell->words,
                                         .environment = shell->environment,
                                         .output = output};
}

static void read_all(os_handle from, char *out, size_t size) {
    size_t used = 0;
    int64_t count;
    while ((count = os_read(from, out + used, size - 1 - used)) > 0)
        used += (size_t)count;
    assert_int_equal(count, 0);
    out[used] = 0;
}

static void test_words_environment_and_output(void **state) {
    struct shell shell;
    struct os_child child;
    os_handle reading, writing;
    char said[512];
    (void)state;
    assert_int_equal(os_pipe(&reading, &writing), 0);
    shell_prepare(&shell, writing);
    snprintf(shell.script, sizeof shell.script,
             "read -r line || echo \"$COLOUR, no input, $(readlink /proc/$$/fd/0)\"");
    assert_int_equal(os_spawn(&child, &shell.spec), 0);
    os_handle_close(&writing);
    read_all(reading, said, sizeof said);
    os_child_finish(&child, false);
    os_handle_close(&reading);
    assert_string_equal(said, "teal, no input, /dev/null\n");
}

/* The number is the same here and there, and nothing else is passed on. */
static void test_handles_are_handed_down(void **state) {
    struct shell shell;
    struct os_child child;
    os_handle reading, writing, handed, hidden;
    char said[512];
    (void)state;
    assert_int_equal(os_pipe(&reading, &writing), 0);
    handed = fcntl((int)writing, F_DUPFD_CLOEXEC, 5);
    hidden = fcntl((int)writing, F_DUPFD_CLOEXEC, 7);
    shell_prepare(&shell, OS_NO_HANDLE);
    shell.spec.handed = &handed;
    shell.spec.handed_count = 1;
    snprintf(shell.script, sizeof shell.script,
             "echo lost; ls -l /proc/$$/fd/%d >&%d 2>&1 || echo here >&%d", (int)hidden,
             (int)handed, (int)handed);
    assert_int_equal(os_spawn(&child, &shell.spec), 0);
    os_handle_close(&writing);
    os_handle_close(&handed);
    os_handle_close(&hidden);
    read_all(reading, said, sizeof said);
    os_child_finish(&child, false);
    os_handle_close(&reading);
    assert_non_null(strstr(said, "here\n"));
    assert_null(strstr(said, "lost"));
}

static void test_detached_has_a_session_of_its_own(void **state) {
    struct shell shell;
    struct os_child child;
    (void)state;
    for (int detached = 0; detached < 2; detached++) {
        shell_prepare(&shell, OS_NO_HANDLE);
        shell.spec.detached = detached;
        snprintf(shell.script, sizeof shell.script, "sleep 60");
        assert_int_equal(os_spawn(&child, &shell.spec), 0);
        assert_true(detached == (getsid((pid_t)child.pid) == (pid_t)child.pid));
        os_child_finish(&child, true);
    }
}

static void test_what_cannot_be_started(void **state) {
    struct shell shell;
    struct os_child child;
    (void)state;
    shell_prepare(&shell, OS_NO_HANDLE);
    shell.spec.path = "/nowhere/to/be/found";
    assert_int_equal(os_spawn(&child, &shell.spec), UV_ENOENT);
    assert_int_equal(child.pid, 0);
    os_child_finish(&child, true); /* and nobody is killed */
}

/* A copy of a program that nobody may execute, as root would not dare to change it: another's. */
static void test_permission_that_cannot_be_given_back(void **state) {
    struct unit_dir dir;
    struct shell shell;
    struct os_child child;
    struct stat info;
    os_handle reading, writing;
    char path[80], command[512], said[512];
    (void)state;
    if (geteuid() != 0)
        unit_skip("only root can have a file of another user's");
    unit_dir_init(&dir);
    snprintf(path, sizeof path, "%s/sh", dir.path);
    snprintf(command, sizeof command, "cp /bin/sh %s && chmod 644 %s && chown 1 %s", path, path,
             path);
    assert_int_equal(system(command), 0);
    assert_int_equal(os_pipe(&reading, &writing), 0);
    shell_prepare(&shell, writing);
    shell.spec.path = path;
    snprintf(shell.script, sizeof shell.script,
             "echo \"$COLOUR\"; readlink /proc/$$/fd/* | grep -c memfd");
    assert_int_equal(os_spawn(&child, &shell.spec), 0);
    os_handle_close(&writing);
    read_all(reading, said, sizeof said);
    os_child_finish(&child, false);
    os_handle_close(&reading);
    assert_string_equal(said, "teal\n0\n"); /* and the copy is not open in it */
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0644);
    unit_dir_finish(&dir);
}

static int body_keep(const struct unit_line *line, void *arg) {
    const os_handle kept[] = {40, 44};
    (void)line;
    (void)arg;
    for (int fd = 38; fd < 48; fd++)
        CHILD_CHECK(dup2(2, fd) == fd);
    os_handles_keep(kept, 2);
    for (int fd = 3; fd < 100; fd++)
        CHILD_CHECK((fcntl(fd, F_GETFD) >= 0) == (fd == 40 || fd == 44));
    return 0;
}

static void test_only_some_are_kept(void **state) {
    (void)state;
    unit_run_child(body_keep, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_words_environment_and_output),
        UNIT_TEST(test_handles_are_handed_down),
        UNIT_TEST(test_detached_has_a_session_of_its_own),
        UNIT_TEST(test_what_cannot_be_started),
        UNIT_TEST(test_permission_that_cannot_be_given_back),
        UNIT_TEST(test_only_some_are_kept),
    };
    return cmocka_run_group_tests_name("os spawn", tests, NULL, NULL);
}
