/* What a server gets to know: its environment and its command line. */
#include "daemon/environment.h"

#include <inttypes.h>

#include "os_unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- looking at environments ---- */

/* The value of the only entry of that name, or NULL if there is none. */
static const char *value_of(const struct text_list *list, const char *name) {
    const char *value = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i], name, length) != 0 || list->items[i][length] != '=')
            continue;
        if (value)
            fail_msg("there are two of %s", name);
        value = list->items[i] + length + 1;
    }
    return value;
}

static void expect_entry(const struct text_list *list, const char *name, const char *value) {
    const char *found = value_of(list, name);
    if ((found == NULL) != (value == NULL) || (found && strcmp(found, value) != 0))
        fail_msg("%s is '%s', not '%s'", name, found ? found : "(not there)",
                 value ? value : "(not there)");
}

static void expect_terminated(const struct text_list *list) {
    assert_false(list->failed);
    for (size_t i = 0; i < list->count; i++)
        assert_non_null(list->items[i]);
    assert_null(list->items[list->count]);
}

static const struct options plain = {.http_port = 8000, .ws_port = 9500};

static struct server_start start_of(const struct options *options, uint64_t pid, uint64_t token) {
    return (struct server_start){
        .options = options, .daemon = {77, 88}, .owner = {pid, token}, .token = "secret"};
}

static void build(struct text_list *list, const struct server_start *start, const char *const *from,
                  size_t count) {
    *list = (struct text_list){0};
    for (size_t i = 0; i < count; i++)
        text_list_add(list, from[i]);
    environment_build(list, start);
    expect_terminated(list);
}

/* ---- inherited, then ours ---- */

/* D5 */
static void test_inherited_then_ours(void **state) {
    static const char *const inherited[] = {
        "PATH=/bin",
        "TETHER_HTTP_PORT=1",
        "EMPTY=",
        "TETHER_INSTANCE=1-2",
        "EQUALS=a=b=c",
        "TETHER_HTTP_PORT=2", /* twice, as some programs leave it */
        "TETHER_DAEMON=1:2",
        "TETHER_WS_PORT=3",
        "TETHER_WS_TOKEN=other",
        "NO_EQUALS",
        "TETHER_OWNER_PID", /* no entry of that name: it has no value */
        "TETHER_HTTP_PORTS=8",
        "ETHER_HTTP_PORT=9",
        "=odd",
        "UTF8=\xc3\xa9\xff",
    };
    struct server_start start = start_of(&plain, 0, 0);
    struct text_list list;
    (void)state;
    build(&list, &start, inherited, COUNT(inherited));
    expect_entry(&list, "PATH", "/bin");
    expect_entry(&list, "EMPTY", "");
    expect_entry(&list, "EQUALS", "a=b=c");
    expect_entry(&list, "UTF8", "\xc3\xa9\xff");
    expect_entry(&list, "TETHER_HTTP_PORTS", "8");
    expect_entry(&list, "ETHER_HTTP_PORT", "9");
    expect_entry(&list, "TETHER_HTTP_PORT", "8000");
    expect_entry(&list, "TETHER_WS_PORT", "9500");
    expect_entry(&list, "TETHER_INSTANCE", "8000-9500");
    expect_entry(&list, "TETHER_DAEMON", "77:88");
    expect_entry(&list, "TETHER_WS_TOKEN", "secret");
    /* what is not ours comes first, in its order */
    assert_string_equal(list.items[0], "PATH=/bin");
    assert_string_equal(list.items[1], "EMPTY=");
    assert_string_equal(list.items[2], "EQUALS=a=b=c");
    assert_string_equal(list.items[3], "NO_EQUALS");
    text_list_finish(&list);
}

/* D5 */
static void test_later_entries_win(void **state) {
    struct text_list list = {0};
    (void)state;
    environment_set(&list, "A", "1");
    environment_set(&list, "AB", "2");
    environment_set(&list, "A", "3");
    expect_entry(&list, "A", "3");
    expect_entry(&list, "AB", "2");
    environment_set(&list, "A", NULL);
    environment_set(&list, "NEVER", NULL);
    expect_entry(&list, "A", NULL);
    expect_entry(&list, "AB", "2");
    assert_int_equal(list.count, 1);
    expect_terminated(&list);
    text_list_finish(&list);
    assert_null(list.items);
}

/* What has no value this time is gone, although somebody else left one. */
static void test_nothing_of_others_is_passed_on(void **state) {
    static const char *const inherited[] = {
        "NOTIFY_SOCKET=/run/other", "WATCHDOG_USEC=1", "WATCHDOG_PID=2",
        "TETHER_WS_TOKEN=other",    "KEPT=1",
    };
    struct server_start start = start_of(&plain, 0, 0);
    struct text_list list;
    (void)state;
    start.token = NULL;
    build(&list, &start, inherited, COUNT(inherited));
    expect_entry(&list, "NOTIFY_SOCKET", NULL);
    expect_entry(&list, "WATCHDOG_USEC", NULL);
    expect_entry(&list, "WATCHDOG_PID", NULL);
    expect_entry(&list, "TETHER_WS_TOKEN", NULL);
    expect_entry(&list, "KEPT", "1");
    text_list_finish(&list);
    start.ready_place = "/run/ours";
    build(&list, &start, inherited, COUNT(inherited));
    expect_entry(&list, "NOTIFY_SOCKET", "/run/ours");
    text_list_finish(&list);
}

