/* The lifecycle machine with the numbers that users get. What holds in every order of events is
 * the explorer's business; here are the timings, the defaults and the words. */
#include "unit.h"

#include "lifecycle/lifecycle.h"

#include <string.h>

#define SECOND 1000u
#define MINUTE (60u * SECOND)

static const struct os_identity editor = {100, 7};
static const struct os_identity other = {200, 8};

struct life {
    struct lifecycle l;
    struct lifecycle_actions out;
    uint64_t now;
};

static struct lifecycle_config defaults(void) {
    struct lifecycle_config config;
    lifecycle_config_defaults(&config);
    return config;
}

static void begin_with(struct life *life, const struct lifecycle_config *config,
                       const struct os_identity *owner, uint32_t seed) {
    life->now = 5000;
    lifecycle_init(&life->l, config, owner, seed, life->now, &life->out);
}

static void begin(struct life *life, const struct os_identity *owner) {
    struct lifecycle_config config = defaults();
    begin_with(life, &config, owner, 1);
}

static void step(struct life *life, struct lifecycle_event event) {
    lifecycle_step(&life->l, &event, life->now, &life->out);
}

#define STEP(life, ...) step((life), (struct lifecycle_event){.kind = __VA_ARGS__})

static bool did(const struct life *life, uint32_t actions) {
    return (life->out.set & actions) == actions;
}

static void ready(struct life *life) {
    STEP(life, LIFECYCLE_ON_READY);
    assert_int_equal(life->l.server, LIFECYCLE_READY);
}

static void hello(struct life *life, uint32_t id, struct os_identity process,
                  enum lifecycle_role role) {
    STEP(life, LIFECYCLE_ON_HELLO, .session = id, .process = process, .role = role);
    assert_int_equal(life->out.answer, LIFECYCLE_ANSWER_ADMITTED);
}

static void dead(struct life *life, struct os_identity process) {
    STEP(life, LIFECYCLE_ON_PROCESS, .process = process, .liveness = OS_DEAD);
}

/* Sleeps until the machine wants to be woken, and wakes it. Returns how long that took. */
static uint64_t sleep_on(struct life *life) {
    uint64_t slept = lifecycle_deadline(&life->l) - life->now;
    assert_int_not_equal(lifecycle_deadline(&life->l), LIFECYCLE_NEVER);
    life->now += slept;
    STEP(life, LIFECYCLE_ON_TIMER);
    return slept;
}

/* Lets the server crash and its tree vanish. Returns the wait before the next start, or NEVER. */
static uint64_t crash(struct life *life) {
    STEP(life, LIFECYCLE_ON_EXIT, .success = false);
    assert_true(did(life, LIFECYCLE_DO_KILL_TREE));
    assert_false(did(life, LIFECYCLE_DO_START));
    STEP(life, LIFECYCLE_ON_TREE_EMPTY);
    if (life->l.server != LIFECYCLE_BACKOFF)
        return did(life, LIFECYCLE_DO_START) ? 0 : LIFECYCLE_NEVER;
    uint64_t slept = sleep_on(life);
    assert_true(did(life, LIFECYCLE_DO_START));
    return slept;
}

/* A7: the numbers that hold when nothing else was said. */
static void test_defaults(void **state) {
    (void)state;
    struct lifecycle_config c = defaults();
    assert_int_equal(c.grace_ms, 500);
    assert_int_equal(c.stop_grace_ms, 5 * SECOND);
    assert_int_equal(c.sweep_ms, 30 * SECOND);
    assert_int_equal(c.idle_limit_ms, 0);
    assert_int_equal(c.silence_limit_ms, 30 * MINUTE);
    assert_int_equal(c.hold_ms, 30 * SECOND);
    assert_int_equal(c.parent_watchdog, 1);
    assert_int_equal(c.crash_limit, 5);
    assert_int_equal(c.crash_window_ms, MINUTE);
    assert_int_equal(lifecycle_config_repair(&c), 0);
}

