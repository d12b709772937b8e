/* Sessions: who is there, in the order in which they came. */
#include "internal.h"

#include <string.h>

#include "must.h"

/* ---- Questions ---- */

const struct lifecycle_session *lifecycle_session_find(const struct lifecycle *l, uint32_t id) {
    for (uint32_t i = 0; id != 0 && i < l->session_count; i++)
        if (l->sessions[i].id == id)
            return &l->sessions[i];
    return NULL;
}

/* The same, to be changed. */
static struct lifecycle_session *session_find(struct lifecycle *l, uint32_t id) {
    const struct lifecycle_session *s = lifecycle_session_find(l, id);
    return s ? &l->sessions[s - l->sessions] : NULL;
}

bool lifecycle_session_counts(const struct lifecycle_session *s) {
    return s->role != LIFECYCLE_ROLE_CLI && !s->silent;
}

static bool role_adopts(uint8_t role) {
    return role == LIFECYCLE_ROLE_EDITOR || role == LIFECYCLE_ROLE_FRONT;
}

/* The caller itself, or another connection of its process. */
static bool same_party(const struct lifecycle_session *s, const struct lifecycle_session *caller) {
    return caller && (s == caller || os_identity_same(&s->process, &caller->process));
}

bool lifecycle_session_blocks_stop(const struct lifecycle *l, const struct lifecycle_session *s,
                                   uint32_t caller) {
    return s->role == LIFECYCLE_ROLE_EDITOR && lifecycle_session_counts(s) &&
           !same_party(s, lifecycle_session_find(l, caller));
}

bool sessions_block_stop(const struct lifecycle *l, uint32_t caller) {
    for (uint32_t i = 0; i < l->session_count; i++)
        if (lifecycle_session_blocks_stop(l, &l->sessions[i], caller))
            return true;
    return false;
}

uint32_t sessions_counting_others(const struct lifecycle *l, uint32_t caller) {
    const struct lifecycle_session *me = lifecycle_session_find(l, caller);
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->session_count; i++)
        if (lifecycle_session_counts(&l->sessions[i]) && !same_party(&l->sessions[i], me))
            count++;
    return count;
}

uint32_t sessions_counting(const struct lifecycle *l) {
    return sessions_counting_others(l, 0);
}

/* A session without an identity cannot inherit: its death would never be noticed. Nor can a kept
 * place: its process is on its way out. */
const struct lifecycle_session *sessions_heir(const struct lifecycle *l) {
    for (uint32_t i = 0; i < l->session_count; i++) {
        const struct lifecycle_session *s = &l->sessions[i];
        if (role_adopts(s->role) && !s->silent && s->link != LIFECYCLE_HELD && s->process.pid != 0)
            return s;
    }
    return NULL;
}

/* ---- Changes ---- */

/* Comings and goings of commands are nothing that `status` shows. */
static void session_changed(struct turn *t, const struct lifecycle_session *s) {
    if (s->role != LIFECYCLE_ROLE_CLI)
        t->changed = true;
}

static void session_heard(struct turn *t, struct lifecycle_session *s) {
    if (s->silent)
        t->changed = true;
    s->heard = t->now;
    s->silent = 0;
    s->pinged = 0;
}

static void session_link(struct turn *t, struct lifecycle_session *s, enum lifecycle_link link) {
    s->link = (uint8_t)link;
    s->pinged = 0;
    session_changed(t, s);
}

static void session_remove(struct turn *t, struct lifecycle_session *s) {
    struct lifecycle *l = t->l;
    uint32_t index = (uint32_t)(s - l->sessions);
    session_changed(t, s);
    l->session_count--;
    memmove(s, s + 1, (l->session_count - index) * sizeof *s);
    if (l->session_count == 0)
        l->sweep_at = 0;
}

/* Tells the I/O to close the connection. */
static void session_disconnect(struct turn *t, const struct lifecycle_session *s) {
    if (s->link != LIFECYCLE_CONNECTED)
        return;
    must(t->out->dropped_count < LIFECYCLE_MAX_SESSIONS);
    t->out->dropped[t->out->dropped_count++] = s->id;
    turn_do(t, LIFECYCLE_DO_DROP);
}

