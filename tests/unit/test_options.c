/* Values of options, in variables and behind flags: which are taken, and what is told about others.
 */
#include <inttypes.h>

#include "options_unit.h"

static uint32_t config_field(const struct options *options, size_t offset) {
    uint32_t value;
    memcpy(&value, (const char *)&options->config + offset, sizeof value);
    return value;
}

static void test_defaults(void **state) {
    struct run run;
    struct lifecycle_config config;
    char instance[OPTIONS_INSTANCE_MAX];
    (void)state;
    PARSE(&run, STARTS, "", "");
    expect_warning(&run, NULL, "");
    lifecycle_config_defaults(&config);
    assert_memory_equal(&run.options.config, &config, sizeof config);
    options_instance(&run.options, instance);
    assert_string_equal(instance, "8000-9500");
    assert_true(run.options.owner.pid == 0 && run.options.owner.start == 0);
    assert_int_equal(options_ready(&run.options), READY_PORTS);
    assert_null(run.options.command);
    assert_false(run.options.ports_auto || run.options.hold_ports);
    assert_true(run.options.lock_handle == -1 && run.options.result_handle == -1);
}

/* ---- intervals ---- */

/* As the design has them, not as the table in the code does. */
static const struct interval {
    const char *flag, *variable;
    size_t offset;
    uint32_t fallback, least;
    const char *most, *beyond;
} intervals[] = {
#define FIELD(name) offsetof(struct lifecycle_config, name)
    {"--grace-ms", "TETHER_GRACE_MS", FIELD(grace_ms), 500, 0, "86400000", "86400001"},
    {"--stop-grace-ms", "TETHER_STOP_GRACE_MS", FIELD(stop_grace_ms), 5000, 0, "86400000",
     "86400001"},
    {"--ready-timeout-ms", "TETHER_READY_TIMEOUT_MS", FIELD(ready_timeout_ms), 30000, 0, "86400000",
     "86400001"},
    {"--sweep-ms", "TETHER_SWEEP_MS", FIELD(sweep_ms), 30000, 1, "86400000", "86400001"},
    {"--idle-limit-ms", "TETHER_IDLE_LIMIT_MS", FIELD(idle_limit_ms), 0, 0, "2592000000",
     "2592000001"},
    {"--linger-ms", "TETHER_LINGER_MS", FIELD(linger_ms), 0, 0, "2592000000", "2592000001"},
    {"--silence-limit-ms", "TETHER_SILENCE_LIMIT_MS", FIELD(silence_limit_ms), 1800000, 0,
     "2592000000", "2592000001"},
    {"--poll-ms", "TETHER_POLL_MS", FIELD(poll_ms), 1000, 1, "60000", "60001"},
    {"--parent-poll-ms", "TETHER_PARENT_POLL_MS", FIELD(parent_poll_ms), 2000, 1, "60000", "60001"},
#undef FIELD
};

/* The value in a variable and behind a flag, in both its forms. */
static void check_interval(const struct interval *row, const char *value, bool valid) {
    struct run run;
    uint32_t expected = valid ? (uint32_t)strtoul(value, NULL, 10) : row->fallback;
    char variable[128], flag[128], *none[] = {NULL};
    char *joined[] = {flag, NULL}, *apart[] = {flag, variable, NULL};

    snprintf(variable, sizeof variable, "%s=%s", row->variable, value);
    parse_words(&run, STARTS, variable, none);
    expect_warning(&run, valid ? NULL : row->variable, value);
    assert_int_equal(config_field(&run.options, row->offset), expected);

    snprintf(flag, sizeof flag, "%s=%s", row->flag, value);
    parse_words(&run, STARTS, "", joined);
    expect_warning(&run, valid ? NULL : row->flag, value);
    assert_int_equal(config_field(&run.options, row->offset), expected);

    snprintf(flag, sizeof flag, "%s", row->flag);
    snprintf(variable, sizeof variable, "%s", value);
    parse_words(&run, STARTS, "", apart);
    expect_warning(&run, valid ? NULL : row->flag, value);
    assert_int_equal(config_field(&run.options, row->offset), expected);
}

