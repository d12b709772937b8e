/* What is checked about requests: who may ask, and whether headers and body agree (F7). */
#include "serve/http/http_check.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/stateless_check.h"

#include <string.h>

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void test_hosts(void **state) {
    static const char *const ours[] = {"localhost:8000",   "LocalHost:8000", "127.0.0.1:8000",
                                       "127.1.2.255:8000", "[::1]:8000",     "localhost",
                                       "127.0.0.1"};
    static const char *const others[] = {"",
                                         "example.com",
                                         "example.com:8000",
                                         "localhost.example.com:8000",
                                         "localhost:8001",
                                         "localhost:",
                                         "localhost:80x",
                                         "127.0.0.1.example.com:8000",
                                         "127.0.0.256:8000",
                                         "127.0.0:8000",
                                         "128.0.0.1:8000",
                                         "0.0.0.0:8000",
                                         "[::2]:8000",
                                         "::1",
                                         "localhost:8000/",
                                         "localhost@example.com",
                                         "127.0.0.1:8000:1",
                                         "localhost:008000000",
                                         " localhost",
                                         "127.0.0.1 :8000"};
    (void)state;
    for (size_t i = 0; i < COUNT(ours); i++)
        if (!http_host_is_ours(ours[i], 8000))
            fail_msg("refused: %s", ours[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (http_host_is_ours(others[i], 8000))
            fail_msg("let in: %s", others[i]);
}

static void test_origins(void **state) {
    static const struct {
        const char *origin, *host;
    } ours[] = {{"http://localhost:8000", "localhost:8000"},
                {"http://127.0.0.1:8000", "127.0.0.1"},
                {"HTTP://[::1]:8000", "[::1]:8000"},
                {"http://LocalHost:8000", "localHost:8000"}},
      others[] = {{"http://localhost:8000", "127.0.0.1:8000"},
                  {"http://127.0.0.2:8000", "127.0.0.1:8000"},
                  {"http://127.0.0.1:8000", "127.0.0.11:8000"},
                  {"http://127.0.0.11:8000", "127.0.0.1:8000"},
                  {"http://[::1]:8000", "localhost:8000"}};
    static const char *const foreign[] = {"null",
                                          "http://localhost",
                                          "http://localhost:3000",
                                          "https://localhost:8000",
                                          "http://127.0.0.1:80000",
                                          "",
                                          "http://example.com",
                                          "http://localhost.evil.com",
                                          "http://127.0.0.1.nip.io",
                                          "file://",
                                          "localhost",
                                          "http://localhost:3000/x",
                                          "http://user@localhost"};
    (void)state;
    for (size_t i = 0; i < COUNT(ours); i++)
        assert_true(http_origin_is_ours(ours[i].origin, ours[i].host, 8000));
    for (size_t i = 0; i < COUNT(others); i++)
        if (http_origin_is_ours(others[i].origin, others[i].host, 8000))
            fail_msg("let in: %s at %s", others[i].origin, others[i].host);
    for (size_t i = 0; i < COUNT(foreign); i++)
        if (http_origin_is_ours(foreign[i], "localhost:8000", 8000) ||
            http_origin_is_ours(foreign[i], "127.0.0.1:8000", 8000))
            fail_msg("let in: %s", foreign[i]);
    assert_true(http_origin_is_ours("http://localhost", "localhost", 80));
}

static void test_accept(void **state) {
    (void)state;
    assert_true(http_accepts(NULL, "application/json"));
    assert_true(http_accepts("application/json, text/event-stream", "text/event-stream"));
    assert_true(http_accepts("text/html;q=0.9 , APPLICATION/JSON;q=0.1", "application/json"));
    assert_true(http_accepts("*/*", "application/json"));
    assert_true(http_accepts("text/*", "text/event-stream"));
    assert_false(http_accepts("text/*", "application/json"));
    assert_false(http_accepts("", "application/json"));
    assert_false(http_accepts("application/jsonx", "application/json"));
    assert_false(http_accepts(",,;", "application/json"));
    assert_true(http_is_json("application/json; charset=utf-8"));
    assert_false(http_is_json("application/json-patch"));
    assert_false(http_is_json("text/plain"));
    assert_false(http_is_json(NULL));
}

static void test_tokens(void **state) {
    (void)state;
    assert_true(http_token_matches("Bearer abc", "abc"));
    assert_true(http_token_matches("bearer abc", "abc"));
    assert_true(http_token_matches("Bearer   abc", "abc"));
    assert_false(http_token_matches("Bearer abcabc", "abc"));
    assert_false(http_token_matches("Bearer ab", "abc"));
    assert_false(http_token_matches("Bearer ", "abc"));
    assert_false(http_token_matches("Bearer    ", "abc"));
    assert_false(http_token_matches("Bearerabc", "abc"));
    assert_false(http_token_matches("Basic abc", "abc"));
    assert_false(http_token_matches(NULL, "abc"));
    assert_false(http_token_matches("Bearer ", ""));
}

static void test_headers_are_known_in_any_case(void **state) {
    (void)state;
    assert_int_equal(http_header_of("HOST", 4), HTTP_HOST);
    assert_int_equal(http_header_of("Mcp-Session-Id", 14), HTTP_SESSION_ID);
    assert_int_equal(http_header_of("hos", 3), HTTP_HEADER_COUNT);
    assert_int_equal(http_header_of("hostx", 5), HTTP_HEADER_COUNT);
    assert_int_equal(http_header_of("", 0), HTTP_HEADER_COUNT);
}

/* ---- the modern era ---- */

#define META "\"_meta\":{\"" META_VERSION "\":\"2026-07-28\",\"" META_CAPABILITIES "\":{}}"

struct modern_row {
    const char *version, *method, *name; /* headers */
    const char *body_method, *params;
    int code;
};

static const struct modern_row modern_rows[] = {
    {"2026-07-28", "tools/list", NULL, "tools/list", "{" META "}", 0},
    {"2026-07-28", "tools/call", "t", "tools/call", "{\"name\":\"t\"," META "}", 0},
    {"2026-07-28", "tools/call", "=?base64?dA==?=", "tools/call", "{\"name\":\"t\"," META "}", 0},
    {"2026-07-28", "resources/read", "a:b", "resources/read", "{\"uri\":\"a:b\"," META "}", 0},
    {"2026-07-28", "tools/list", NULL, "tools/list", "{}", RPC_INVALID_PARAMS},
    {"2026-07-28", "tools/list", NULL, "tools/list", "{\"_meta\":7}", RPC_INVALID_PARAMS},
    {"2026-07-28", "tools/list", NULL, "tools/list",
     "{\"_meta\":{\"" META_VERSION "\":\"2026-07-28\"}}", RPC_INVALID_PARAMS},
    {"2026-07-28", "tools/list", NULL, "tools/list", "{\"_meta\":{\"" META_CAPABILITIES "\":{}}}",
     RPC_INVALID_PARAMS},
    {NULL, "tools/list", NULL, "tools/list", "{" META "}", MCP_HEADER_MISMATCH},
    {"2025-11-25", "tools/list", NULL, "tools/list", "{" META "}", MCP_HEADER_MISMATCH},
    {"v9", "tools/list", NULL, "tools/list",
     "{\"_meta\":{\"" META_VERSION "\":\"v9\",\"" META_CAPABILITIES "\":{}}}",
     MCP_UNSUPPORTED_VERSION},
    {"2026-07-28", NULL, NULL, "tools/list", "{" META "}", MCP_HEADER_MISMATCH},
    {"2026-07-28", "TOOLS/LIST", NULL, "tools/list", "{" META "}", MCP_HEADER_MISMATCH},
    {"2026-07-28", "tools/call", NULL, "tools/call", "{\"name\":\"t\"," META "}",
     MCP_HEADER_MISMATCH},
    {"2026-07-28", "tools/call", "T", "tools/call", "{\"name\":\"t\"," META "}",
     MCP_HEADER_MISMATCH},
    {"2026-07-28", "prompts/get", "u", "prompts/get", "{\"name\":\"t\"," META "}",
     MCP_HEADER_MISMATCH},
    {"2026-07-28", "tools/call", "=?base64?dA?=", "tools/call", "{\"name\":\"t\"," META "}",
     MCP_HEADER_MISMATCH},
    {"2026-07-28", "tools/call", "\xc3\xa4", "tools/call", "{\"name\":\"\xc3\xa4\"," META "}",
     MCP_HEADER_MISMATCH},
};

static void test_modern_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(modern_rows); i++) {
        const struct modern_row *row = &modern_rows[i];
        const struct http_request http = {.headers = {[HTTP_PROTOCOL_VERSION] = row->version,
                                                      [HTTP_MCP_METHOD] = row->method,
                                                      [HTTP_MCP_NAME] = row->name}};
        struct rpc_message message = {.method = row->body_method};
        struct error err = {.message = ""};
        int code;
        message.params = json_loads(row->params, 0, NULL);
        assert_non_null(message.params);
        code = modern_check(&http, &message, json_object_get(message.params, "_meta"), &err);
        if (code != row->code)
            fail_msg("row %zu: %d (%s) instead of %d", i, code, err.message, row->code);
        assert_true((code == 0) == (err.message[0] == 0));
        json_decref(message.params);
    }
}

