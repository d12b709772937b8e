#include "sessions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "serve/relay/calls.h"
#include "serve/relay/expect.h"
#include "serve/stdio/stdio_server.h"
#include "subscriptions.h"

enum { SELF_MOST = 4096 }; /* bytes of what a client says of itself */
enum { RANDOM_AT = 2, RANDOM_BYTES = 12 };

const char *const session_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", NULL};

int session_version_index(const char *version) {
    for (int i = 0; session_versions[i]; i++)
        if (strcmp(session_versions[i], version) == 0)
            return i;
    return -1;
}

/* ---- ids ---- */

/* What is sealed as an id is nothing else, and the other way round. */
static const uint8_t purpose[SHA256_SIZE] = "the id of a session";

static bool id_seal(const struct serve *serve, const uint8_t bytes[SESSION_BYTES],
                    char id[SESSION_ID_TEXT]) {
    struct buffer text = {0};
    bool good;
    seal_write(&text, &serve->key, UINT64_MAX, purpose, (const char *)bytes, SESSION_BYTES);
    good = !text.failed && text.length == SESSION_ID_TEXT - 1;
    if (good)
        memcpy(id, text.data, SESSION_ID_TEXT);
    buffer_finish(&text);
    return good;
}

static bool id_open(const struct serve *serve, const char *id, uint8_t bytes[SESSION_BYTES]) {
    struct buffer text = {0};
    bool good =
        seal_open(&text, &serve->key, 0, purpose, id, strlen(id)) && text.length == SESSION_BYTES;
    if (good)
        memcpy(bytes, text.data, SESSION_BYTES);
    buffer_finish(&text);
    return good;
}

/* ---- the table ---- */

/* Takes the session out of the list and frees it. */
static void release(struct mcp_session **place) {
    struct mcp_session *session = *place;
    *place = session->next;
    session->serve->session_count--;
    calls_session_gone(session);
    stdio_session_gone(session);
    if (session->stream)
        http_stream_end(session->stream);
    expect_streams(session->serve);
    watch_update(session->serve);
    json_decref(session->subscriptions);
    json_decref(session->said);
    json_decref(session->roots);
    free(session->selected);
    buffer_finish(&session->context);
    free(session);
}

static void put_first(struct mcp_session *session) {
    session->next = session->serve->sessions;
    session->serve->sessions = session;
}

/* Forgets the one that has been unused for longest; it can come back as long as its client has its
 * id. */
static void make_room(struct serve *serve) {
    struct mcp_session **oldest = NULL;
    if (serve->session_count < SERVE_SESSIONS_MOST)
        return;
    for (struct mcp_session **at = &serve->sessions; *at; at = &(*at)->next)
        if ((*at)->calls == 0)
            oldest = at;
    if (oldest)
        release(oldest);
}

static struct mcp_session *insert(struct serve *serve, const uint8_t bytes[SESSION_BYTES],
                                  const char *id) {
    struct mcp_session *session;
    make_room(serve);
    session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->serve = serve;
    session->used_at = os_clock_ms();
    memcpy(session->bytes, bytes, SESSION_BYTES);
    memcpy(session->id, id, SESSION_ID_TEXT);
    session->version = bytes[0];
    session->capabilities = bytes[1] & ((1U << MCP_CAPABILITY_BITS) - 1);
    session->promised = bytes[1] >> MCP_CAPABILITY_BITS;
    session->log_level = 1;
    put_first(session);
    serve->session_count++;
    return session;
}

/* False: it is not there, or so large that it is not kept as long as the session. */
static bool is_small(const json_t *value) {
    return value && json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) <= SELF_MOST;
}

/* What the session's id still says of its client. */
static void add_known(struct buffer *out, unsigned capabilities) {
    json_t *known = json_object();
    for (int i = 0; i < MCP_CAPABILITY_BITS; i++)
        if (capabilities & (1U << i))
            json_object_set_new(known, mcp_capability_names[i], json_object());
    rpc_add_json(out, known);
    json_decref(known);
}

static void write_context(struct mcp_session *session, const json_t *client,
                          const json_t *declared) {
    struct buffer *out = &session->context;
    char mark[40];
    buffer_add_literal(out, "{\"era\":\"legacy\",\"client\":");
    rpc_add_value(out, is_small(client) ? client : NULL);
    buffer_add_literal(out, ",\"capabilities\":");
    if (is_small(declared))
        rpc_add_json(out, declared);
    else
        add_known(out, session->capabilities);
    /* Who has the id may speak for the client, so only its mark is told. */
    snprintf(mark, sizeof mark, ",\"session\":\"%016" PRIx64 "\"}",
             offer_mark(session->id, strlen(session->id)));
    buffer_add_text(out, mark);
}