/* A7 */
static void test_intervals(void **state) {
    static const char *const malformed[] = {
        "",    "abc",   "-1",    "+1",  "1.5", "1e3",         "5x",
        "0x1", "1000s", "1,000", "off", "inf", "99999999999", "18446744073709551617"};
    (void)state;
    for (size_t i = 0; i < COUNT(intervals); i++) {
        const struct interval *row = &intervals[i];
        check_interval(row, "0", row->least == 0);
        check_interval(row, "1", true);
        check_interval(row, "777", true);
        check_interval(row, row->most, true);
        check_interval(row, row->beyond, false);
        for (size_t k = 0; k < COUNT(malformed); k++)
            check_interval(row, malformed[k], false);
    }
}

/* A7: the table above has them all. */
static void test_no_interval_is_forgotten(void **state) {
    size_t named = 0;
    (void)state;
    for (size_t i = 0; i < lifecycle_knob_count; i++)
        named += lifecycle_knobs[i].name != NULL;
    assert_int_equal(named, COUNT(intervals) + 2); /* restart and the watchdog are words */
}

static void test_spaces_around_an_interval(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_GRACE_MS=~5 TETHER_SWEEP_MS=5~", "");
    assert_int_equal(count_lines(run.warnings), 2);
    assert_int_equal(run.options.config.grace_ms, 500);
    assert_int_equal(run.options.config.sweep_ms, 30000);
}

/* A7 */
static void test_interval_flag_wins(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_GRACE_MS=7 TETHER_SWEEP_MS=x", "--grace-ms 8 --sweep-ms=9");
    expect_warning(&run, "TETHER_SWEEP_MS", "x");
    assert_int_equal(run.options.config.grace_ms, 8);
    assert_int_equal(run.options.config.sweep_ms, 9);
}

/* A7: the default, and not what a variable or an earlier flag said. */
static void test_malformed_interval_flag_takes_the_default(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_GRACE_MS=7", "--grace-ms x");
    expect_warning(&run, "--grace-ms", "x");
    assert_int_equal(run.options.config.grace_ms, 500);
}

/* ---- the owner ---- */

struct owner_row {
    const char *variables, *words;
    int64_t pid;
    uint64_t start;
    const char *where, *value; /* of the warning; NULL: there is none */
};

static void check_owners(const struct owner_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct run run;
        PARSE(&run, STARTS, rows[i].variables, rows[i].words);
        expect_warning(&run, rows[i].where, rows[i].value);
        if (rows[i].where)
            assert_non_null(strstr(run.warnings, "no owner is watched"));
        if (run.options.owner.pid != rows[i].pid || run.options.owner.start != rows[i].start)
            fail_msg("'%s' '%s': owner %" PRId64 ":%" PRIu64, rows[i].variables, rows[i].words,
                     run.options.owner.pid, run.options.owner.start);
    }
}

/* A3 */
static void test_owner(void **state) {
    static const struct owner_row rows[] = {
        {"", "", 0, 0, NULL, ""},
        {"TETHER_OWNER_PID=", "", 0, 0, NULL, ""},
        {"TETHER_OWNER_PID=4711", "", 4711, 0, NULL, ""},
        {"TETHER_OWNER_PID=2147483647", "", 2147483647, 0, NULL, ""},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=99", "", 4711, 99, NULL, ""},
        {"TETHER_OWNER_START=99 TETHER_OWNER_PID=4711", "", 4711, 99, NULL, ""},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=", "", 4711, 0, NULL, ""},
        {"TETHER_OWNER_START=99", "", 0, 0, NULL, ""},
        {"", "--owner-pid 4711", 4711, 0, NULL, ""},
        {"", "--owner-pid=4711 --owner-start=99", 4711, 99, NULL, ""},
        {"", "--owner-start 18446744073709551615", 0, 0, NULL, ""},
        {"TETHER_OWNER_PID=4711", "--owner-start 99", 4711, 99, NULL, ""},
        /* the flag wins, and the start of another process goes with that process */
        {"TETHER_OWNER_PID=4711", "--owner-pid 4712", 4712, 0, NULL, ""},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=99", "--owner-pid 4712", 4712, 0, NULL, ""},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=99", "--owner-pid 4712 --owner-start 98", 4712,
         98, NULL, ""},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=99", "--owner-pid=", 0, 0, NULL, ""},
        {"TETHER_OWNER_PID=x", "--owner-pid 4712", 4712, 0, "TETHER_OWNER_PID", "x"},
    };
    (void)state;
    check_owners(rows, COUNT(rows));
}