static void test_which_era(void **state) {
    json_t *meta = json_pack("{s:s}", META_VERSION, "2026-07-28"),
           *other = json_pack("{s:i}", "a", 1);
    (void)state;
    assert_true(modern_is_meant(NULL, meta));
    assert_true(modern_is_meant("2026-07-28", NULL));
    assert_true(modern_is_meant("2027-01-01", other));
    assert_false(modern_is_meant("2025-11-25", NULL));
    assert_false(modern_is_meant("v9", other));
    assert_false(modern_is_meant("2026-07-28x", NULL));
    assert_false(modern_is_meant(NULL, NULL));
    json_decref(meta);
    json_decref(other);
}

static int parameters(const char *name, const char *value, const char *arguments) {
    static const char schema_text[] =
        "{\"properties\":{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
        "\"o\":{\"properties\":{\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}}},"
        "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}}}";
    const struct http_request http = {.parameters = {{name, value}},
                                      .parameter_count = name != NULL};
    json_t *schema = json_loads(schema_text, 0, NULL), *body = json_loads(arguments, 0, NULL);
    struct error err;
    int code = modern_check_parameters(&http, schema, body, &err);
    json_decref(schema);
    json_decref(body);
    return code;
}

static void test_arguments_in_headers(void **state) {
    (void)state;
    assert_int_equal(parameters(NULL, NULL, "{}"), 0);
    assert_int_equal(parameters("region", "eu", "{\"r\":\"eu\"}"), 0);
    assert_int_equal(parameters("Region", "=?base64?ZXU=?=", "{\"r\":\"eu\"}"), 0);
    assert_int_equal(parameters("N", "42.0", "{\"o\":{\"n\":42}}"), 0);
    assert_int_equal(parameters("B", "true", "{\"b\":true}"), 0);
    assert_int_equal(parameters("Unknown", "x", "{}"), 0);
    assert_int_equal(parameters(NULL, NULL, "{\"r\":null}"), 0);
    assert_int_equal(parameters("Region", "us", "{\"r\":\"eu\"}"), MCP_HEADER_MISMATCH);
    assert_int_equal(parameters("Region", "eu", "{}"), MCP_HEADER_MISMATCH);
    assert_int_equal(parameters(NULL, NULL, "{\"r\":\"eu\"}"), MCP_HEADER_MISMATCH);
    assert_int_equal(parameters("N", "42x", "{\"o\":{\"n\":42}}"), MCP_HEADER_MISMATCH);
    assert_int_equal(parameters("B", "True", "{\"b\":true}"), MCP_HEADER_MISMATCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_hosts),
        UNIT_TEST(test_origins),
        UNIT_TEST(test_accept),
        UNIT_TEST(test_tokens),
        UNIT_TEST(test_headers_are_known_in_any_case),
        UNIT_TEST(test_modern_headers),
        UNIT_TEST(test_which_era),
        UNIT_TEST(test_arguments_in_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
