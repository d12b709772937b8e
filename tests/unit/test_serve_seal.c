/* Seals: SHA-256, HMAC, and what goes through a client (F7). */
#include "base64.h"
#include "serve/mcp/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/mcp/sessions.h"
#include "unit.h"

static void hex_is(const uint8_t *bytes, size_t count, const char *wanted) {
    char text[2 * SHA256_SIZE + 1];
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    assert_string_equal(text, wanted);
}

/* The examples of FIPS 180-4, and lengths around the end of a block. */
static void test_sha256(void **state) {
    static const struct {
        const char *text, *hash;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    uint8_t out[SHA256_SIZE], again[SHA256_SIZE];
    struct sha hash;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sha256_init(&hash);
        sha_add(&hash, rows[i].text, strlen(rows[i].text));
        sha_end(&hash, out, sizeof out);
        hex_is(out, sizeof out, rows[i].hash);
    }
    sha256_init(&hash);
    for (int i = 0; i < 15625; i++)
        sha_add(&hash, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
    sha_end(&hash, out, sizeof out);
    hex_is(out, sizeof out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (size_t length = 0; length < 130; length++) { /* in one piece, and byte by byte */
        static const char text[130];
        sha256_init(&hash);
        sha_add(&hash, text, length);
        sha_end(&hash, out, sizeof out);
        sha256_init(&hash);
        for (size_t i = 0; i < length; i++)
            sha_add(&hash, text + i, 1);
        sha_end(&hash, again, sizeof again);
        assert_memory_equal(out, again, sizeof out);
    }
}

/* RFC 4231, case 1 (its key padded with zeros, which HMAC does anyway). */
static void test_hmac(void **state) {
    struct seal_key key = {{0}};
    uint8_t out[SHA256_SIZE];
    (void)state;
    memset(key.bytes, 0x0b, 20);
    seal_mac(&key, "Hi There", 8, out);
    hex_is(out, sizeof out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

struct sealed {
    struct seal_key key;
    uint8_t request[SHA256_SIZE];
    struct buffer text;
};

static void make(struct sealed *sealed) {
    seal_key_derive(&sealed->key, "secret", 6, "test");
    memset(sealed->request, 7, sizeof sealed->request);
    sealed->text = (struct buffer){0};
    seal_write(&sealed->text, &sealed->key, 1000, sealed->request, "the state", 9);
}

static bool opens(const struct sealed *sealed, uint64_t now, const char *text, size_t length) {
    struct buffer out = {0};
    bool good = seal_open(&out, &sealed->key, now, sealed->request, text, length);
    if (good) {
        assert_int_equal(out.length, 9);
        assert_memory_equal(out.data, "the state", 9);
    }
    buffer_finish(&out);
    return good;
}

static void test_seal_holds_in_time(void **state) {
    struct sealed sealed;
    (void)state;
    make(&sealed);
    assert_true(opens(&sealed, 0, sealed.text.data, sealed.text.length));
    assert_true(opens(&sealed, 1000, sealed.text.data, sealed.text.length));
    assert_false(opens(&sealed, 1001, sealed.text.data, sealed.text.length));
    buffer_finish(&sealed.text);
}

/* Whatever is changed, added or left out: it does not open. */
static void test_every_change_breaks_the_seal(void **state) {
    struct sealed sealed;
    (void)state;
    make(&sealed);
    for (size_t i = 0; i < sealed.text.length; i++) {
        char kept = sealed.text.data[i];
        for (int c = 1; c < 256; c++) {
            sealed.text.data[i] = (char)c;
            if ((char)c != kept)
                assert_false(opens(&sealed, 0, sealed.text.data, sealed.text.length));
        }
        sealed.text.data[i] = kept;
        assert_false(opens(&sealed, 0, sealed.text.data, i));
    }
    buffer_add_literal(&sealed.text, "-TAMPERED");
    assert_false(opens(&sealed, 0, sealed.text.data, sealed.text.length));
    buffer_finish(&sealed.text);
}

static void test_seal_is_for_one_request_and_one_key(void **state) {
    struct sealed sealed;
    (void)state;
    make(&sealed);
    sealed.request[0] ^= 1;
    assert_false(opens(&sealed, 0, sealed.text.data, sealed.text.length));
    sealed.request[0] ^= 1;
    seal_key_derive(&sealed.key, "secret", 6, "another purpose");
    assert_false(opens(&sealed, 0, sealed.text.data, sealed.text.length));
    buffer_finish(&sealed.text);
}

static void test_base64_is_strict(void **state) {
    static const char *const wrong[] = {"SGVsbG8", "SGVs!!!bG8=", "SGVsbG9=", "=",
                                        "A===",    "SGVsbG8= ",   "SGVs-G8="};
    struct buffer out = {0};
    (void)state;
    assert_true(base64_decode(&out, BASE64, "SGVsbG8=", 8));
    assert_int_equal(out.length, 5);
    assert_memory_equal(out.data, "Hello", 5);
    assert_true(base64_decode(&out, BASE64, "", 0));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (base64_decode(&out, BASE64, wrong[i], strlen(wrong[i])))
            fail_msg("taken for base64: %s", wrong[i]);
    buffer_finish(&out);
}

/* A session's id is known again by whoever has the key, and by nobody else. */
static void test_session_ids(void **state) {
    struct serve *serve = calloc(1, sizeof *serve);
    struct mcp_session *session;
    char id[SESSION_ID_TEXT];
    (void)state;
    seal_key_derive(&serve->key, "secret", 6, "test");
    session = session_create(serve, 1, NULL);
    assert_non_null(session);
    memcpy(id, session->id, sizeof id);
    assert_ptr_equal(session_find(serve, id), session);
    sessions_finish(serve); /* as if the server had been restarted */
    session = session_find(serve, id);
    assert_non_null(session);
    assert_int_equal(session->version, 1);
    for (size_t i = 0; i < sizeof id - 1; i++) {
        char kept = id[i];
        id[i] = kept == '0' ? '1' : '0';
        assert_null(session_find(serve, id));
        id[i] = kept;
    }
    session_end(session);
    assert_null(session_find(serve, id));
    memcpy(id, session_create(serve, 1, NULL)->id, sizeof id);
    sessions_finish(serve);
    seal_key_derive(&serve->key, "another", 7, "test");
    assert_null(session_find(serve, id));
    sessions_finish(serve);
    free(serve);
}

/* Any number of clients that never say goodbye take up a bounded number of places. */
static void test_sessions_are_bounded(void **state) {
    struct serve *serve = calloc(1, sizeof *serve);
    char first[SESSION_ID_TEXT];
    (void)state;
    memcpy(first, session_create(serve, 0, NULL)->id, sizeof first);
    for (int i = 0; i < 3 * SERVE_SESSIONS_MOST; i++)
        assert_non_null(session_create(serve, 0, NULL));
    assert_int_equal(serve->session_count, SERVE_SESSIONS_MOST);
    assert_non_null(session_find(serve, first)); /* it comes back */
    assert_int_equal(serve->session_count, SERVE_SESSIONS_MOST);
    sessions_finish(serve);
    assert_int_equal(serve->session_count, 0);
    free(serve);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_sha256),
        UNIT_TEST(test_hmac),
        UNIT_TEST(test_seal_holds_in_time),
        UNIT_TEST(test_every_change_breaks_the_seal),
        UNIT_TEST(test_seal_is_for_one_request_and_one_key),
        UNIT_TEST(test_base64_is_strict),
        UNIT_TEST(test_session_ids),
        UNIT_TEST(test_sessions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
