/* The words of a command line: which are errors, which are the server's, and how options become
 * words again. */
#include "daemon/environment.h"
#include "options_unit.h"

#define ALL (STARTS | SCOPE_JSON | SCOPE_WATCH | SCOPE_FORCE | SCOPE_LOGS)

/* What `tether daemon` takes. */
#define DAEMON (STARTS | SCOPE_DAEMON)

/* ---- errors ---- */

static void test_usage_errors(void **state) {
    static const struct {
        unsigned scopes;
        const char *words, *told;
    } rows[] = {
        {ALL, "--nonsense", "--nonsense"},
        {ALL, "--grace-msx=5", "--grace-msx=5"},
        {ALL, "--grace", "--grace"},
        {ALL, "--=5", "--=5"},
        {ALL, "-x", "-x"},
        {ALL, "-", "'-'"},
        {ALL, "server", "behind \"--\""},
        {ALL, "--json server", "'server'"},
        {ALL, "--http-port", "needs a value"},
        {ALL, "--grace-ms", "milliseconds"},
        {ALL, "-n", "needs a value"},
        {ALL, "--json=1", "takes no value"},
        {ALL, "--hold-ports=1", "takes no value"},
        {ALL, "--http-port 0", "'0'"},
        {ALL, "--http-port 65536", "65536"},
        {ALL, "--http-port=", "--http-port"},
        {ALL, "--ws-port 9500x", "9500x"},
        {ALL, "--ports some", "fixed|auto"},
        {ALL, "--ready soon", "soon"},
        {ALL, "--ready http:up", "http:up"},
        {ALL, "--restart always", "always"},
        {ALL, "--owner-env A-B", "A-B"},
        {ALL, "--owner-env 1A", "1A"},
        {ALL, "--owner-env=", "--owner-env"},
        {ALL, "--lines 100001", "100001"},
        {ALL, "-n -1", "-1"},
        {ALL, "--http-port 9500", "both ports are 9500"},
        {ALL, "--ws-port 8000", "both ports are 8000"},
        {ALL, "--hold-ports --ready ports", "--hold-ports"},
        {ALL, "--lock-handle 3", "--lock-handle"},
        {DAEMON, "--lock-handle -1", "--lock-handle"},
        {DAEMON, "--result-handle 2147483648", "2147483648"},
        {SCOPE_INSTANCE, "--grace-ms 5", "--grace-ms"},
        {SCOPE_INSTANCE, "--owner-pid 5", "--owner-pid"},
        {SCOPE_INSTANCE, "--json", "--json"},
        {SCOPE_INSTANCE, "-f", "--follow"},
        {SCOPE_INSTANCE, "-- server", "'--'"},
        {SCOPE_JSON, "--http-port 5", "--http-port"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct run run;
        PARSE(&run, rows[i].scopes, "", rows[i].words);
        if (run.rc == 0 || !strstr(run.err.message, rows[i].told))
            fail_msg("'%s': '%s'", rows[i].words, run.rc ? run.err.message : "is taken");
        assert_int_equal(run.err.code, -EINVAL);
        assert_string_equal(run.warnings, "");
    }
}

static void test_switches(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, ALL, "", "--json --watch --force --follow --lines 7 --ports auto");
    expect_warning(&run, NULL, "");
    assert_true(run.options.json && run.options.watch && run.options.force && run.options.follow);
    assert_true(run.options.ports_auto);
    assert_true(run.options.line_count == 7);
}

static void test_short_forms(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, ALL, "", "-f -n 0");
    expect_warning(&run, NULL, "");
    assert_true(run.options.follow);
    assert_true(run.options.line_count == 0);
}

/* A variable is looked at only where its flag is taken, and a wrong one is no matter elsewhere. */
static void test_variables_of_other_commands(void **state) {
    static const char variables[] = "TETHER_GRACE_MS=x TETHER_OWNER_PID=x TETHER_READY=x "
                                    "TETHER_JSON=1 TETHER_FORCE=1 TETHER_LINES=5 "
                                    "TETHER_LOCK_HANDLE=5 TETHER_HTTP_PORT=8100";
    struct run run;
    (void)state;
    PARSE(&run, SCOPE_INSTANCE | SCOPE_JSON | SCOPE_FORCE | SCOPE_LOGS, variables, "");
    expect_warning(&run, NULL, "");
    assert_int_equal(run.options.http_port, 8100);
    assert_false(run.options.json || run.options.force);
    assert_true(run.options.line_count == 20);
    assert_true(run.options.lock_handle == -1);
}

/* ---- the command ---- */

static void test_the_command_is_left_alone(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "", "--grace-ms 5 -- server --http-port 0 -- --grace-ms x -n");
    expect_warning(&run, NULL, "");
    assert_int_equal(run.options.config.grace_ms, 5);
    assert_int_equal(run.options.http_port, 8000);
    assert_ptr_equal(run.options.command, &run.words[3]);
    assert_string_equal(run.options.command[0], "server");
    assert_string_equal(run.options.command[6], "-n");
    assert_null(run.options.command[7]);
}