static void test_long_lists(void **state) {
    struct text_list list = {0};
    char text[32];
    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "N%d=%d", i, i);
        text_list_add(&list, text);
        assert_null(list.items[list.count]);
    }
    expect_terminated(&list);
    assert_int_equal(list.count, 1000);
    expect_entry(&list, "N999", "999");
    text_list_finish(&list);
}

/* ---- the owner ---- */

static const struct options aliased = {.http_port = 8000,
                                       .ws_port = 9500,
                                       .aliases = {"GODOT_AI_OWNER_PID", "OTHER_OWNER"},
                                       .alias_count = 2};

/* A2: one start after the other, with the owner changing hands; what an earlier owner had is never
 * left, whatever the launcher itself inherited. */
static void test_owner_is_set_and_removed(void **state) {
    static const char *const inherited[] = {
        "TETHER_OWNER_PID=1", "TETHER_OWNER_START=2", "GODOT_AI_OWNER_PID=3", "OTHER_OWNER=4",
        "TETHER_OWNER_PID=5", "OTHER_OWNERS=6",       "TETHER_OWNER_PIDS=7",
    };
    static const struct {
        uint64_t pid, token;
        const char *pid_text, *token_text;
    } rows[] = {
        {4711, 99, "4711", "99"},
        {4712, 0, "4712", NULL}, /* half known: the start of another does not stand in */
        {0, 0, NULL, NULL},
        {0, 99, NULL, NULL},
        {2147483647, UINT64_MAX, "2147483647", "18446744073709551615"},
        {0, 0, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct server_start start = start_of(&aliased, rows[i].pid, rows[i].token);
        struct text_list list;
        build(&list, &start, inherited, COUNT(inherited));
        expect_entry(&list, "TETHER_OWNER_PID", rows[i].pid_text);
        expect_entry(&list, "TETHER_OWNER_START", rows[i].token_text);
        expect_entry(&list, "GODOT_AI_OWNER_PID", rows[i].pid_text);
        expect_entry(&list, "OTHER_OWNER", rows[i].pid_text);
        expect_entry(&list, "OTHER_OWNERS", "6");
        expect_entry(&list, "TETHER_OWNER_PIDS", "7");
        text_list_finish(&list);
    }
}

/* A2: an alias that nobody asked for is somebody else's variable. */
static void test_foreign_owner_variables_stay(void **state) {
    static const char *const inherited[] = {"GODOT_AI_OWNER_PID=3"};
    struct server_start start = start_of(&plain, 4711, 99);
    struct text_list list;
    (void)state;
    build(&list, &start, inherited, 1);
    expect_entry(&list, "GODOT_AI_OWNER_PID", "3");
    text_list_finish(&list);
}

/* A2: threads read our own environment at any moment, so it is never written. */
static void test_our_own_environment_is_not_touched(void **state) {
    struct server_start start = start_of(&aliased, 4711, 99);
    struct text_list before = {0}, list = {0};
    char **where = environ;
    (void)state;
    for (char **entry = environ; *entry; entry++)
        text_list_add(&before, *entry);
    os_environment(&list);
    environment_build(&list, &start);
    assert_ptr_equal(environ, where);
    for (size_t i = 0; i < before.count; i++)
        assert_string_equal(environ[i], before.items[i]);
    assert_null(environ[before.count]);
    text_list_finish(&before);
    text_list_finish(&list);
}

/* A body: becomes `env`, which writes the environment it was given. */
static int body_env(const struct unit_line *line, void *arg) {
    char *argv[] = {(char *)(uintptr_t) "env", NULL};
    if (dup2(line->tell, 1) < 0)
        return 98;
    execve("/usr/bin/env", argv, arg);
    return 97;
}

/* A2, D5: a real program sees just that. */
static void test_a_program_gets_it(void **state) {
    static const char *const inherited[] = {"KEPT=1", "TETHER_OWNER_PID=1", "TETHER_WS_PORT=1"};
    static const char expected[] =
        "KEPT=1\nTETHER_OWNER_PID=4711\nTETHER_OWNER_START=99\nGODOT_AI_OWNER_PID=4711\n"
        "OTHER_OWNER=4711\nTETHER_INSTANCE=8000-9500\nTETHER_DAEMON=77:88\n"
        "TETHER_HTTP_PORT=8000\nTETHER_WS_PORT=9500\nTETHER_WS_TOKEN=secret\n";
    struct server_start start = start_of(&aliased, 4711, 99);
    struct text_list list;
    struct unit_child child;
    char seen[1024] = "", piece[1024];
    (void)state;
    build(&list, &start, inherited, COUNT(inherited));
    unit_child_start(&child, body_env, list.items);
    do {
        unit_hear(&child, piece, sizeof piece);
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s", piece);
    } while (piece[0]);
    assert_int_equal(unit_child_finish(&child), 0);
    assert_string_equal(seen, expected);
    text_list_finish(&list);
}

/* ---- the command ---- */

static void expect_word(const struct server_start *like, const char *word, const char *expected) {
    char *command[] = {(char *)(uintptr_t)word, NULL};
    struct options options = *like->options;
    struct server_start start = *like;
    struct text_list list = {0};
    char *before = strdup(word);
    options.command = command;
    start.options = &options;
    command_build(&list, &start);
    expect_terminated(&list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0], expected);
    assert_string_equal(word, before);
    text_list_finish(&list);
    free(before);
}