/* A7: every field has one row, and what is out of range goes back to its default. */
static void test_repair(void **state) {
    (void)state;
    struct lifecycle_config c = defaults();
    assert_int_equal(lifecycle_knob_count * sizeof(uint32_t), sizeof c);
    for (size_t i = 0; i < lifecycle_knob_count; i++) {
        assert_int_equal(lifecycle_knobs[i].offset, i * sizeof(uint32_t));
        assert_in_range(lifecycle_knobs[i].fallback, lifecycle_knobs[i].least,
                        lifecycle_knobs[i].most);
    }
    c.sweep_ms = 0;
    c.restart = 9;
    assert_int_equal(lifecycle_config_repair(&c), 2);
    assert_int_equal(c.sweep_ms, 30 * SECOND);
    assert_int_equal(c.restart, LIFECYCLE_RESTART_ON_FAILURE);
}

/* A4: 500 ms between the two looks; the second decides. */
static void test_owner_dies(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    assert_true(did(&life, LIFECYCLE_DO_START | LIFECYCLE_DO_WATCH_OWNER));
    ready(&life);
    dead(&life, editor);
    assert_int_equal(lifecycle_explain(&life.l, life.now).kind, LIFECYCLE_WHY_GRACE);
    assert_int_equal(sleep_on(&life), 500);
    assert_true(did(&life, LIFECYCLE_DO_SAMPLE_OWNER));
    dead(&life, editor);
    assert_true(did(&life, LIFECYCLE_DO_CLOSE_STDIN | LIFECYCLE_DO_TERMINATE));
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_OWNER);
    STEP(&life, LIFECYCLE_ON_TREE_EMPTY);
    assert_true(did(&life, LIFECYCLE_DO_CHECK_PORTS));
    STEP(&life, LIFECYCLE_ON_PORTS, .success = true);
    assert_true(did(&life, LIFECYCLE_DO_RECORD | LIFECYCLE_DO_EXIT));
    assert_true(life.l.ports_free);
    assert_false(life.l.survivors);
    assert_int_equal(lifecycle_deadline(&life.l), LIFECYCLE_NEVER);
}

/* A4: another start of the same pid is another process, and a second look may take it back. */
static void test_owner_misfires(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    ready(&life);
    dead(&life, (struct os_identity){editor.pid, editor.start + 1});
    assert_int_equal(life.l.ownership, LIFECYCLE_OWNED);
    dead(&life, editor);
    sleep_on(&life);
    STEP(&life, LIFECYCLE_ON_PROCESS, .process = editor, .liveness = OS_UNKNOWN);
    assert_int_equal(life.l.ownership, LIFECYCLE_OWNED);
    assert_int_equal(lifecycle_deadline(&life.l), LIFECYCLE_NEVER);
}

/* A11: without a grace both looks happen in the same instant. */
static void test_grace_0(void **state) {
    (void)state;
    struct life life;
    struct lifecycle_config config = defaults();
    config.grace_ms = 0;
    begin_with(&life, &config, &editor, 1);
    ready(&life);
    dead(&life, editor);
    assert_true(did(&life, LIFECYCLE_DO_SAMPLE_OWNER));
    assert_false(did(&life, LIFECYCLE_DO_TERMINATE));
    dead(&life, editor);
    assert_true(did(&life, LIFECYCLE_DO_TERMINATE));
}

/* A6: a server that ignores everything: 5 s, 10 s for the kill, 2 s for the ports, each once. */
static void test_stubborn_server(void **state) {
    (void)state;
    struct life life;
    begin(&life, NULL);
    STEP(&life, LIFECYCLE_ON_SIGNAL);
    assert_true(did(&life, LIFECYCLE_DO_TERMINATE));
    assert_int_equal(sleep_on(&life), 5 * SECOND);
    assert_true(did(&life, LIFECYCLE_DO_KILL_TREE));
    assert_int_equal(sleep_on(&life), 10 * SECOND);
    assert_true(did(&life, LIFECYCLE_DO_CHECK_PORTS));
    assert_int_equal(sleep_on(&life), 2 * SECOND);
    assert_true(did(&life, LIFECYCLE_DO_EXIT));
    assert_true(life.l.survivors);
    assert_false(life.l.ports_free);
}

static void test_second_signal(void **state) {
    (void)state;
    struct life life;
    begin(&life, NULL);
    STEP(&life, LIFECYCLE_ON_SIGNAL);
    assert_false(did(&life, LIFECYCLE_DO_KILL_TREE));
    STEP(&life, LIFECYCLE_ON_SIGNAL);
    assert_true(did(&life, LIFECYCLE_DO_KILL_TREE));
    STEP(&life, LIFECYCLE_ON_SIGNAL);
    assert_false(did(&life, LIFECYCLE_DO_KILL_TREE));
}

