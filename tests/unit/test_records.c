/* What an instance leaves on disk, and what of it is cleaned away by the next start. */
#include "daemon/records.h"

#include <inttypes.h>

#include "os_unit.h"
#include "protocol/message.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

struct place {
    struct unit_dir root;
    struct os_dir dir;
};

static void place_init(struct place *place) {
    char path[128];
    unit_dir_init(&place->root);
    snprintf(path, sizeof path, "%s/tether/8000-9500", place->root.path);
    assert_int_equal(os_dir_open(&place->dir, path, true, NULL), 0);
}

static void place_finish(struct place *place) {
    os_dir_finish(&place->dir);
    unit_dir_finish(&place->root);
}

/* The path of an entry of sessions/, or of the directory itself for NULL. */
static void entry_path(const struct place *place, const char *name, char out[512]) {
    snprintf(out, 512, "%.200s/sessions/%.255s", place->dir.path, name ? name : "");
}

static void sessions_make(const struct place *place) {
    struct os_dir sessions;
    assert_int_equal(os_dir_enter(&sessions, &place->dir, "sessions", true, NULL), 0);
    os_dir_finish(&sessions);
}

static void put(const struct place *place, const char *name, const char *text) {
    char path[512];
    int fd;
    entry_path(place, name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static bool is_there(const struct place *place, const char *name) {
    char path[512];
    struct stat st;
    entry_path(place, name, path);
    return lstat(path, &st) == 0;
}

/* The content of a session file, as the daemon writes it. */
static const char *record_of(int64_t pid, uint64_t start, char out[128]) {
    snprintf(out, 128, "{\"pid\":%" PRId64 ",\"start\":\"%" PRIu64 "\",\"role\":\"editor\"}\n", pid,
             start);
    return out;
}

static void put_session(const struct place *place, int64_t pid, uint64_t start) {
    char name[40], text[128];
    snprintf(name, sizeof name, "%" PRId64 ".json", pid);
    put(place, name, record_of(pid, start, text));
}

static bool session_is_there(const struct place *place, int64_t pid) {
    char name[40];
    snprintf(name, sizeof name, "%" PRId64 ".json", pid);
    return is_there(place, name);
}

/* A process that has been and is no more. */
static struct os_identity dead_process(void) {
    struct unit_child child;
    struct os_identity identity;
    unit_child_start(&child, unit_body_wait, NULL);
    assert_int_equal(os_identity_of(child.pid, &identity), 0);
    assert_int_equal(unit_child_finish(&child), 0);
    assert_int_equal(os_liveness(&identity), OS_DEAD);
    return identity;
}

static unsigned clean(const struct place *place) {
    return records_clean(&place->dir, NULL, NULL);
}

/* ---- session files: whose process lives, and whose does not ---- */

/* C1 */
static void test_dead_go_and_living_stay(void **state) {
    struct place place;
    struct unit_child living, zombie;
    struct os_identity identity, dead = dead_process(), self;
    (void)state;
    place_init(&place);
    sessions_make(&place);
    unit_child_start(&living, unit_body_wait, NULL);
    unit_child_start(&zombie, unit_body_exit, NULL);
    assert_int_equal(os_identity_of(zombie.pid, &identity), 0);
    unit_child_await_zombie(&zombie);
    put_session(&place, identity.pid, identity.start);
    assert_int_equal(os_identity_of(living.pid, &identity), 0);
    put_session(&place, identity.pid, identity.start);
    assert_int_equal(os_identity_self(&self), 0);
    put_session(&place, self.pid, self.start);
    put_session(&place, dead.pid, dead.start);
    assert_int_equal(clean(&place), 2);
    assert_false(session_is_there(&place, dead.pid));
    assert_false(session_is_there(&place, zombie.pid));
    assert_true(session_is_there(&place, living.pid));
    assert_true(session_is_there(&place, self.pid));
    assert_int_equal(clean(&place), 0); /* C2: and nothing the second time */
    unit_child_kill(&living);
    unit_child_collect(&zombie);
    assert_int_equal(clean(&place), 1);
    assert_false(session_is_there(&place, living.pid));
    place_finish(&place);
}

/* C1, A8: the pid lives on, but as another process. */
static void test_a_recycled_pid_is_dead(void **state) {
    struct place place;
    struct os_identity self;
    (void)state;
    place_init(&place);
    sessions_make(&place);
    assert_int_equal(os_identity_self(&self), 0);
    put_session(&place, self.pid, self.start - 1);
    assert_int_equal(clean(&place), 1);
    assert_false(session_is_there(&place, self.pid));
    place_finish(&place);
}

/* Where nothing tells when a process started, a living pid may be anybody's. */
static int body_hidden(const struct unit_line *line, void *arg) {
    const struct os_identity *dead = arg;
    struct place place;
    if (!unit_private_mounts())
        return unit_child_skip(line, "a mount of its own");
    place_init(&place);
    sessions_make(&place);
    put_session(&place, getpid(), 1);
    put_session(&place, dead->pid, dead->start);
    CHILD_CHECK(mount("none", "/proc", "tmpfs", 0, "") == 0);
    CHILD_CHECK(clean(&place) == 1);
    CHILD_CHECK(session_is_there(&place, getpid()) && !session_is_there(&place, dead->pid));
    place_finish(&place);
    return 0;
}

/* C1, A8 */
static void test_unknown_stays(void **state) {
    struct os_identity dead = dead_process();
    (void)state;
    unit_run_child(body_hidden, &dead);
}

/* ---- session files: what is none ---- */

/* C1: a name that is not a pid as we write it is somebody else's file. */
static void test_other_names_stay(void **state) {
    struct os_identity dead = dead_process();
    char names[24][64], text[128];
    static const char *const formats[] = {
        "0%s.json",  "+%s.json",         "-%s.json",    " %s.json",  "%s",
        "%s.",       "%s.jso",           "%s.json.bak", "%s.json~",  "%s.JSON",
        ".%s.json",  "x%s.json",         "%s .json",    "%s.0.json", "%sx.json",
        "%s.json\n", "99999%s99999.json"};
    static const char *const fixed[] = {".json", "0.json", "-1.json", "notes.txt", "latest.json"};
    char pid[24];
    struct place place;
    size_t count = 0;
    (void)state;
    place_init(&place);
    sessions_make(&place);
    os_pid_format(pid, dead.pid);
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *hole = strchr(formats[i], '%');
        snprintf(names[count++], 64, "%.*s%s%s", (int)(hole - formats[i]), formats[i], pid,
                 hole + 2);
    }
    for (size_t i = 0; i < COUNT(fixed); i++)
        snprintf(names[count++], 64, "%s", fixed[i]);
    for (size_t i = 0; i < count; i++)
        put(&place, names[i], record_of(dead.pid, dead.start, text));
    assert_int_equal(clean(&place), 0);
    for (size_t i = 0; i < count; i++)
        if (!is_there(&place, names[i]))
            fail_msg("'%s' was removed", names[i]);
    place_finish(&place);
}

/* C1: what does not tell for sure who it is about stays. */
static void test_unusable_content_stays(void **state) {
    static const char *const formats[] = {
        "",
        "{}",
        "[]",
        "no JSON",
        "{\"pid\":P,\"start\":\"S\"",
        "{\"pid\":P,\"start\":\"S\"} x",
        "{\"pid\":P,\"pid\":P,\"start\":\"S\"}",
        "{\"pid\":P}",
        "{\"pid\":P,\"start\":S}",
        "{\"pid\":P,\"start\":\"\"}",
        "{\"pid\":P,\"start\":\"0\"}",
        "{\"pid\":P,\"start\":\"0S\"}",
        "{\"pid\":P,\"start\":\"S \"}",
        "{\"pid\":P,\"start\":\"SSSSSSSSSSSSSSSSSSSSSSSSSS\"}",
        "{\"pid\":\"P\",\"start\":\"S\"}",
        "{\"pid\":P.0,\"start\":\"S\"}",
        "{\"pid\":-P,\"start\":\"S\"}",
        "{\"pid\":0,\"start\":\"S\"}",
        "{\"start\":\"S\"}",
        /* another process than the name says, dead as well */
        "{\"pid\":1P,\"start\":\"S\"}",
        "{\"session\":{\"pid\":P,\"start\":\"S\"}}",
    };
    struct os_identity dead = dead_process();
    struct place place;
    char pid[24], start[24];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    os_pid_format(pid, dead.pid);
    os_start_format(start, dead.start);
    for (size_t i = 0; i < COUNT(formats); i++) {
        char text[512] = "", name[40], path[512];
        for (const char *c = formats[i]; *c; c++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s",
                     *c == 'P' || *c == 'S' ? 24 : 1,
                     *c == 'P'   ? pid
                     : *c == 'S' ? start
                                 : c);
        snprintf(name, sizeof name, "%s.json", pid);
        put(&place, name, text);
        assert_int_equal(clean(&place), 0);
        if (!is_there(&place, name))
            fail_msg("%s was removed", text);
        entry_path(&place, name, path);
        assert_int_equal(unlink(path), 0);
    }
    put_session(&place, dead.pid, dead.start); /* so that the rows above had a chance */
    assert_int_equal(clean(&place), 1);
    place_finish(&place);
}

/* C1: the living process and the dead one of this row change places. */
static void test_name_and_content_disagree(void **state) {
    struct os_identity dead = dead_process(), self;
    struct place place;
    char name[40], text[128];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    assert_int_equal(os_identity_self(&self), 0);
    snprintf(name, sizeof name, "%" PRId64 ".json", self.pid);
    put(&place, name, record_of(dead.pid, dead.start, text));
    snprintf(name, sizeof name, "%" PRId64 ".json", dead.pid);
    put(&place, name, record_of(self.pid, self.start, text));
    assert_int_equal(clean(&place), 0);
    assert_true(session_is_there(&place, self.pid));
    assert_true(session_is_there(&place, dead.pid));
    place_finish(&place);
}

/* C1: names of dead processes on what is no file. */
static void test_what_is_no_file_stays(void **state) {
    struct os_identity dead[4];
    struct place place;
    char path[512], target[512], name[40], text[128];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    for (size_t i = 0; i < COUNT(dead); i++)
        dead[i] = dead_process();
    put(&place, "target", record_of(dead[0].pid, dead[0].start, text));
    entry_path(&place, "target", target);
    for (size_t i = 0; i < COUNT(dead); i++) {
        snprintf(name, sizeof name, "%" PRId64 ".json", dead[i].pid);
        entry_path(&place, name, path);
        if (i == 0)
            assert_int_equal(symlink(target, path), 0);
        else if (i == 1)
            assert_int_equal(symlink("/nonexistent", path), 0);
        else if (i == 2)
            assert_int_equal(mkfifo(path, 0600), 0);
        else
            assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(clean(&place), 0);
    for (size_t i = 0; i < COUNT(dead); i++)
        assert_true(session_is_there(&place, dead[i].pid));
    assert_true(is_there(&place, "target"));
    place_finish(&place);
}

static void test_huge_file_stays(void **state) {
    struct os_identity dead = dead_process();
    struct place place;
    char path[512], name[40];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    put_session(&place, dead.pid, dead.start);
    snprintf(name, sizeof name, "%" PRId64 ".json", dead.pid);
    entry_path(&place, name, path);
    assert_int_equal(truncate(path, 1 << 30), 0);
    assert_int_equal(clean(&place), 0);
    assert_true(session_is_there(&place, dead.pid));
    place_finish(&place);
}

/* As a user whom modes stop. */
static int body_unreadable(const struct unit_line *line, void *arg) {
    const struct os_identity *dead = arg;
    struct place place;
    char path[512], name[40];
    unsigned removed;
    if (geteuid() == 0 && (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0))
        return unit_child_skip(line, "cannot become nobody");
    place_init(&place);
    sessions_make(&place);
    put_session(&place, dead->pid, dead->start);
    snprintf(name, sizeof name, "%" PRId64 ".json", dead->pid);
    entry_path(&place, name, path);
    CHILD_CHECK(chmod(path, 0) == 0);
    removed = clean(&place);
    CHILD_CHECK(removed == 0 && session_is_there(&place, dead->pid));
    CHILD_CHECK(chmod(path, 0600) == 0);
    entry_path(&place, NULL, path);
    CHILD_CHECK(chmod(path, 0500) == 0);
    removed = clean(&place); /* it may not, and counts nothing */
    CHILD_CHECK(chmod(path, 0700) == 0);
    CHILD_CHECK(removed == 0 && session_is_there(&place, dead->pid));
    place_finish(&place);
    return 0;
}

/* C1 */
static void test_unreadable_stays(void **state) {
    struct os_identity dead = dead_process();
    (void)state;
    unit_run_child(body_unreadable, &dead);
}

/* ---- the directory ---- */

/* C1 */
static void test_missing_or_empty_directory(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    assert_int_equal(clean(&place), 0);
    assert_false(is_there(&place, NULL));
    sessions_make(&place);
    assert_int_equal(clean(&place), 0);
    assert_true(is_there(&place, NULL));
    place_finish(&place);
}

/* A directory that others could write to, or that is elsewhere, is not touched. */
static void test_foreign_directory_is_left_alone(void **state) {
    struct os_identity dead = dead_process();
    struct place place;
    char path[512], moved[160];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    put_session(&place, dead.pid, dead.start);
    entry_path(&place, NULL, path);
    path[strlen(path) - 1] = 0;
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(clean(&place), 0);
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(moved, sizeof moved, "%s/moved", place.root.path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(clean(&place), 0);
    assert_true(session_is_there(&place, dead.pid));
    place_finish(&place);
}

/* What a writer that was killed left goes at both levels; names that only look like it stay. */
static void test_temporary_files_go(void **state) {
    static const char *const temporary[] = {".4711.json.0123abcd.tmp", ".a.00000000.tmp"};
    static const char *const others[] = {"4711.json.0123abcd.tmp", ".4711.json.0123ABCD.tmp",
                                         ".4711.json.123abcd.tmp", ".4711.json.tmp",
                                         ".0123abcd.tmp"};
    struct place place;
    struct stat st;
    char path[256];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    for (size_t i = 0; i < COUNT(temporary); i++)
        put(&place, temporary[i], "half");
    for (size_t i = 0; i < COUNT(others); i++)
        put(&place, others[i], "whole");
    put(&place, "../.state.json.0123abcd.tmp", "half");
    put(&place, "../state.json", "{}");
    put(&place, "../4711.json", "{\"pid\":4711,\"start\":\"1\"}"); /* no session here */
    assert_int_equal(clean(&place), 3);
    for (size_t i = 0; i < COUNT(temporary); i++)
        assert_false(is_there(&place, temporary[i]));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_true(is_there(&place, others[i]));
    snprintf(path, sizeof path, "%.200s/state.json", place.dir.path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(is_there(&place, "../4711.json"));
    place_finish(&place);
}

struct told {
    char names[32768];
    unsigned count;
};

static void tell(const char *name, void *context) {
    struct told *told = context;
    size_t used = strlen(told->names);
    snprintf(told->names + used, sizeof told->names - used, "%s ", name);
    told->count++;
}

/* C1: a thousand at once, and each that goes is told. */
static void test_many(void **state) {
    enum { MANY = 1000 };
    static struct told told;
    struct os_identity self;
    struct place place;
    char name[40];
    (void)state;
    place_init(&place);
    sessions_make(&place);
    assert_int_equal(os_identity_self(&self), 0);
    put_session(&place, self.pid, self.start);
    for (int64_t pid = INT32_MAX; pid > INT32_MAX - MANY; pid--) /* higher than pids go */
        put_session(&place, pid, 1);
    told = (struct told){0};
    assert_int_equal(records_clean(&place.dir, tell, &told), MANY);
    assert_int_equal(told.count, MANY);
    for (int64_t pid = INT32_MAX; pid > INT32_MAX - MANY; pid--) {
        snprintf(name, sizeof name, "%" PRId64 ".json ", pid);
        assert_non_null(strstr(told.names, name));
        assert_false(session_is_there(&place, pid));
    }
    assert_true(session_is_there(&place, self.pid));
    place_finish(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_dead_go_and_living_stay),
        UNIT_TEST(test_a_recycled_pid_is_dead),
        UNIT_TEST(test_unknown_stays),
        UNIT_TEST(test_other_names_stay),
        UNIT_TEST(test_unusable_content_stays),
        UNIT_TEST(test_name_and_content_disagree),
        UNIT_TEST(test_what_is_no_file_stays),
        UNIT_TEST(test_huge_file_stays),
        UNIT_TEST(test_unreadable_stays),
        UNIT_TEST(test_missing_or_empty_directory),
        UNIT_TEST(test_foreign_directory_is_left_alone),
        UNIT_TEST(test_temporary_files_go),
        UNIT_TEST(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