struct mcp_session *session_create(struct serve *serve, unsigned version, const json_t *params) {
    json_t *client = json_object_get(params, "clientInfo");
    json_t *declared = json_object_get(params, "capabilities");
    unsigned known = mcp_capabilities_of(declared) | serve->offers << MCP_CAPABILITY_BITS;
    uint8_t bytes[SESSION_BYTES] = {(uint8_t)version, (uint8_t)known};
    char id[SESSION_ID_TEXT];
    struct mcp_session *session;
    if (os_random(bytes + RANDOM_AT, RANDOM_BYTES) < 0 || !id_seal(serve, bytes, id))
        return NULL;
    session = insert(serve, bytes, id);
    if (session)
        write_context(session, client, declared);
    return session;
}

static bool has_ended(const struct serve *serve, const uint8_t *bytes) {
    for (unsigned i = 0; i < serve->ended_count; i++)
        if (memcmp(serve->ended[i], bytes + RANDOM_AT, RANDOM_BYTES) == 0)
            return true;
    return false;
}

static struct mcp_session *revive(struct serve *serve, const char *id) {
    uint8_t bytes[SESSION_BYTES];
    struct mcp_session *session;
    if (!id_open(serve, id, bytes) || has_ended(serve, bytes))
        return NULL;
    session = insert(serve, bytes, id);
    if (session)
        write_context(session, NULL, NULL);
    return session;
}

struct mcp_session *session_find(struct serve *serve, const char *id) {
    struct mcp_session **at = &serve->sessions, *session;
    if (strlen(id) != SESSION_ID_TEXT - 1)
        return NULL;
    while (*at && memcmp((*at)->id, id, SESSION_ID_TEXT) != 0)
        at = &(*at)->next;
    session = *at;
    if (!session)
        return revive(serve, id);
    *at = session->next;
    put_first(session);
    session->used_at = os_clock_ms();
    return session;
}

void session_end(struct mcp_session *session) {
    struct serve *serve = session->serve;
    struct mcp_session **place = &serve->sessions;
    memcpy(serve->ended[serve->ended_next], session->bytes + RANDOM_AT, RANDOM_BYTES);
    serve->ended_next = (serve->ended_next + 1) % SERVE_ENDED_MOST;
    if (serve->ended_count < SERVE_ENDED_MOST)
        serve->ended_count++;
    while (*place != session)
        place = &(*place)->next;
    release(place);
}

void sessions_finish(struct serve *serve) {
    while (serve->sessions)
        release(&serve->sessions);
}

/* ---- what its client knows ---- */

void session_note(struct mcp_session *session, json_t *said) {
    if (!session->noted) /* of what an earlier server has told it */
        memcpy(session->seen,
               kept_at_start(session->serve, caller_path(session->serve, session, said)),
               sizeof session->seen);
    session->noted = true;
    if (session->said == said)
        return;
    json_decref(session->said);
    session->said = json_incref(said);
}

static const struct offer *shown(const struct mcp_session *session) {
    return caller_offer(session->serve, session, session->said);
}

void session_see(struct mcp_session *session) {
    memcpy(session->seen, shown(session)->marks, sizeof session->seen);
}

void session_tell_changes(struct mcp_session *session) {
    const struct offer *offer = shown(session);
    if (!session->stream)
        return;
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        unsigned promise = list_terms[kind].offer;
        struct buffer out = {0};
        bool changed = list_has_changed(offer, session->seen, (enum list_kind)kind);
        if (!changed || (session->promised & promise) != promise)
            continue;
        rpc_add_notification(&out, list_terms[kind].changed, NULL);
        session_tell(session, &out);
        buffer_finish(&out);
    }
    memcpy(session->seen, offer->marks, sizeof session->seen);
}

bool session_wants_log(const struct mcp_session *session, int level) {
    return (session->promised & OFFER_LOGGING) && level >= session->log_level;
}

void session_tell(struct mcp_session *session, const struct buffer *message) {
    if (session->stream && !message->failed)
        http_stream_event(session->stream, NULL, message->data, message->length);
}

void sessions_close_streams(struct serve *serve) {
    for (struct mcp_session *session = serve->sessions; session; session = session->next) {
        if (session->stream)
            http_stream_end(session->stream);
        session->stream = NULL;
    }
}
