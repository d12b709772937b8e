/* I8: setting and removing values in texts of JSON with comments and of TOML: what is not ours
 * stays byte for byte, however the text was written, or it is refused. */
#include "clients/file.h"
#include "clients/jsonc.h"
#include "clients/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "unit.h"

static const char *const path[] = {"mcpServers", "godot-tether"};
static const struct toml_table table = {"mcp_servers", "godot-tether"};

static json_t *entry(void) {
    return json_pack("{s:s, s:[s,s]}", "command", "/a \"b\"\\c", "args", "mcp", "--project");
}

/* ---- JSON ---- */

static const char *const documents[] = {
    "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n",
    "{\n  // a\n  \"mcpServers\": { /* b */\n    \"other\": {}, //c\n    //d\n  },\n  \"x\": 1\n}",
    "{\"a\":1,\"mcpServers\":{\"b\":{\"c\":[1,2,{}]},\"d\":\"}\"}}",
    "{\r\n\t\"mcpServers\": {\r\n\t\t\"b\": {} // e\r\n\t}\r\n}\r\n",
    "{ \"mcpServers\" : { \"b\" : {} , } , }",
    "{\"mcpServers\": {\"b\": {}},\n \"mcpServers\": {\n \"c\": {}\n}}",
};

static void set(const char *text, size_t length, json_t *value, struct buffer *out) {
    struct error err = {0};
    buffer_add_literal(out, "");
    assert_int_equal(jsonc_set(text, length, path, 2, value, out, &err), 0);
    assert_false(out->failed);
}

/* Those that have the container: what is set and removed again leaves the very same bytes. */
static void test_json_set_and_removed_is_as_before(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        struct buffer with = {0}, without = {0};
        json_t *value = entry(), *all;
        set(documents[i], strlen(documents[i]), value, &with);
        all = jsonc_values(with.data, with.length, NULL);
        assert_true(json_equal(json_object_get(json_object_get(all, path[0]), path[1]), value));
        set(with.data, with.length, NULL, &without);
        if (strcmp(without.data, documents[i]) != 0)
            fail_msg("%s\nbecame\n%s\nby\n%s", documents[i], without.data, with.data);
        json_decref(all);
        json_decref(value);
        buffer_finish(&with);
        buffer_finish(&without);
    }
}

static void test_json_that_is_refused(void **state) {
    static const char *const texts[] = {
        "{",  "{]", "{\"a\"}",        "{\"a\":}",  "{\"a\":1,,}", "{'a':1}",   "{\"a\":1} 2",
        "/*", "/",  "{\"a\":\"\n\"}", "{\"a\":t}", "[1 2]",       "{\"a\":01}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct error err = {0};
        json_t *values = jsonc_values(texts[i], strlen(texts[i]), &err);
        if (values || !err.message[0])
            fail_msg("is not refused: %s", texts[i]);
    }
}

static void test_json_without_an_object_there(void **state) {
    static const char *const texts[] = {"[]", "{\"mcpServers\":1}", "{\"mcpServers\":[]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buffer out = {0};
        struct error err = {0};
        json_t *value = entry();
        assert_true(jsonc_set(texts[i], strlen(texts[i]), path, 2, value, &out, &err) < 0);
        assert_non_null(strstr(err.message, "not an object"));
        json_decref(value);
        buffer_finish(&out);
    }
}

/* A generator of our own, so that each run tries the same. */
static unsigned next(unsigned *seed, unsigned most) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % most;
}

static void put_value(json_t *all, json_t *value) {
    json_t *holder = json_object_get(all, path[0]);
    if (!holder)
        json_object_set_new(all, path[0], holder = json_object());
    json_object_set(holder, path[1], value);
}

/* Texts with some bytes changed: understood and changed rightly, or refused; never read beyond. */
static void test_json_fuzzed(void **state) {
    static const char signs[] = "{}[]\",:/*\\\n\r\t #'a1";
    unsigned seed = 7, changed = 0;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        const char *from = documents[next(&seed, sizeof documents / sizeof documents[0])];
        size_t length = strlen(from);
        char *text = malloc(length); /* no byte more: what reads beyond is found */
        struct buffer out = {0};
        json_t *before, *after, *value = entry();
        assert_non_null(text);
        memcpy(text, from, length);
        for (unsigned n = next(&seed, 4); n > 0; n--)
            text[next(&seed, (unsigned)length)] = signs[next(&seed, sizeof signs - 1)];
        before = jsonc_values(text, length, NULL);
        buffer_add_literal(&out, "");
        if (json_is_object(before) && jsonc_set(text, length, path, 2, value, &out, NULL) == 0) {
            after = jsonc_values(out.data, out.length, NULL);
            put_value(before, value);
            if (!json_equal(before, after))
                fail_msg("%.*s\nbecame\n%s", (int)length, text, out.data);
            json_decref(after);
            changed++;
        }
        json_decref(before);
        json_decref(value);
        buffer_finish(&out);
        free(text);
    }
    assert_in_range(changed, 5000, 19999);
}

/* ---- TOML ---- */

static const char *const tables[] = {
    "# a\nmodel = \"x\" # b\n[mcp_servers.other]\ncommand = '''\n[mcp_servers.godot-tether]\n'''\n",
    "a.b = 1\n[[list]]\nx = [\n  1, # [z]\n  2,\n]\n[mcp_servers]\nc = { d = \"[\" }\n",
    "[x]\r\ny = 1979-05-27 07:32:00Z\r\n",
};