static void test_no_command(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "", "--grace-ms 5 --");
    expect_warning(&run, NULL, "");
    assert_null(run.options.command);
}

/* ---- aliases ---- */

/* A2 */
static void test_aliases(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_OWNER_ENV=GODOT_AI_OWNER_PID", "--owner-env _a1 --owner-env=Z");
    expect_warning(&run, NULL, "");
    assert_int_equal(run.options.alias_count, 3);
    assert_string_equal(run.options.aliases[0], "GODOT_AI_OWNER_PID");
    assert_string_equal(run.options.aliases[1], "_a1");
    assert_string_equal(run.options.aliases[2], "Z");
}

static void test_malformed_alias_in_a_variable(void **state) {
    struct run run;
    (void)state;
    PARSE(&run, STARTS, "TETHER_OWNER_ENV=A=B", "");
    expect_warning(&run, "TETHER_OWNER_ENV", "A=B");
    assert_int_equal(run.options.alias_count, 0);
}

static void test_too_many_aliases(void **state) {
    struct run run;
    (void)state;
    char *words[OPTIONS_MAX_ALIASES + 2], texts[OPTIONS_MAX_ALIASES + 1][24];
    for (size_t i = 0; i <= OPTIONS_MAX_ALIASES; i++) {
        snprintf(texts[i], sizeof texts[i], "--owner-env=A%zu", i);
        words[i] = texts[i];
    }
    words[OPTIONS_MAX_ALIASES + 1] = NULL;
    parse_words(&run, STARTS, "", words + 1);
    assert_int_equal(run.rc, 0);
    assert_int_equal(run.options.alias_count, OPTIONS_MAX_ALIASES);
    parse_words(&run, STARTS, "", words);
    assert_int_equal(run.rc, -EINVAL);
    words[0] = texts[1]; /* named twice is named once */
    parse_words(&run, STARTS, "", words);
    assert_int_equal(run.rc, 0);
    assert_int_equal(run.options.alias_count, OPTIONS_MAX_ALIASES);
}

/* ---- becoming words again ---- */

static void expect_same_options(const struct options *a, const struct options *b) {
    assert_int_equal(a->http_port, b->http_port);
    assert_int_equal(a->ws_port, b->ws_port);
    assert_int_equal(a->hold_ports, b->hold_ports);
    assert_true(a->owner.pid == b->owner.pid && a->owner.start == b->owner.start);
    assert_int_equal(a->alias_count, b->alias_count);
    for (size_t i = 0; i < a->alias_count; i++)
        assert_string_equal(a->aliases[i], b->aliases[i]);
    assert_int_equal(options_ready(a), options_ready(b));
    if (a->ready == READY_HTTP)
        assert_string_equal(a->ready_path, b->ready_path);
    assert_int_equal(a->ports_auto, b->ports_auto);
    assert_int_equal(a->builtin, b->builtin);
    if (a->owner.pid)
        assert_int_equal(a->owner_is_front, b->owner_is_front);
    assert_memory_equal(&a->config, &b->config, sizeof a->config);
    assert_true(a->lock_handle == b->lock_handle && a->result_handle == b->result_handle);
    assert_int_equal(a->command == NULL, b->command == NULL);
    for (size_t i = 0; a->command; i++) {
        assert_int_equal(a->command[i] == NULL, b->command[i] == NULL);
        if (!a->command[i])
            break;
        assert_string_equal(a->command[i], b->command[i]);
    }
}

/* Whatever launch was asked for, the daemon comes to the same, and from words alone. */
static void test_options_survive_being_told(void **state) {
    static const char *const samples[] = {
        "",
        "--http-port 1 --ws-port 0",
        "--http-port 65535 --ws-port 65534",
        "--owner-pid 4711",
        "--owner-pid 2147483647 --owner-start 18446744073709551615",
        "--owner-env A --owner-env B_1 --owner-pid 5 --owner-start 6",
        "--owner-pid 5 --owner-role front",
        "--owner-role front",
        "--owner-env ALONE",
        "--ports auto --parent-watchdog off",
        "--ports fixed --parent-watchdog on",
        "--hold-ports",
        "--hold-ports --ready http:/up --restart never",
        "--ready http:/status?a=b&c=d%20e --parent-poll-ms 5",
        "--ready ports",
        "--ready none --grace-ms 0 --stop-grace-ms 0 --ready-timeout-ms 0",
        "--grace-ms 500 --sweep-ms 1 --idle-limit-ms 2592000000",
        "--silence-limit-ms 0 --poll-ms 60000 --parent-poll-ms 1",
        "-- server --flag= --http-port {http_port} -- -",
        "--grace-ms 7 -- --grace-ms",
    };
    static const char hostile[] = "TETHER_HTTP_PORT=1234 TETHER_GRACE_MS=9 TETHER_OWNER_PID=77 "
                                  "TETHER_OWNER_ENV=HOSTILE TETHER_RESTART=never "
                                  "TETHER_HOLD_PORTS=1 TETHER_READY=none TETHER_PORTS=auto "
                                  "TETHER_OWNER_ROLE=front TETHER_PARENT_WATCHDOG=off";
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct run asked, told;
        struct text_list words = {0}, again = {0};
        PARSE(&asked, STARTS, "", samples[i]);
        expect_warning(&asked, NULL, "");
        options_emit(&asked.options, &words);
        parse_words(&told, DAEMON, hostile, words.items);
        expect_warning(&told, NULL, "");
        expect_same_options(&asked.options, &told.options);
        options_emit(&told.options, &again);
        assert_int_equal(again.count, words.count);
        for (size_t k = 0; k < words.count; k++)
            assert_string_equal(again.items[k], words.items[k]);
        text_list_finish(&words);
        text_list_finish(&again);
    }
}