/* A3: a malformed owner is told, and arms nothing, also where another would have been right. */
static void test_malformed_owner_arms_nothing(void **state) {
    static const char *const pids[] = {
        "0",    "1",   "-5",         "+5",         "05", "5x", "0x5",
        "5.0",  "abc", "2147483648", "4294967301", "~5", "5~", "99999999999999999999999999",
        "self", "-"};
    static const char *const starts[] = {"0", "-9", "09", "9x", "abc", "18446744073709551616",
                                         "~9"};
    static const struct owner_row rows[] = {
        {"TETHER_OWNER_PID=4711", "--owner-pid x", 0, 0, "--owner-pid", "x"},
        {"TETHER_OWNER_PID=4711 TETHER_OWNER_START=99", "--owner-pid=1", 0, 0, "--owner-pid", "1"},
        {"TETHER_OWNER_PID=4711", "--owner-start x", 0, 0, "--owner-start", "x"},
        {"", "--owner-pid 4711 --owner-start x", 0, 0, "--owner-start", "x"},
        {"", "--owner-pid x --owner-start 99", 0, 0, "--owner-pid", "x"},
        {"", "--owner-pid x --owner-pid 4711", 0, 0, "--owner-pid", "x"},
    };
    (void)state;
    check_owners(rows, COUNT(rows));
    for (size_t i = 0; i < COUNT(pids); i++) {
        char text[64];
        const struct owner_row row = {text, "", 0, 0, "TETHER_OWNER_PID", ""};
        snprintf(text, sizeof text, "TETHER_OWNER_PID=%s", pids[i]);
        check_owners(&row, 1);
    }
    for (size_t i = 0; i < COUNT(starts); i++) {
        char text[96];
        const struct owner_row row = {text, "", 0, 0, "TETHER_OWNER_START", ""};
        snprintf(text, sizeof text, "TETHER_OWNER_PID=4711 TETHER_OWNER_START=%s", starts[i]);
        check_owners(&row, 1);
    }
}

/* A3: the order of two flags does not matter. */
static void test_owner_flags_in_any_order(void **state) {
    static const struct owner_row rows[] = {
        {"", "--owner-start 99 --owner-pid 4711", 4711, 99, NULL, ""},
        {"", "--owner-start x --owner-pid 4711", 0, 0, "--owner-start", "x"},
    };
    (void)state;
    check_owners(rows, COUNT(rows));
}

/* ---- the watchdog ---- */

/* B2 */
static void test_watchdog(void **state) {
    static const char *const off[] = {"off", "0", "false"};
    static const char *const on[] = {"on",  "1",     "true", "",     "no",
                                     "OFF", "False", "00",   "offf", "x"};
    char variable[64], flag[64], *none[] = {NULL}, *flags[] = {flag, NULL};
    struct run run;
    (void)state;
    for (size_t i = 0; i < COUNT(off) + COUNT(on); i++) {
        const char *value = i < COUNT(off) ? off[i] : on[i - COUNT(off)];
        uint32_t expected = i < COUNT(off) ? 0 : 1;
        snprintf(variable, sizeof variable, "TETHER_PARENT_WATCHDOG=%s", value);
        snprintf(flag, sizeof flag, "--parent-watchdog=%s", value);
        parse_words(&run, STARTS, variable, none);
        expect_warning(&run, NULL, "");
        assert_int_equal(run.options.config.parent_watchdog, expected);
        parse_words(&run, STARTS, expected ? "TETHER_PARENT_WATCHDOG=off" : "", flags);
        expect_warning(&run, NULL, "");
        assert_int_equal(run.options.config.parent_watchdog, expected);
    }
    parse_words(&run, STARTS, "", none);
    assert_int_equal(run.options.config.parent_watchdog, 1);
}

/* ---- ports ---- */

