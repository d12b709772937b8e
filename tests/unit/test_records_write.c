/* Records as they are written and read back, whole or damaged. */
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

static void put_state(const struct place *place, const char *text, size_t length) {
    assert_int_equal(os_file_write(&place->dir, "state.json", text, length, NULL), 0);
}

static bool is_same(const struct os_identity *identity, int64_t pid, uint64_t start) {
    return identity->pid == pid && identity->start == start;
}

static void expect_nothing_known(const struct records_state *state) {
    assert_true(is_same(&state->daemon, 0, 0));
    assert_true(is_same(&state->guard, 0, 0));
    assert_true(is_same(&state->server, 0, 0));
}

/* ---- state.json ---- */

static void test_state_comes_back(void **state) {
    struct place place;
    struct records_state read;
    struct stat st;
    char path[160];
    (void)state;
    place_init(&place);
    assert_int_equal(
        records_write_state(&place.dir,
                            json_pack("{s:s, s:o, s:o, s:o, s:[i]}", "version", "1", "daemon",
                                      process_json(11, 12), "guard", process_json(INT32_MAX, 1),
                                      "server", process_json(31, UINT64_MAX), "new", 5),
                            NULL),
        0);
    assert_true(records_read_state(&place.dir, &read));
    assert_true(is_same(&read.daemon, 11, 12));
    assert_true(is_same(&read.guard, INT32_MAX, 1));
    assert_true(is_same(&read.server, 31, UINT64_MAX));
    snprintf(path, sizeof path, "%.120s/state.json", place.dir.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    records_remove_all(&place.dir, &(struct os_identity){11, 13}); /* another's stays */
    assert_int_equal(stat(path, &st), 0);
    records_remove_all(&place.dir, &(struct os_identity){11, 12});
    assert_int_equal(stat(path, &st), -1);
    records_remove_all(&place.dir, &(struct os_identity){11, 12});
    place_finish(&place);
}

static void test_no_state(void **state) {
    struct place place;
    struct records_state read = {.daemon = {1, 2}, .guard = {3, 4}, .server = {5, 6}};
    (void)state;
    place_init(&place);
    assert_false(records_read_state(&place.dir, &read));
    expect_nothing_known(&read);
    place_finish(&place);
}

static void test_state_that_cannot_be_written(void **state) {
    struct place place;
    struct error err = {0};
    char path[160];
    (void)state;
    place_init(&place);
    snprintf(path, sizeof path, "%.120s/state.json", place.dir.path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(records_write_state(&place.dir, json_object(), &err) < 0);
    assert_non_null(strstr(err.message, path));
    err = (struct error){0};
    assert_true(records_write_state(&place.dir, NULL, &err) < 0);
    assert_int_not_equal(err.message[0], 0);
    place_finish(&place);
}

/* Half an identity could be somebody else's: it is none. The others are still known. */
static void test_unusable_identities(void **state) {
    static const char *const rows[] = {
        "null",
        "5",
        "[]",
        "{}",
        "{\"pid\":5}",
        "{\"start\":\"6\"}",
        "{\"pid\":5,\"start\":6}",
        "{\"pid\":5,\"start\":\"\"}",
        "{\"pid\":5,\"start\":\"0\"}",
        "{\"pid\":5,\"start\":\"-6\"}",
        "{\"pid\":5,\"start\":\"6x\"}",
        "{\"pid\":5,\"start\":\"18446744073709551616\"}",
        "{\"pid\":0,\"start\":\"6\"}",
        "{\"pid\":-5,\"start\":\"6\"}",
        "{\"pid\":\"5\",\"start\":\"6\"}",
        "{\"pid\":5.0,\"start\":\"6\"}",
    };
    struct place place;
    (void)state;
    place_init(&place);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct records_state read;
        char text[256];
        int length = snprintf(text, sizeof text,
                              "{\"daemon\":{\"pid\":1,\"start\":\"2\"},\"guard\":%s,"
                              "\"server\":{\"pid\":3,\"start\":\"4\"}}",
                              rows[i]);
        put_state(&place, text, (size_t)length);
        assert_true(records_read_state(&place.dir, &read));
        assert_true(is_same(&read.daemon, 1, 2));
        assert_true(is_same(&read.server, 3, 4));
        if (!is_same(&read.guard, 0, 0))
            fail_msg("%s is taken for process %" PRId64, rows[i], read.guard.pid);
    }
    place_finish(&place);
}

static const char whole[] = "{\"version\":\"0.1.0\",\"daemon\":{\"pid\":4711,\"start\":\"123456\"},"
                            "\"guard\":{\"pid\":4712,\"start\":\"123457\"},"
                            "\"server\":{\"pid\":4713,\"start\":\"123458\"},\"reason\":null}";

/* A file that was cut anywhere is not half known. */
static void test_cut_state(void **state) {
    struct place place;
    struct records_state read;
    (void)state;
    place_init(&place);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        put_state(&place, whole, length);
        assert_false(records_read_state(&place.dir, &read));
        expect_nothing_known(&read);
    }
    put_state(&place, whole, sizeof whole - 1);
    assert_true(records_read_state(&place.dir, &read));
    assert_true(is_same(&read.server, 4713, 123458));
    place_finish(&place);
}

