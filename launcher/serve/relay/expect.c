#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "memory.h"
#include "protocol/daemon_client.h"
#include "serve/mcp/sessions.h"

struct expectation {
    struct serve *serve;
    struct daemon_client *daemon; /* NULL: there is none */
    bool is_ready, has_told;      /* as it calls us; that there are streams */
    json_t *sessions; /* "id link" of the editors that the daemon knows → since when */
    uv_timer_t timer; /* the end of waiting */
    int64_t wait_ms;
    int64_t until;           /* by what we have seen ourselves */
    struct os_identity gone; /* whose connection ended last; pid 0: nobody's, or it is back */
    int64_t gone_at;
};

/* ---- how long ---- */

/* Whether the editor of a session is connected here, and has something to offer. */
static bool is_here(const struct serve *serve, json_int_t pid) {
    for (const struct editor *editor = serve->editors; editor; editor = editor->next)
        if (editor->greeted && !editor->closing && editor->offer->is_known &&
            json_integer_value(json_object_get(editor->hello, "pid")) == pid)
            return true;
    return false;
}

/* An editor that dies loses its connection before it is dead, so it is looked at again each time.
 */
static int64_t back_until(const struct expectation *all) {
    bool soon = EXPECT_GONE_MS < all->wait_ms && os_liveness(&all->gone) == OS_DEAD;
    return all->gone_at + (soon ? EXPECT_GONE_MS : all->wait_ms);
}

static int64_t until(const struct serve *serve) {
    const struct expectation *all = serve->expectation;
    int64_t last = all->gone.pid > 0 ? back_until(all) : all->until;
    const char *key;
    json_t *session;
    /* What is told of a session: since when it is as it is, and whose it is. */
    json_object_foreach(all->sessions, key, session) {
        int64_t end = json_integer_value(json_array_get(session, 0)) + all->wait_ms;
        if (end > last && !is_here(serve, json_integer_value(json_array_get(session, 1))))
            last = end;
    }
    return last;
}

bool expect_editor(const struct serve *serve) {
    return os_clock_ms() < until(serve);
}

static void on_timer(uv_timer_t *timer);

/* The calls that wait are looked at when it is over, and whenever it may have become shorter. */
static void settle(struct expectation *all) {
    int64_t now = os_clock_ms(), end = until(all->serve);
    uv_timer_stop(&all->timer);
    if (end <= now)
        calls_give_up(all->serve);
    else if (calls_wait(all->serve))
        uv_timer_start(&all->timer, on_timer, (uint64_t)(end - now), 0);
}

static void on_timer(uv_timer_t *timer) {
    settle(timer->data);
}

void expect_waiting(struct serve *serve) {
    settle(serve->expectation);
}

static void expect_for(struct expectation *all, int64_t ms) {
    int64_t end = os_clock_ms() + ms;
    all->gone.pid = 0;
    if (end > all->until)
        all->until = end;
    settle(all);
}

void expect_arrived(struct serve *serve) {
    expect_for(serve->expectation, serve->expectation->wait_ms);
}

void expect_back(const struct editor *editor) {
    struct expectation *all = editor->serve->expectation;
    const char *start = rpc_text(editor->hello, "start");
    all->until = 0; /* it is not on its way here any more */
    all->gone.pid = json_integer_value(json_object_get(editor->hello, "pid"));
    all->gone_at = os_clock_ms();
    if (all->gone.pid > 0 && start && os_start_parse(start, &all->gone.start) == 0)
        settle(all);
    else
        expect_for(all, EXPECT_GONE_MS < all->wait_ms ? EXPECT_GONE_MS : all->wait_ms);
}

/* ---- the daemon ---- */

static void note_session(json_t *now, const json_t *before, const json_t *session) {
    char key[80];
    json_t *known;
    if (strcmp(message_text(session, "role"), "editor") != 0)
        return;
    snprintf(key, sizeof key, "%.40s %.20s", message_text(session, "session"),
             message_text(session, "link"));
    known = json_object_get(before, key);
    if (known)
        json_object_set(now, key, known);
    else
        json_object_set_new(now, key,
                            json_pack("[I, I]", (json_int_t)os_clock_ms(),
                                      (json_int_t)message_number(session, "pid", 0)));
}

static void on_heard(void *context, enum message_kind kind, json_t *message) {
    struct expectation *all = context;
    const json_t *session;
    json_t *now;
    size_t i;
    if (kind != MESSAGE_WELCOME && kind != MESSAGE_STATE)
        return;
    all->is_ready = message_state(message) == SERVER_READY;
    expect_streams(all->serve);
    now = json_object();
    json_array_foreach(json_object_get(message, "sessions"), i, session) {
        note_session(now, all->sessions, session);
    }
    json_decref(all->sessions);
    all->sessions = now;
    settle(all);
}

/* Told once, and when it changes; the daemon does not hear it before it calls us ready. */
void expect_streams(const struct serve *serve) {
    struct expectation *all = serve->expectation;
    bool some = serve->listeners != NULL;
    for (const struct mcp_session *session = serve->sessions; session; session = session->next)
        some |= session->stream != NULL;
    if (!all || !all->daemon || !all->is_ready || all->has_told == some)
        return;
    all->has_told = some;
    daemon_client_say(all->daemon,
                      json_pack("{s:i, s:s, s:b}", "id", 1, "type", "clients", "some", some));
}

static void on_lost(void *context, int why) {
    struct expectation *all = context;
    (void)why;
    daemon_client_close(all->daemon);
    all->daemon = NULL;
    json_object_clear(all->sessions);
}

static void connect_daemon(struct expectation *all) {
    static const struct daemon_client_events events = {NULL, on_heard, on_lost};
    const struct hello hello = {.role = "cli"};
    char endpoint[OS_ENDPOINT_MAX];
    struct serve *serve = all->serve;
    if (!os_variable("TETHER_DAEMON") || !serve->dir.path[0] ||
        os_control_name(&serve->dir, false, endpoint, NULL) < 0)
        return;
    all->daemon = daemon_client_open(&serve->loop, endpoint, hello, &events, all);
}

/* ---- the whole ---- */

void expect_init(struct serve *serve) {
    struct expectation *all = memory_zeroed(sizeof *all);
    all->serve = serve;
    all->sessions = json_object();
    all->wait_ms = serve_interval("TETHER_EDITOR_WAIT_MS", EXPECT_MS);
    deadlines_add(&serve->deadlines, &serve->wait_time, (uint64_t)all->wait_ms, call_waited);
    uv_timer_init(&serve->loop, &all->timer);
    all->timer.data = all;
    serve->expectation = all;
    connect_daemon(all);
}

void expect_stop(struct serve *serve) {
    struct expectation *all = serve->expectation;
    daemon_client_close(all->daemon);
    all->daemon = NULL;
    uv_close((uv_handle_t *)&all->timer, NULL);
}

void expect_finish(struct serve *serve) {
    json_decref(serve->expectation->sessions);
    free(serve->expectation);
}