static void test_words_are_replaced(void **state) {
    static const char *const rows[][2] = {
        {"{http_port}", "8000"},
        {"{ws_port}", "9500"},
        {"{owner_pid}", "4711"},
        {"{instance}", "8000-9500"},
        {"--url=http://127.0.0.1:{http_port}/{instance}?ws={ws_port}",
         "--url=http://127.0.0.1:8000/8000-9500?ws=9500"},
        {"{http_port}{http_port}{ws_port}", "800080009500"},
        {"", ""},
        {"plain", "plain"},
        /* braces that are none of ours */
        {"{}", "{}"},
        {"{", "{"},
        {"}", "}"},
        {"{http_port", "{http_port"},
        {"http_port}", "http_port}"},
        {"{HTTP_PORT}", "{HTTP_PORT}"},
        {"{ http_port }", "{ http_port }"},
        {"{http_ports}", "{http_ports}"},
        {"{http-port}", "{http-port}"},
        {"${http_port}", "$8000"},
        {"{{http_port}}", "{8000}"},
        {"{{{ws_port}", "{{9500"},
        {"{http_{ws_port}}", "{http_9500}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
        {"{\xc3\xa9}{ws_port}\xff", "{\xc3\xa9}9500\xff"},
        {"%s%n{ws_port}\\", "%s%n9500\\"},
    };
    struct server_start start = start_of(&plain, 4711, 99);
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_word(&start, rows[i][0], rows[i][1]);
}

/* The longest values there are, often: the checkers watch the end of the buffer. */
static void test_longest_replacements(void **state) {
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"{http_port}", "65535"},
        {"{ws_port}", "65534"},
        {"{owner_pid}", "9223372036854775807"},
        {"{instance}", "65535-65534"},
    };
    static const struct options far = {.http_port = 65535, .ws_port = 65534};
    struct server_start start = start_of(&far, INT64_MAX, 0);
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char word[1200] = "", expected[2200] = "";
        for (int k = 0; k < 100; k++) {
            snprintf(word + strlen(word), sizeof word - strlen(word), "%s", rows[i].name);
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s",
                     rows[i].value);
        }
        expect_word(&start, word, expected);
    }
}

static void test_no_owner_leaves_nothing(void **state) {
    struct server_start start = start_of(&plain, 0, 0);
    (void)state;
    expect_word(&start, "--parent={owner_pid}", "--parent=");
    expect_word(&start, "{owner_pid}", "");
}

static void test_one_port_only(void **state) {
    static const struct options single = {.http_port = 8000, .ws_port = 0};
    struct server_start start = start_of(&single, 0, 0);
    struct text_list list;
    (void)state;
    expect_word(&start, "{ws_port} {instance}", "0 8000-0");
    build(&list, &start, NULL, 0);
    expect_entry(&list, "TETHER_WS_PORT", "0");
    expect_entry(&list, "TETHER_INSTANCE", "8000-0");
    text_list_finish(&list);
}

static void test_whole_commands(void **state) {
    char *command[] = {(char *)(uintptr_t) "server", (char *)(uintptr_t) "",
                       (char *)(uintptr_t) "{ws_port}", NULL};
    struct options options = plain;
    struct server_start start = start_of(&options, 0, 0);
    struct text_list list = {0};
    (void)state;
    command_build(&list, &start);
    assert_int_equal(list.count, 0);
    options.command = command;
    command_build(&list, &start);
    expect_terminated(&list);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "server");
    assert_string_equal(list.items[1], "");
    assert_string_equal(list.items[2], "9500");
    text_list_finish(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_inherited_then_ours),
        UNIT_TEST(test_later_entries_win),
        UNIT_TEST(test_nothing_of_others_is_passed_on),
        UNIT_TEST(test_long_lists),
        UNIT_TEST(test_owner_is_set_and_removed),
        UNIT_TEST(test_foreign_owner_variables_stay),
        UNIT_TEST(test_our_own_environment_is_not_touched),
        UNIT_TEST(test_a_program_gets_it),
        UNIT_TEST(test_words_are_replaced),
        UNIT_TEST(test_longest_replacements),
        UNIT_TEST(test_no_owner_leaves_nothing),
        UNIT_TEST(test_one_port_only),
        UNIT_TEST(test_whole_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