static void test_ports(void **state) {
    static const struct {
        const char *variables, *words;
        unsigned http, ws;
        const char *where, *value;
    } rows[] = {
        {"TETHER_HTTP_PORT=8100 TETHER_WS_PORT=9600", "", 8100, 9600, NULL, ""},
        {"TETHER_HTTP_PORT=8100", "--http-port 8200 --ws-port=1", 8200, 1, NULL, ""},
        {"TETHER_WS_PORT=0", "", 8000, 0, NULL, ""},
        {"", "--http-port 65535 --ws-port 0", 65535, 0, NULL, ""},
        {"TETHER_HTTP_PORT=0", "", 8000, 9500, "TETHER_HTTP_PORT", "0"},
        {"TETHER_HTTP_PORT=65536", "", 8000, 9500, "TETHER_HTTP_PORT", "65536"},
        {"TETHER_WS_PORT=-1", "", 8000, 9500, "TETHER_WS_PORT", "-1"},
        {"TETHER_WS_PORT=", "", 8000, 9500, "TETHER_WS_PORT", "''"},
        {"TETHER_HTTP_PORT=80x", "--http-port 8100", 8100, 9500, "TETHER_HTTP_PORT", "80x"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct run run;
        PARSE(&run, SCOPE_INSTANCE, rows[i].variables, rows[i].words);
        expect_warning(&run, rows[i].where, rows[i].value);
        assert_int_equal(run.options.http_port, rows[i].http);
        assert_int_equal(run.options.ws_port, rows[i].ws);
    }
}

/* ---- what a start is like ---- */

static void test_ready_and_restart(void **state) {
    static const struct {
        const char *variables, *words;
        enum ready_kind ready;
        const char *path; /* NULL: none is looked at */
        enum lifecycle_policy restart;
        const char *where, *value;
    } rows[] = {
        {"", "--ready ports", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_READY=notify", "", READY_NOTIFY, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_READY=none", "--ready=http:/up?a=b", READY_HTTP, "/up?a=b",
         LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"", "--hold-ports --restart never", READY_NOTIFY, NULL, LIFECYCLE_RESTART_NEVER, NULL, ""},
        {"TETHER_HOLD_PORTS=1", "", READY_NOTIFY, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_HOLD_PORTS=0", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_HOLD_PORTS=off", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_HOLD_PORTS=false", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_RESTART=never", "", READY_PORTS, NULL, LIFECYCLE_RESTART_NEVER, NULL, ""},
        {"TETHER_RESTART=never", "--restart on-failure", READY_PORTS, NULL,
         LIFECYCLE_RESTART_ON_FAILURE, NULL, ""},
        {"TETHER_RESTART=always", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE,
         "TETHER_RESTART", "always"},
        {"TETHER_READY=soon", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE, "TETHER_READY",
         "soon"},
        {"TETHER_READY=http:up", "", READY_PORTS, NULL, LIFECYCLE_RESTART_ON_FAILURE,
         "TETHER_READY", "http:up"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct run run;
        PARSE(&run, STARTS, rows[i].variables, rows[i].words);
        expect_warning(&run, rows[i].where, rows[i].value);
        assert_int_equal(options_ready(&run.options), rows[i].ready);
        assert_int_equal(run.options.config.restart, rows[i].restart);
        if (rows[i].path)
            assert_string_equal(run.options.ready_path, rows[i].path);
    }
}

/* What is not fit for a request line gets into none. */
static void test_malformed_path_leaves_the_default(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_READY=http:/a~b", "");
    expect_warning(&run, "TETHER_READY", "http:/a b");
    assert_int_equal(run.options.ready, READY_DEFAULT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_defaults),
        UNIT_TEST(test_intervals),
        UNIT_TEST(test_no_interval_is_forgotten),
        UNIT_TEST(test_spaces_around_an_interval),
        UNIT_TEST(test_interval_flag_wins),
        UNIT_TEST(test_malformed_interval_flag_takes_the_default),
        UNIT_TEST(test_owner),
        UNIT_TEST(test_malformed_owner_arms_nothing),
        UNIT_TEST(test_owner_flags_in_any_order),
        UNIT_TEST(test_watchdog),
        UNIT_TEST(test_ports),
        UNIT_TEST(test_ready_and_restart),
        UNIT_TEST(test_malformed_path_leaves_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
