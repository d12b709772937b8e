/* Looks at a JSON-RPC message as it passes, without changing or copying it.
 *
 * Who relays hands on the very bytes that were given, so they are not parsed into values: the scan
 * checks that they are one JSON value and finds the few parts that decide where a message goes, and
 * those that are handed on by themselves. */
#ifndef TETHER_JSON_SCAN_H
#define TETHER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SCAN_DEPTH_MAX = 1024,
    SCAN_TEXT_MAX = 4096, /* for what scan_decode writes: room for any name of use */
};

/* What is found, each where the protocol has it. */
enum scan_place {
    SCAN_NOWHERE,
    SCAN_MESSAGE, /* all of it */
    SCAN_ID,
    SCAN_METHOD,
    SCAN_PARAMS,
    SCAN_RESULT,
    SCAN_ERROR,
    SCAN_NAME,       /* params.name */
    SCAN_URI,        /* params.uri */
    SCAN_REQUEST_ID, /* params.requestId */
    SCAN_ARGUMENTS,  /* params.arguments */
    SCAN_META,       /* params._meta */
    SCAN_VERSION,    /* params._meta.io.modelcontextprotocol/protocolVersion */
    SCAN_JSONRPC,
    SCAN_RESULT_TYPE, /* result.resultType */
    SCAN_RESULT_META, /* result._meta */
    SCAN_PLACES
};

/* A value as it was written, a string with its quotes, in the text that was scanned. */
struct scan_span {
    const char *at; /* NULL: there is none */
    size_t length;
};

struct scan {
    struct scan_span spans[SCAN_PLACES];
    size_t depth, values; /* levels of objects and arrays; all that there is */
};

/* Returns 0, or UV_EINVAL if the text is not one whole JSON value. What stands there twice counts
 * as it stands there last. */
int scan_message(struct scan *scan, const char *text, size_t length);

bool scan_is_string(const struct scan_span *span);

/* A string or a number: what may be an id. */
bool scan_is_scalar(const struct scan_span *span);

/* A string without quotes and escapes. False if it is none, or too long. Half a surrogate pair
 * becomes U+FFFD, as does a NUL. */
bool scan_decode(const struct scan_span *span, char *out, size_t size);

/* Whether this is such a string, written without escapes. */
bool scan_is(const struct scan_span *span, const char *value);

/* Whether two ids are the same one. Who answers may write it another way than who asked. */
bool scan_same_id(const struct scan_span *a, const struct scan_span *b);

enum scan_kind {
    SCAN_INVALID, /* no message of JSON-RPC */
    SCAN_REQUEST,
    SCAN_NOTIFICATION,
    SCAN_RESPONSE
};

enum scan_kind scan_kind(const struct scan *scan);

#endif