/* At once, then 100 to 200, 200 to 400, 400 to 800 ms, and the fifth within a minute is it. */
static void test_backoff(void **state) {
    (void)state;
    uint64_t least = LIFECYCLE_NEVER, most = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct life life;
        struct lifecycle_config config = defaults();
        begin_with(&life, &config, &editor, seed * 7919);
        ready(&life);
        assert_int_equal(crash(&life), 0);
        uint64_t first = crash(&life);
        assert_in_range(first, 100, 200);
        assert_in_range(crash(&life), 200, 400);
        assert_in_range(crash(&life), 400, 800);
        assert_int_equal(crash(&life), LIFECYCLE_NEVER);
        assert_int_equal(life.l.server, LIFECYCLE_FAILED);
        assert_int_equal(life.l.failure, LIFECYCLE_FAILURE_CRASHES);
        least = first < least ? first : least;
        most = first > most ? first : most;
    }
    assert_true(least < 110 && most > 190); /* the jitter uses its whole range */
}

/* Crashes too far apart to give up lead to the cap and stay below it. */
static void test_backoff_cap(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    for (int i = 0; i < 40; i++) {
        ready(&life);
        life.now += 20 * SECOND;
        uint64_t wait = crash(&life);
        assert_true(wait <= 30 * SECOND);
        if (i > 9)
            assert_true(wait >= 15 * SECOND);
    }
}

/* Four crashes, a minute of health, four more: nobody gives up, and the count begins anew. */
static void test_health_forgets(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    for (int round = 0; round < 3; round++) {
        ready(&life);
        life.now += MINUTE;
        assert_int_equal(crash(&life), 0);
        for (int i = 0; i < 3; i++)
            assert_int_not_equal(crash(&life), LIFECYCLE_NEVER);
    }
}

/* B and the policy: an exit with status 0 is an ordinary end, and so is any under `never`. */
static void test_ordinary_end(void **state) {
    (void)state;
    struct life life;
    struct lifecycle_config config = defaults();
    begin_with(&life, &config, &editor, 1);
    ready(&life);
    STEP(&life, LIFECYCLE_ON_EXIT, .success = true);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_FINISHED);
    assert_int_equal(lifecycle_exit_code(&life.l), 0);
    config.restart = LIFECYCLE_RESTART_NEVER;
    begin_with(&life, &config, &editor, 1);
    STEP(&life, LIFECYCLE_ON_EXIT, .success = false);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_FINISHED);
    assert_int_equal(lifecycle_exit_code(&life.l), 1);
}

/* A first start that fails ends the daemon; with somebody to see it, it stays until they go. */
static void test_not_ready(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    assert_int_equal(sleep_on(&life), 30 * SECOND);
    assert_int_equal(life.l.failure, LIFECYCLE_FAILURE_NOT_READY);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_FAILED);
    assert_int_equal(lifecycle_exit_code(&life.l), 4);

    begin(&life, &editor);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    STEP(&life, LIFECYCLE_ON_UNSTARTED, .failure = LIFECYCLE_FAILURE_PORT);
    assert_int_equal(life.l.server, LIFECYCLE_FAILED);
    STEP(&life, LIFECYCLE_ON_RESTART, .session = 1);
    assert_true(did(&life, LIFECYCLE_DO_START));
    STEP(&life, LIFECYCLE_ON_UNSTARTED, .failure = LIFECYCLE_FAILURE_PORT);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 1, .leave = LIFECYCLE_LEAVE_RELOAD);
    assert_int_equal(life.l.server, LIFECYCLE_FAILED);
    dead(&life, editor);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_FAILED);
    assert_int_equal(lifecycle_exit_code(&life.l), 3);
}