static struct lifecycle_session *session_add(struct turn *t, uint32_t id) {
    struct lifecycle *l = t->l;
    if (l->session_count == LIFECYCLE_MAX_SESSIONS)
        return NULL;
    if (l->session_count == 0)
        l->sweep_at = t->now + l->config.sweep_ms;
    struct lifecycle_session *s = &l->sessions[l->session_count++];
    *s = (struct lifecycle_session){.id = id};
    return s;
}

static void session_connect(struct turn *t, struct lifecycle_session *s,
                            const struct lifecycle_event *hello) {
    s->id = hello->session;
    s->role = (uint8_t)hello->role;
    s->process = hello->process;
    s->until = 0;
    session_link(t, s, LIFECYCLE_CONNECTED);
    session_heard(t, s);
}

/* ---- Hello ---- */

/* The session that this hello continues: the one it names, if it is its own to continue, or the
 * oldest place that is kept for an editor which restarts. */
static struct lifecycle_session *session_continued(struct lifecycle *l,
                                                   const struct lifecycle_event *hello) {
    struct lifecycle_session *named = session_find(l, hello->resume);
    if (named && named->role == hello->role &&
        (named->link == LIFECYCLE_HELD || os_identity_same(&named->process, &hello->process)))
        return named;
    for (uint32_t i = 0; hello->role == LIFECYCLE_ROLE_EDITOR && i < l->session_count; i++)
        if (l->sessions[i].link == LIFECYCLE_HELD)
            return &l->sessions[i];
    return NULL;
}

static void session_resume(struct turn *t, struct lifecycle_session *s,
                           const struct lifecycle_event *hello) {
    if (s->id != hello->session)
        session_disconnect(t, s); /* its former connection, not known to be closed */
    s->id = hello->session;
    struct lifecycle_session *other = NULL;
    for (uint32_t i = 0; i < t->l->session_count; i++)
        if (&t->l->sessions[i] != s && t->l->sessions[i].id == hello->session)
            other = &t->l->sessions[i]; /* the same connection before its hello */
    session_connect(t, s, hello);
    if (other)
        session_remove(t, other);
}

void sessions_hello(struct turn *t) {
    const struct lifecycle_event *hello = t->event;
    if (server_ending(t->l)) {
        turn_answer(t, LIFECYCLE_ANSWER_STOPPING);
        return;
    }
    struct lifecycle_session *s = session_continued(t->l, hello);
    if (s) {
        session_resume(t, s, hello);
        turn_answer(t, LIFECYCLE_ANSWER_RESUMED);
        return;
    }
    s = session_find(t->l, hello->session);
    if (!s)
        s = session_add(t, hello->session);
    if (!s) {
        turn_answer(t, LIFECYCLE_ANSWER_FULL);
        return;
    }
    session_connect(t, s, hello);
    turn_answer(t, LIFECYCLE_ANSWER_ADMITTED);
}

/* ---- Other events ---- */

void sessions_heard(struct turn *t) {
    struct lifecycle_session *s = session_find(t->l, t->event->session);
    if (s && s->link == LIFECYCLE_CONNECTED)
        session_heard(t, s);
}

void sessions_closed(struct turn *t) {
    struct lifecycle_session *s = session_find(t->l, t->event->session);
    if (!s || s->link != LIFECYCLE_CONNECTED)
        return;
    if (role_adopts(s->role))
        session_link(t, s, LIFECYCLE_AWAY);
    else
        session_remove(t, s);
}

/* Whether the server has nobody left after this editor has left for good. */
static bool leave_ends(const struct lifecycle *l, const struct os_identity *leaver) {
    return sessions_counting(l) == 0 && !owner_objects(l, leaver);
}