/* Any byte may be one that does not belong there: a process is known whole or not at all. */
static void test_damaged_state(void **state) {
    static const char wrong[] = {'"', '{', '}', ',', '-', 'x', (char)0xff};
    struct place place;
    (void)state;
    place_init(&place);
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (size_t i = 0; i < sizeof wrong; i++) {
            char text[sizeof whole];
            struct records_state read;
            memcpy(text, whole, sizeof whole);
            text[at] = wrong[i];
            put_state(&place, text, sizeof whole - 1);
            if (!records_read_state(&place.dir, &read))
                expect_nothing_known(&read);
            const struct os_identity *known[] = {&read.daemon, &read.guard, &read.server};
            for (size_t k = 0; k < COUNT(known); k++)
                if (!is_same(known[k], 0, 0) && !is_same(known[k], 4711 + (int64_t)k, 123456 + k))
                    fail_msg("of %s process %" PRId64 ":%" PRIu64 " is known", text, known[k]->pid,
                             known[k]->start);
        }
    place_finish(&place);
}

static void test_strange_states(void **state) {
    static const char *const rows[] = {"", "[]", "null", "[{\"daemon\":{}}]", "\xff\xfe"};
    static char large[70000];
    struct place place;
    struct records_state read;
    char path[160];
    (void)state;
    place_init(&place);
    for (size_t i = 0; i < COUNT(rows); i++) {
        put_state(&place, rows[i], strlen(rows[i]));
        assert_false(records_read_state(&place.dir, &read));
        expect_nothing_known(&read);
    }
    memset(large, ' ', sizeof large);
    memcpy(large, whole, sizeof whole - 1);
    put_state(&place, large, sizeof large);
    assert_false(records_read_state(&place.dir, &read));
    put_state(&place, large, 60000);
    assert_true(records_read_state(&place.dir, &read));
    assert_int_equal(os_file_write(&place.dir, "other", whole, sizeof whole - 1, NULL), 0);
    assert_int_equal(os_file_remove(&place.dir, "state.json"), 0);
    snprintf(path, sizeof path, "%.120s/state.json", place.dir.path);
    assert_int_equal(symlink("other", path), 0);
    assert_false(records_read_state(&place.dir, &read));
    expect_nothing_known(&read);
    place_finish(&place);
}

/* ---- sessions/<pid>.json ---- */

/* The file of our own session, read back as JSON; NULL if it is not there. */
static json_t *read_session(const struct place *place, int64_t pid) {
    struct os_dir sessions;
    char name[40], text[1024];
    size_t length;
    int rc;
    assert_int_equal(os_dir_enter(&sessions, &place->dir, "sessions", false, NULL), 0);
    snprintf(name, sizeof name, "%" PRId64 ".json", pid);
    rc = os_file_read(&sessions, name, text, sizeof text, &length);
    os_dir_finish(&sessions);
    return rc == 0 ? message_parse(text, length, NULL) : NULL;
}

/* C1: what is written is what the cleaning reads: it stays while the process lives. */
static void test_a_session_comes_and_goes(void **state) {
    struct place place;
    struct unit_child child;
    struct os_identity identity;
    json_t *read;
    (void)state;
    place_init(&place);
    unit_child_start(&child, unit_body_wait, NULL);
    assert_int_equal(os_identity_of(child.pid, &identity), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(records_write_session(&place.dir, identity.pid,
                                               process_json(identity.pid, identity.start)),
                         0);
        assert_int_equal(records_clean(&place.dir, NULL, NULL), 0);
        read = read_session(&place, identity.pid);
        assert_true(message_number(read, "pid", 0) == identity.pid);
        json_decref(read);
        records_remove_session(&place.dir, identity.pid);
        assert_null(read_session(&place, identity.pid));
        records_remove_session(&place.dir, identity.pid);
    }
    assert_int_equal(
        records_write_session(&place.dir, identity.pid, process_json(identity.pid, identity.start)),
        0);
    unit_child_kill(&child);
    assert_int_equal(records_clean(&place.dir, NULL, NULL), 1);
    assert_null(read_session(&place, identity.pid));
    place_finish(&place);
}

static void test_a_session_is_replaced_whole(void **state) {
    struct place place;
    json_t *read;
    (void)state;
    place_init(&place);
    records_remove_session(&place.dir, 5); /* not even the directory is there */
    assert_int_equal(
        records_write_session(&place.dir, 5, json_pack("{s:s}", "project", "a long, long name")),
        0);
    assert_int_equal(records_write_session(&place.dir, 5, json_pack("{s:s}", "role", "cli")), 0);
    read = read_session(&place, 5);
    assert_string_equal(message_text(read, "role"), "cli");
    assert_int_equal(json_object_size(read), 1);
    json_decref(read);
    place_finish(&place);
}

/* The reference is taken also where nothing can be written: the leak checkers see to that. */
static void test_a_session_that_cannot_be_written(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    put_state(&place, "{}", 2);
    assert_int_equal(os_file_rename(&place.dir, "state.json", "sessions"), 0);
    assert_true(records_write_session(&place.dir, 5, process_json(5, 6)) < 0);
    records_remove_session(&place.dir, 5);
    assert_int_equal(os_file_remove(&place.dir, "sessions"), 0);
    assert_true(records_write_session(&place.dir, 5, NULL) < 0);
    assert_null(read_session(&place, 5));
    place_finish(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_state_comes_back),
        UNIT_TEST(test_no_state),
        UNIT_TEST(test_state_that_cannot_be_written),
        UNIT_TEST(test_unusable_identities),
        UNIT_TEST(test_cut_state),
        UNIT_TEST(test_damaged_state),
        UNIT_TEST(test_strange_states),
        UNIT_TEST(test_a_session_comes_and_goes),
        UNIT_TEST(test_a_session_is_replaced_whole),
        UNIT_TEST(test_a_session_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