/* E4: pinged in the sweep after 15 min, no longer counted after 30, counted again once heard. */
static void test_silence(void **state) {
    (void)state;
    struct life life;
    begin(&life, NULL);
    ready(&life);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    uint64_t start = life.now, pinged = 0, silent = 0;
    while (!silent) {
        assert_int_equal(sleep_on(&life), 30 * SECOND);
        assert_true(did(&life, LIFECYCLE_DO_SWEEP));
        if (did(&life, LIFECYCLE_DO_PING)) {
            assert_int_equal(pinged, 0);
            assert_int_equal(life.out.pinged[0], 1);
            pinged = life.now - start;
        }
        if (!lifecycle_session_counts(&life.l.sessions[0]))
            silent = life.now - start;
    }
    assert_int_equal(pinged, 15 * MINUTE);
    assert_int_equal(silent, 30 * MINUTE);
    STEP(&life, LIFECYCLE_ON_HEARD, .session = 1);
    assert_int_equal(lifecycle_explain(&life.l, life.now).sessions, 1);
}

/* E4: a phantom whose process nobody knows is let go in the end; F2: nobody else wakes anybody. */
static void test_phantom(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    ready(&life);
    assert_int_equal(lifecycle_deadline(&life.l), LIFECYCLE_NEVER);
    hello(&life, 1, (struct os_identity){0, 0}, LIFECYCLE_ROLE_EDITOR);
    dead(&life, editor);
    assert_int_equal(life.l.ownership, LIFECYCLE_OWNED);
    while (life.l.ownership != LIFECYCLE_ORPHAN)
        sleep_on(&life);
    assert_int_equal(life.now, 5000 + 30 * MINUTE);
    STEP(&life, LIFECYCLE_ON_CLOSED, .session = 1);
    dead(&life, editor);
    assert_int_equal(life.l.server, LIFECYCLE_READY); /* the grace still runs */
}

/* A1: 30 s for the editor that comes back as another process; it takes over place and ownership. */
static void test_restart_of_editor(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    ready(&life);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 1, .leave = LIFECYCLE_LEAVE_RESTART);
    dead(&life, editor);
    struct lifecycle_why why = lifecycle_explain(&life.l, life.now);
    assert_int_equal(why.kind, LIFECYCLE_WHY_HOLD);
    assert_int_equal(why.held_ms, 30 * SECOND);
    struct life late = life;

    life.now += 30 * SECOND - 1;
    STEP(&life, LIFECYCLE_ON_HELLO, .session = 2, .process = other, .role = LIFECYCLE_ROLE_EDITOR);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_RESUMED);
    assert_int_equal(life.l.ownership, LIFECYCLE_ADOPTED);
    assert_int_equal(life.l.owner.pid, other.pid);
    assert_int_equal(life.l.session_count, 1);

    assert_int_equal(sleep_on(&late), 30 * SECOND);
    assert_int_equal(late.l.ownership, LIFECYCLE_ORPHAN);
    assert_int_equal(sleep_on(&late), 500);
    dead(&late, editor);
    assert_int_equal(late.l.cause, LIFECYCLE_CAUSE_OWNER);
}

/* E6: a resumed session takes the new connection's id; the end of the old one means nothing. */
static void test_resume(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    hello(&life, 2, editor, LIFECYCLE_ROLE_ANONYMOUS);
    STEP(&life, LIFECYCLE_ON_HELLO, .session = 2, .resume = 1, .process = editor,
         .role = LIFECYCLE_ROLE_EDITOR);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_RESUMED);
    assert_int_equal(life.out.dropped_count, 1);
    assert_int_equal(life.out.dropped[0], 1);
    assert_int_equal(life.l.session_count, 1);
    STEP(&life, LIFECYCLE_ON_CLOSED, .session = 1);
    assert_int_equal(life.l.sessions[0].link, LIFECYCLE_CONNECTED);
    assert_null(lifecycle_session_find(&life.l, 1));
    /* Another process cannot take it. */
    STEP(&life, LIFECYCLE_ON_HELLO, .session = 3, .resume = 2, .process = other,
         .role = LIFECYCLE_ROLE_EDITOR);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_ADMITTED);
    assert_int_equal(life.l.session_count, 2);
}

/* E2: the process decides, not the socket: its connections are closed at once. */
static void test_dead_peer(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    hello(&life, 2, other, LIFECYCLE_ROLE_EDITOR);
    dead(&life, other);
    assert_true(did(&life, LIFECYCLE_DO_DROP | LIFECYCLE_DO_PUBLISH));
    assert_int_equal(life.out.dropped_count, 1);
    assert_int_equal(life.out.dropped[0], 2);
    assert_int_equal(life.l.session_count, 1);
}

