/* The files of a log: their generations, reading them back, and what happens without them. */
#include "log_unit.h"

enum { NUMBERED = 40 }; /* how long a numbered line is, with its newline */

static void write_numbered(struct place *place, long from, long to) {
    char text[100 * NUMBERED + 1];
    for (long number = from; number < to;) {
        size_t used = 0;
        for (; number < to && used + NUMBERED < sizeof text; number++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%0*ld\n", NUMBERED - 1, number);
        log_server_output(&place->log, LOG_STDOUT, text, used);
        forget_heard(place);
    }
}

/* Checks that the file has whole numbered lines, each one after the other; returns the first, and
 * the one after the last. */
static void read_numbered(const struct place *place, const char *name, long *first, long *after) {
    char *text = file_text(place, name), *at = text;
    *first = -1;
    while (*at) {
        char *end = strchr(at, '\n'), *rest;
        assert_non_null(end);
        assert_int_equal(end - at, STAMP_LENGTH + strlen("stdout ") + NUMBERED - 1);
        long number = strtol(at + STAMP_LENGTH + strlen("stdout "), &rest, 10);
        assert_ptr_equal(rest, end);
        if (*first < 0)
            *first = number;
        else
            assert_int_equal(number, *after);
        *after = number + 1;
        at = end + 1;
    }
    free(text);
}

static unsigned count_entries(const struct place *place) {
    unsigned count = 0;
    DIR *dir = opendir(place->dir.path);
    const struct dirent *entry;
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* ---- generations ---- */

/* Three generations of 1 MiB, and not a byte more, whatever is written. */
static void test_rotation(void **state) {
    static const char *const names[] = {"server.log.2", "server.log.1", "server.log"};
    enum { LINES = 70000 }; /* about 5 MiB */
    struct place place;
    long first, after = 0, expected = -1;
    (void)state;
    place_init(&place);
    log_say(&place.log, "mine");
    write_numbered(&place, 0, LINES);
    for (size_t i = 0; i < COUNT(names); i++) {
        int64_t size = file_size(&place, names[i]);
        assert_true(size > 0 && size <= (int64_t)LOG_FILE_SIZE);
        if (i < 2) /* full but for a batch */
            assert_true(size > (int64_t)LOG_FILE_SIZE - 64 * 1024);
        read_numbered(&place, names[i], &first, &after);
        if (i > 0)
            assert_int_equal(first, expected);
        expected = after;
    }
    assert_int_equal(after, LINES);
    assert_true(place.log.lost == 0);
    assert_int_equal(count_entries(&place), 4);
    assert_true(file_size(&place, "launcher.log") < 100);
    place_finish(&place);
}

/* The size is the file's, not that of what this process wrote; and one that is too large already is
 * put away first. */
static void test_rotation_after_a_restart(void **state) {
    struct place place;
    char path[256];
    (void)state;
    place_init(&place);
    file_put(&place, "server.log", "old\n");
    file_path(&place, "server.log", path);
    assert_int_equal(truncate(path, 5 * (off_t)LOG_FILE_SIZE), 0);
    output(&place, LOG_STDOUT, "new\n");
    assert_true(file_size(&place, "server.log") < 100);
    assert_int_equal(file_size(&place, "server.log.1"), 5 * (int64_t)LOG_FILE_SIZE);
    assert_int_equal(file_size(&place, "server.log.2"), -1);
    place_finish(&place);
}

/* A generation that cannot be put away does not make the log grow. */
static void test_blocked_rotation_stays_bounded(void **state) {
    struct place place;
    char path[256];
    (void)state;
    place_init(&place);
    file_path(&place, "server.log.1", path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_numbered(&place, 0, 40000);
    assert_true(file_size(&place, "server.log") <= (int64_t)LOG_FILE_SIZE);
    place_finish(&place);
}

/* ---- reading back ---- */

static void test_tail_of_nothing(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    expect_tail(&place, 0, "");
    expect_tail(&place, 5, "");
    file_put(&place, "server.log", "");
    expect_tail(&place, 5, "");
    place_finish(&place);
}

static void test_tail(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    file_put(&place, "server.log", "1\n\n3\n");
    expect_tail(&place, 0, "");
    expect_tail(&place, 1, "3\n");
    expect_tail(&place, 2, "\n3\n");
    expect_tail(&place, 3, "1\n\n3\n");
    expect_tail(&place, 4, "1\n\n3\n");
    expect_tail(&place, SIZE_MAX, "1\n\n3\n");
    file_put(&place, "server.log", "1\n2");
    expect_tail(&place, 1, "2\n");
    expect_tail(&place, 2, "1\n2\n");
    file_put(&place, "server.log", "\n");
    expect_tail(&place, 1, "\n");
    expect_tail(&place, 2, "\n");
    place_finish(&place);
}

static void test_tail_across_generations(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    file_put(&place, "server.log.2", "1\n2\n");
    file_put(&place, "server.log.1", "3\n4\n");
    file_put(&place, "server.log", "5\n");
    file_put(&place, "server.log.3", "no\n");
    file_put(&place, "launcher.log", "no\n");
    expect_tail(&place, 1, "5\n");
    expect_tail(&place, 2, "4\n5\n");
    expect_tail(&place, 4, "2\n3\n4\n5\n");
    expect_tail(&place, 99, "1\n2\n3\n4\n5\n");
    assert_int_equal(os_file_remove(&place.dir, "server.log.1"), 0);
    expect_tail(&place, 2, "2\n5\n");
    place_finish(&place);
}

/* Of full files, too, and while they are being written. */
static void test_tail_of_full_files(void **state) {
    struct place place;
    long first, after;
    (void)state;
    place_init(&place);
    write_numbered(&place, 0, 70000);
    read_numbered(&place, "server.log.2", &first, &after);
    for (size_t count = 1; count < 70000; count = count * 5 + 1) {
        struct tail tail = {0};
        size_t expected = count < (size_t)(70000 - first) ? count : (size_t)(70000 - first);
        char *end;
        assert_int_equal(log_tail(&place.dir, "server.log", count, add_tail, &tail), 0);
        assert_int_equal(tail.count, expected);
        end = tail.text + STAMP_LENGTH + strlen("stdout ");
        assert_int_equal(strtol(end, NULL, 10), 70000 - (long)expected);
        free(tail.text);
    }
    place_finish(&place);
}

/* What is not a file of ours is not read, and not waited for. */
static void test_tail_of_strange_things(void **state) {
    struct place place;
    char path[256], other[256];
    (void)state;
    place_init(&place);
    file_put(&place, "secret", "secret\n");
    file_path(&place, "secret", other);
    file_path(&place, "server.log", path);
    assert_int_equal(symlink(other, path), 0);
    expect_tail(&place, 5, "");
    output(&place, LOG_STDOUT, "not into there\n");
    assert_true(place.log.lost > 0);
    assert_int_equal(file_size(&place, "secret"), 7);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    file_put(&place, "server.log.1", "1\n");
    expect_tail(&place, 5, "1\n");
    place_finish(&place);
}

/* ---- no place to write to ---- */

/* As a user whom modes stop. What listens gets every line; only the files stay behind, and go on
 * as soon as they can. */
static int body_read_only(const struct unit_line *line, void *arg) {
    struct place place;
    char last[64];
    (void)arg;
    if (geteuid() == 0 && (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0))
        return unit_child_skip(line, "cannot become nobody");
    place_init(&place);
    CHILD_CHECK(chmod(place.dir.path, 0500) == 0);
    log_say(&place.log, "one");
    output(&place, LOG_STDERR, "two\nthree");
    CHILD_CHECK(strcmp(place.heard.text, "launcher one\nstderr two\n") == 0);
    log_last_lines(&place.log, last, sizeof last);
    CHILD_CHECK(strcmp(last, "two") == 0);
    CHILD_CHECK(place.log.lost == 2 * STAMP_LENGTH + strlen("launcher one\nstderr two\n"));
    CHILD_CHECK(count_entries(&place) == 0);
    CHILD_CHECK(chmod(place.dir.path, 0700) == 0);
    output(&place, LOG_STDERR, "\n");
    CHILD_CHECK(file_size(&place, "server.log") == STAMP_LENGTH + 13);
    place_finish(&place);
    return 0;
}

static void test_read_only_directory(void **state) {
    (void)state;
    unit_run_child(body_read_only, NULL);
}

/* Files that are open already go on; they only cannot be put away, and must not grow for that. */
static int body_read_only_later(const struct unit_line *line, void *arg) {
    struct place place;
    (void)arg;
    if (geteuid() == 0 && (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0))
        return unit_child_skip(line, "cannot become nobody");
    place_init(&place);
    write_numbered(&place, 0, 10);
    CHILD_CHECK(chmod(place.dir.path, 0500) == 0);
    write_numbered(&place, 10, 40000);
    int64_t size = file_size(&place, "server.log");
    CHILD_CHECK(chmod(place.dir.path, 0700) == 0);
    place_finish(&place);
    return size <= (int64_t)LOG_FILE_SIZE ? 0 : 1;
}

static void test_directory_becomes_read_only(void **state) {
    (void)state;
    unit_run_child(body_read_only_later, NULL);
}

/* On a file system of 64 KiB. */
static int body_full_disk(const struct unit_line *line, void *arg) {
    const char *path = arg;
    struct place place;
    if (!unit_private_mounts() || mount("tmpfs", path, "tmpfs", 0, "size=65536,mode=0700") < 0)
        return unit_child_skip(line, "cannot mount a small file system");
    place.heard = (struct heard){.text = calloc(1, 1), .capacity = 1};
    char inside[128];
    snprintf(inside, sizeof inside, "%s/tether/8000-9500", path);
    CHILD_CHECK(os_dir_open(&place.dir, inside, true, NULL) == 0);
    log_init(&place.log, &place.dir, false, hear, &place.heard);
    write_numbered(&place, 0, 5000);
    CHILD_CHECK(place.heard.count == 5000);
    CHILD_CHECK(place.log.lost > 100000);
    CHILD_CHECK(file_size(&place, "server.log") <= 65536);
    log_finish(&place.log);
    free(place.heard.text);
    os_dir_finish(&place.dir);
    return 0;
}

static void test_full_disk(void **state) {
    struct unit_dir root;
    struct unit_verdict verdict;
    (void)state;
    unit_dir_init(&root);
    verdict = unit_try_child(body_full_disk, root.path);
    unit_dir_finish(&root);
    unit_judge(&verdict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_rotation),
        UNIT_TEST(test_rotation_after_a_restart),
        UNIT_TEST(test_blocked_rotation_stays_bounded),
        UNIT_TEST(test_tail_of_nothing),
        UNIT_TEST(test_tail),
        UNIT_TEST(test_tail_across_generations),
        UNIT_TEST(test_tail_of_full_files),
        UNIT_TEST(test_tail_of_strange_things),
        UNIT_TEST(test_read_only_directory),
        UNIT_TEST(test_directory_becomes_read_only),
        UNIT_TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