/* `tether mcp` runs `launch` with its own variables, over which its own flags have won. */
static void test_flags_win_over_variables_when_they_are_told(void **state) {
    static const char variables[] =
        "TETHER_HTTP_PORT=1234 TETHER_GRACE_MS=9 TETHER_PORTS=auto TETHER_OWNER_PID=77 "
        "TETHER_OWNER_START=78 TETHER_OWNER_ROLE=front TETHER_OWNER_ENV=MINE TETHER_RESTART=never "
        "TETHER_READY=none TETHER_PARENT_WATCHDOG=off TETHER_POLL_MS=5";
    static const char *const samples[] = {
        "",
        "--http-port 8000 --grace-ms 500 --ports fixed --owner-role editor --owner-env YOURS",
        "--restart on-failure --ready ports --parent-watchdog on --poll-ms 100 --owner-pid 5",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct run asked, told;
        struct text_list words = {0};
        PARSE(&asked, STARTS, variables, samples[i]);
        expect_warning(&asked, NULL, "");
        options_emit(&asked.options, &words);
        parse_words(&told, STARTS, variables, words.items);
        expect_warning(&told, NULL, "");
        expect_same_options(&asked.options, &told.options);
        text_list_finish(&words);
    }
}

/* What came from variables is told, too. */
static void test_variables_survive_being_told(void **state) {
    struct run asked, told;
    struct text_list words = {0};
    (void)state;
    PARSE(&asked, STARTS,
          "TETHER_HTTP_PORT=8100 TETHER_GRACE_MS=9 TETHER_OWNER_PID=77 TETHER_OWNER_START=78 "
          "TETHER_RESTART=never TETHER_READY=none TETHER_SWEEP_MS=x",
          "-- server");
    expect_warning(&asked, "TETHER_SWEEP_MS", "x");
    options_emit(&asked.options, &words);
    parse_words(&told, DAEMON, "", words.items);
    expect_warning(&told, NULL, "");
    expect_same_options(&asked.options, &told.options);
    assert_int_equal(told.options.config.grace_ms, 9);
    assert_true(told.options.owner.pid == 77 && told.options.owner.start == 78);
    text_list_finish(&words);
}

static void test_handles_are_told(void **state) {
    struct run run, told;
    struct text_list words = {0};
    (void)state;
    PARSE(&run, DAEMON, "", "--lock-handle 3 --result-handle 0");
    options_emit(&run.options, &words);
    parse_words(&told, DAEMON, "", words.items);
    expect_same_options(&run.options, &told.options);
    assert_true(told.options.lock_handle == 3 && told.options.result_handle == 0);
    text_list_finish(&words);
}

/* ---- help ---- */

static void test_help_names_what_is_taken(void **state) {
    char help[8192];
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    options_explain(STARTS | SCOPE_JSON | SCOPE_DAEMON, file);
    read_back(file, help, sizeof help);
    assert_non_null(strstr(help, "--http-port N"));
    assert_non_null(strstr(help, "--owner-env NAME"));
    assert_non_null(strstr(help, "--json"));
    assert_non_null(strstr(help, "--silence-limit-ms"));
    assert_null(strstr(help, "--follow"));
    assert_null(strstr(help, "-handle"));
    assert_null(strstr(help, "--restart-"));
    assert_ptr_equal(strstr(help, "--parent-watchdog"), strstr(help, "--parent-watchdog on|off"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_usage_errors),
        UNIT_TEST(test_switches),
        UNIT_TEST(test_short_forms),
        UNIT_TEST(test_variables_of_other_commands),
        UNIT_TEST(test_the_command_is_left_alone),
        UNIT_TEST(test_no_command),
        UNIT_TEST(test_aliases),
        UNIT_TEST(test_malformed_alias_in_a_variable),
        UNIT_TEST(test_too_many_aliases),
        UNIT_TEST(test_options_survive_being_told),
        UNIT_TEST(test_variables_survive_being_told),
        UNIT_TEST(test_flags_win_over_variables_when_they_are_told),
        UNIT_TEST(test_handles_are_told),
        UNIT_TEST(test_help_names_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