/* E7: only without sessions, and afresh when the last has left. */
static void test_idle(void **state) {
    (void)state;
    struct life life;
    struct lifecycle_config config = defaults();
    config.idle_limit_ms = MINUTE;
    begin_with(&life, &config, NULL, 1);
    ready(&life);
    life.now += MINUTE - 1;
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    life.now += 10 * MINUTE;
    STEP(&life, LIFECYCLE_ON_HEARD, .session = 1);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 1, .leave = LIFECYCLE_LEAVE_QUIT);
    assert_int_equal(life.l.server, LIFECYCLE_READY); /* A13: not started for an editor */
    hello(&life, 2, other, LIFECYCLE_ROLE_CLI);       /* does not count */
    while (life.l.server == LIFECYCLE_READY && life.now < 20 * MINUTE)
        sleep_on(&life);
    assert_int_equal(life.now, 5000 + MINUTE - 1 + 10 * MINUTE + MINUTE);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_IDLE);
}

/* A10, A5: the one that started it quits, the other keeps it and inherits; then that one quits. */
static void test_quit(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    ready(&life);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    hello(&life, 2, other, LIFECYCLE_ROLE_EDITOR);
    STEP(&life, LIFECYCLE_ON_STOP, .session = 1);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_OTHER_EDITORS);
    STEP(&life, LIFECYCLE_ON_HANDOVER, .session = 1); /* F6 */
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_OTHER_SESSIONS);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 1, .leave = LIFECYCLE_LEAVE_QUIT);
    assert_int_equal(life.l.server, LIFECYCLE_READY);
    assert_int_equal(life.l.owner.pid, other.pid);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 2, .leave = LIFECYCLE_LEAVE_QUIT);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_LEAVE);
    STEP(&life, LIFECYCLE_ON_HELLO, .session = 3, .process = other);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_STOPPING);
}

/* F6, A3: who started it by hand is no session and no owner, and wants it all the same. */
static void test_handover_needs_an_owner(void **state) {
    (void)state;
    struct life life;
    begin(&life, NULL);
    ready(&life);
    hello(&life, 1, other, LIFECYCLE_ROLE_EDITOR);
    STEP(&life, LIFECYCLE_ON_HANDOVER, .session = 1, .process = other);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_OTHER_SESSIONS);
    STEP(&life, LIFECYCLE_ON_LEAVE, .session = 1, .leave = LIFECYCLE_LEAVE_QUIT);
    STEP(&life, LIFECYCLE_ON_HANDOVER, .process = other);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_OTHER_SESSIONS);
    assert_int_equal(life.l.server, LIFECYCLE_READY);
    begin(&life, &editor);
    ready(&life);
    STEP(&life, LIFECYCLE_ON_PROCESS, .process = editor, .liveness = OS_DEAD);
    STEP(&life, LIFECYCLE_ON_HANDOVER, .process = other);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_OK);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_HANDOVER);
}

/* F3: the reasons come with their numbers. */
static void test_why(void **state) {
    (void)state;
    struct life life;
    begin(&life, &editor);
    ready(&life);
    assert_int_equal(lifecycle_explain(&life.l, life.now).kind, LIFECYCLE_WHY_OWNER_UNKNOWN);
    STEP(&life, LIFECYCLE_ON_PROCESS, .process = editor, .liveness = OS_ALIVE);
    struct lifecycle_why why = lifecycle_explain(&life.l, life.now);
    assert_int_equal(why.kind, LIFECYCLE_WHY_OWNER);
    assert_int_equal(life.l.owner.pid, editor.pid);
    hello(&life, 1, editor, LIFECYCLE_ROLE_EDITOR);
    hello(&life, 2, other, LIFECYCLE_ROLE_FRONT);
    STEP(&life, LIFECYCLE_ON_CLOSED, .session = 2);
    why = lifecycle_explain(&life.l, life.now);
    assert_int_equal(why.kind, LIFECYCLE_WHY_SESSIONS);
    assert_int_equal(why.sessions, 2);
    assert_int_equal(life.l.sessions[1].link, LIFECYCLE_AWAY);
    begin(&life, NULL);
    assert_int_equal(lifecycle_explain(&life.l, life.now).kind, LIFECYCLE_WHY_UNARMED);
    STEP(&life, LIFECYCLE_ON_SIGNAL);
    why = lifecycle_explain(&life.l, life.now);
    assert_int_equal(why.kind, LIFECYCLE_WHY_STOPPING);
    assert_int_equal(lifecycle_deadline(&life.l), life.now + 5 * SECOND);
}