static void test_toml_set_and_removed_is_as_before(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct buffer with = {0}, other = {0}, without = {0};
        struct error err = {0};
        json_t *value = entry(), *read;
        toml_set(tables[i], strlen(tables[i]), &table, NULL, value, &with);
        read = toml_values(with.data, with.length, &table, &err);
        assert_true(json_equal(read, value));
        json_decref(read);
        toml_set(with.data, with.length, &table, "args", NULL, &other);
        read = toml_values(other.data, other.length, &table, &err);
        assert_int_equal(json_object_size(read), 1);
        json_decref(read);
        toml_set(other.data, other.length, &table, NULL, NULL, &without);
        assert_int_equal(strncmp(without.data, tables[i], strlen(tables[i])), 0);
        assert_null(toml_values(without.data, without.length, &table, &err));
        assert_string_equal(err.message, "");
        json_decref(value);
        buffer_finish(&with);
        buffer_finish(&other);
        buffer_finish(&without);
    }
}

static void test_toml_that_is_refused(void **state) {
    static const char *const texts[] = {
        "[",
        "x",
        "x =",
        "x = \"y",
        "x = [1",
        "x = {a = 1",
        "x = y",
        "x = 1 2",
        "[[mcp_servers]]",
        "mcp_servers = {}",
        "[mcp_servers]\ngodot-tether = {}",
        "mcp_servers.godot-tether.url = \"x\"",
        "[mcp_servers.godot-tether]\n[mcp_servers.\"godot-tether\"]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct error err = {0};
        json_t *values = toml_values(texts[i], strlen(texts[i]), &table, &err);
        if (values || !err.message[0])
            fail_msg("is not refused: %s", texts[i]);
    }
}

static void test_toml_fuzzed(void **state) {
    static const char signs[] = "[]{}\"'=.,#\\\n\r\t a1";
    unsigned seed = 11, changed = 0;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        const char *from = tables[next(&seed, sizeof tables / sizeof tables[0])];
        size_t length = strlen(from);
        char *text = malloc(length);
        struct buffer out = {0};
        struct error err = {0};
        json_t *value = entry(), *read;
        assert_non_null(text);
        memcpy(text, from, length);
        for (unsigned n = next(&seed, 4); n > 0; n--)
            text[next(&seed, (unsigned)length)] = signs[next(&seed, sizeof signs - 1)];
        read = toml_values(text, length, &table, &err);
        if (!read && !err.message[0]) {
            toml_set(text, length, &table, NULL, value, &out);
            assert_memory_equal(out.data, text, length);
            read = toml_values(out.data, out.length, &table, &err);
            if (!json_equal(read, value))
                fail_msg("%.*s\nbecame\n%s", (int)length, text, out.data);
            changed++;
        }
        json_decref(read);
        json_decref(value);
        buffer_finish(&out);
        free(text);
    }
    assert_in_range(changed, 5000, 19999);
}

/* ---- files ---- */

static void write_file(const char *place, const char *text) {
    FILE *file = fopen(place, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *place, const char *text) {
    char room[64] = "";
    FILE *file = fopen(place, "r");
    assert_non_null(file);
    assert_in_range(fread(room, 1, sizeof room - 1, file), 0, sizeof room - 1);
    fclose(file);
    assert_string_equal(room, text);
}

/* What another program writes between our reading and our writing stays, be it a change, the file's
 * end, or its beginning. */
static void test_a_file_that_others_change_meanwhile(void **state) {
    static const struct {
        const char *before, *meanwhile;
    } cases[] = {
        {"{}", "{\"x\":1}"}, {"{}", "[]"}, {"{}", NULL}, {NULL, "{}"}, {"{}", "\xef\xbb\xbf{}"}};
    char folder[] = "/tmp/tether-unit-XXXXXX", place[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(place, sizeof place, "%s/file", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct client_file file;
        struct buffer text = {0};
        struct error err = {0};
        buffer_add_literal(&text, "{\"ours\":1}");
        if (cases[i].before)
            write_file(place, cases[i].before);
        assert_int_equal(client_file_read(&file, place, &err), 0);
        if (cases[i].meanwhile)
            write_file(place, cases[i].meanwhile);
        else
            assert_int_equal(unlink(place), 0);
        assert_int_equal(client_file_replace(&file, &text, &err), UV_EAGAIN);
        assert_non_null(strstr(err.message, "another program"));
        if (cases[i].meanwhile)
            assert_holds(place, cases[i].meanwhile);
        else
            assert_int_equal(access(place, F_OK), -1);
        client_file_finish(&file);
        assert_int_equal(client_file_read(&file, place, &err), 0);
        assert_int_equal(client_file_replace(&file, &text, &err), 0);
        assert_holds(place, file.has_mark ? "\xef\xbb\xbf{\"ours\":1}" : "{\"ours\":1}");
        client_file_finish(&file);
        buffer_finish(&text);
        assert_int_equal(unlink(place), 0);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_json_set_and_removed_is_as_before),
        UNIT_TEST(test_json_that_is_refused),
        UNIT_TEST(test_json_without_an_object_there),
        UNIT_TEST(test_json_fuzzed),
        UNIT_TEST(test_toml_set_and_removed_is_as_before),
        UNIT_TEST(test_toml_that_is_refused),
        UNIT_TEST(test_toml_fuzzed),
        UNIT_TEST(test_a_file_that_others_change_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
