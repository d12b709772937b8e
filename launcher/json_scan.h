/* Looks at a JSON-RPC message as it passes, without changing or keeping it.
 *
 * The front hands on the very bytes that it was given, so it does not parse them into values: it
 * checks that they are one JSON value and picks the few texts out that decide where a message goes.
 * Bytes may come in pieces of any size, so a line that is too long to keep still tells its id. */
#ifndef TETHER_JSON_SCAN_H
#define TETHER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SCAN_DEPTH_MAX = 1024,
    SCAN_TEXT_MAX = 4096,
    SCAN_KEY_MAX = 64,
};

/* What is picked out, each where the protocol has it. */
enum scan_place {
    SCAN_NOWHERE,
    SCAN_ID,         /* id */
    SCAN_METHOD,     /* method */
    SCAN_NAME,       /* params.name */
    SCAN_URI,        /* params.uri */
    SCAN_REQUEST_ID, /* params.requestId */
    SCAN_VERSION,    /* params._meta.io.modelcontextprotocol/protocolVersion */
    SCAN_TEXTS,
    SCAN_RESULT = SCAN_TEXTS, /* result: only where it is */
    SCAN_ERROR,               /* error: the same */
    SCAN_PARAMS,
    SCAN_META,
};

/* A string (with its quotes) or a number, as it was written. */
struct scan_text {
    bool present; /* there was such a key */
    bool scalar;  /* its value is a string or a number, and `raw` is all of it */
    size_t length;
    char raw[SCAN_TEXT_MAX];
};

/* Where a value lies in the message. */
struct scan_span {
    size_t from, to; /* to 0: there is none */
};

struct scan {
    bool is_object; /* the message is an object */
    struct scan_text texts[SCAN_TEXTS];
    struct scan_span result, error;

    /* How far it has come. */
    int state, resume;
    int digits;          /* of a \u escape */
    const char *literal; /* what is left of true, false or null */
    size_t position, depth;
    unsigned char is_array[SCAN_DEPTH_MAX / 8]; /* by depth */
    enum scan_place place;                      /* of the value that comes or is under way */
    enum scan_place inside[3];                  /* where those at depth 1 to 3 are */
    size_t key_length;
    char key[SCAN_KEY_MAX];
};

void scan_begin(struct scan *scan);

/* Returns 0, or UV_EINVAL once this can be no JSON; then the rest does not matter. */
int scan_feed(struct scan *scan, const char *bytes, size_t count);

/* Says that this was all. UV_EINVAL if it is not one whole value. */
int scan_end(struct scan *scan);

/* All three at once. */
int scan_all(struct scan *scan, const char *bytes, size_t count);

/* A string that was picked out, without quotes and escapes. False if it is none, or too long. Half
 * a surrogate pair becomes U+FFFD, as does a NUL. */
bool scan_decode(const struct scan_text *text, char *out, size_t size);

/* Whether the text is this string, written without escapes. */
bool scan_is(const struct scan_text *text, const char *value);

/* Whether an id is the one that was written as `raw`. Who answers may write it another way. */
bool scan_is_id(const struct scan_text *text, const char *raw, size_t length);

enum scan_kind {
    SCAN_INVALID, /* no message of JSON-RPC */
    SCAN_REQUEST,
    SCAN_NOTIFICATION,
    SCAN_RESPONSE
};

enum scan_kind scan_kind(const struct scan *scan);

#endif