static void test_full(void **state) {
    (void)state;
    struct life life;
    begin(&life, NULL);
    for (uint32_t id = 1; id <= LIFECYCLE_MAX_SESSIONS; id++)
        hello(&life, id, (struct os_identity){id, 1}, LIFECYCLE_ROLE_EDITOR);
    STEP(&life, LIFECYCLE_ON_HELLO, .session = LIFECYCLE_MAX_SESSIONS + 1, .process = other);
    assert_int_equal(life.out.answer, LIFECYCLE_ANSWER_FULL);
    while (!did(&life, LIFECYCLE_DO_PING))
        sleep_on(&life);
    assert_int_equal(life.out.pinged_count, LIFECYCLE_MAX_SESSIONS);
}

/* B1, B2: the parent's death ends it like a signal, unless that is switched off. */
static void test_parent(void **state) {
    (void)state;
    struct life life;
    struct lifecycle_config config = defaults();
    begin_with(&life, &config, NULL, 1);
    STEP(&life, LIFECYCLE_ON_PARENT);
    assert_int_equal(life.l.cause, LIFECYCLE_CAUSE_PARENT);
    config.parent_watchdog = 0;
    begin_with(&life, &config, NULL, 1);
    STEP(&life, LIFECYCLE_ON_PARENT);
    assert_int_equal(life.l.server, LIFECYCLE_STARTING);
}

#define ASSERT_NAMED(function, count)                                                              \
    for (int value = 0; value < (count); value++) {                                                \
        assert_string_not_equal(function(value), "?");                                             \
        for (int before = 0; before < value; before++)                                             \
            assert_string_not_equal(function(value), function(before));                            \
    }                                                                                              \
    assert_string_equal(function(count), "?")

static void test_names(void **state) {
    (void)state;
    ASSERT_NAMED(lifecycle_server_name, LIFECYCLE_SERVER_STATES);
    ASSERT_NAMED(lifecycle_ownership_name, LIFECYCLE_OWNERSHIP_STATES);
    ASSERT_NAMED(lifecycle_role_name, LIFECYCLE_ROLE_CLI + 1);
    ASSERT_NAMED(lifecycle_link_name, LIFECYCLE_HELD + 1);
    ASSERT_NAMED(lifecycle_cause_name, LIFECYCLE_CAUSE_FAILED + 1);
    ASSERT_NAMED(lifecycle_failure_name, LIFECYCLE_FAILURE_STUCK + 1);
}

static void test_parse(void **state) {
    (void)state;
    enum lifecycle_role role = LIFECYCLE_ROLE_CLI;
    enum lifecycle_leave leave = LIFECYCLE_LEAVE_DISABLE;
    assert_true(lifecycle_role_parse("front", &role));
    assert_int_equal(role, LIFECYCLE_ROLE_FRONT);
    assert_false(lifecycle_role_parse("anonymous", &role)); /* nobody may claim to be */
    assert_true(lifecycle_leave_parse("restart", &leave));
    assert_int_equal(leave, LIFECYCLE_LEAVE_RESTART);
    assert_false(lifecycle_leave_parse("", &leave));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_defaults),
        UNIT_TEST(test_repair),
        UNIT_TEST(test_owner_dies),
        UNIT_TEST(test_owner_misfires),
        UNIT_TEST(test_grace_0),
        UNIT_TEST(test_stubborn_server),
        UNIT_TEST(test_second_signal),
        UNIT_TEST(test_backoff),
        UNIT_TEST(test_backoff_cap),
        UNIT_TEST(test_health_forgets),
        UNIT_TEST(test_ordinary_end),
        UNIT_TEST(test_not_ready),
        UNIT_TEST(test_silence),
        UNIT_TEST(test_phantom),
        UNIT_TEST(test_restart_of_editor),
        UNIT_TEST(test_resume),
        UNIT_TEST(test_dead_peer),
        UNIT_TEST(test_idle),
        UNIT_TEST(test_quit),
        UNIT_TEST(test_handover_needs_an_owner),
        UNIT_TEST(test_why),
        UNIT_TEST(test_full),
        UNIT_TEST(test_parent),
        UNIT_TEST(test_names),
        UNIT_TEST(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