static void session_leave_for_good(struct turn *t, struct lifecycle_session *s) {
    struct os_identity leaver = s->process;
    bool editor = s->role == LIFECYCLE_ROLE_EDITOR;
    session_remove(t, s);
    if (!editor)
        return;
    if (leave_ends(t->l, &leaver) && t->event->leave == LIFECYCLE_LEAVE_QUIT)
        server_left_alone(t, LIFECYCLE_CAUSE_LEAVE);
    else if (leave_ends(t->l, &leaver)) /* who switches it off wants it gone */
        server_end(t, LIFECYCLE_CAUSE_LEAVE);
    else
        owner_release(t, &leaver);
}

void sessions_leave(struct turn *t) {
    struct lifecycle_session *s = session_find(t->l, t->event->session);
    enum lifecycle_leave leave = t->event->leave;
    if (!s || s->link != LIFECYCLE_CONNECTED)
        return;
    bool stays = leave == LIFECYCLE_LEAVE_RELOAD || leave == LIFECYCLE_LEAVE_RESTART;
    if (!stays || !role_adopts(s->role)) {
        session_leave_for_good(t, s);
        return;
    }
    session_heard(t, s);
    if (leave == LIFECYCLE_LEAVE_RESTART && s->role == LIFECYCLE_ROLE_EDITOR) {
        s->until = t->now + t->l->config.hold_ms;
        session_link(t, s, LIFECYCLE_HELD);
    } else {
        session_link(t, s, LIFECYCLE_AWAY);
    }
}

void sessions_process_died(struct turn *t, const struct os_identity *process) {
    for (uint32_t i = t->l->session_count; i-- > 0;) {
        struct lifecycle_session *s = &t->l->sessions[i];
        if (s->link == LIFECYCLE_HELD || !os_identity_same(&s->process, process))
            continue;
        session_disconnect(t, s);
        session_remove(t, s);
    }
}

/* ---- Time ---- */

static bool holds_expire(struct turn *t) {
    bool any = false;
    for (uint32_t i = t->l->session_count; i-- > 0;) {
        struct lifecycle_session *s = &t->l->sessions[i];
        if (s->link != LIFECYCLE_HELD || t->now < s->until)
            continue;
        session_remove(t, s);
        any = true;
    }
    return any;
}

static void session_sweep(struct turn *t, struct lifecycle_session *s) {
    uint64_t limit = t->l->config.silence_limit_ms;
    uint64_t quiet = t->now - s->heard;
    if (limit == 0 || s->role == LIFECYCLE_ROLE_CLI || s->link == LIFECYCLE_HELD || s->silent)
        return;
    if (quiet >= limit) {
        s->silent = 1;
        t->changed = true;
    } else if (quiet >= limit / 2 && s->link == LIFECYCLE_CONNECTED && !s->pinged) {
        s->pinged = 1;
        must(t->out->pinged_count < LIFECYCLE_MAX_SESSIONS);
        t->out->pinged[t->out->pinged_count++] = s->id;
        turn_do(t, LIFECYCLE_DO_PING);
    }
}

static bool sweep(struct turn *t) {
    struct lifecycle *l = t->l;
    if (l->session_count == 0 || t->now < l->sweep_at)
        return false;
    for (uint32_t i = 0; i < l->session_count; i++)
        session_sweep(t, &l->sessions[i]);
    l->sweep_at = t->now + l->config.sweep_ms;
    turn_do(t, LIFECYCLE_DO_SWEEP);
    return true;
}

bool sessions_timers(struct turn *t) {
    if (server_ending(t->l))
        return false;
    bool expired = holds_expire(t);
    return sweep(t) || expired;
}

uint64_t sessions_deadline(const struct lifecycle *l) {
    uint64_t deadline = LIFECYCLE_NEVER;
    if (l->session_count > 0)
        deadline = l->sweep_at;
    for (uint32_t i = 0; i < l->session_count; i++)
        if (l->sessions[i].link == LIFECYCLE_HELD && l->sessions[i].until < deadline)
            deadline = l->sessions[i].until;
    return deadline;
}
