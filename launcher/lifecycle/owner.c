/* Ownership: whose life the server's life hangs on.
 *
 * There is at most one owner, and a server that began without one never gets one. The owner's
 * liveness is whatever was last reported; only DEAD counts as dead. */
#include "internal.h"

enum owner_input {
    IN_INHERIT, /* the owner is dead or gave up, and a session's process takes over */
    IN_ALONE,   /* the owner is dead and no session counts */
    IN_KEPT,    /* the owner may live after all, or a session has come */
    INPUTS
};

#define O(state) (1 + LIFECYCLE_##state)

/* Empty cells change nothing. KEPT leads out of ORPHAN to where it was entered from. */
static const uint8_t ownership_table[LIFECYCLE_OWNERSHIP_STATES][INPUTS] = {
    [LIFECYCLE_OWNED] = {[IN_INHERIT] = O(ADOPTED), [IN_ALONE] = O(ORPHAN)},
    [LIFECYCLE_ADOPTED] = {[IN_INHERIT] = O(ADOPTED), [IN_ALONE] = O(ORPHAN)},
    [LIFECYCLE_ORPHAN] = {[IN_INHERIT] = O(ADOPTED), [IN_KEPT] = O(OWNED)},
    /* UNARMED is for ever. */
};

#undef O

static bool owner_move(struct turn *t, enum owner_input input) {
    struct lifecycle *l = t->l;
    uint8_t cell = ownership_table[l->ownership][input];
    if (!cell)
        return false;
    l->ownership = (enum lifecycle_ownership)(cell - 1);
    if (input == IN_KEPT && l->owner_adopted)
        l->ownership = LIFECYCLE_ADOPTED;
    l->sampling = false;
    l->orphan_by = 0;
    t->changed = true;
    return true;
}

void owner_begin(struct turn *t, const struct os_identity *owner) {
    struct lifecycle *l = t->l;
    l->ownership = LIFECYCLE_UNARMED;
    if (!owner || owner->pid == 0)
        return;
    l->ownership = LIFECYCLE_OWNED;
    l->owner = *owner;
    l->owner_liveness = OS_UNKNOWN;
    turn_do(t, LIFECYCLE_DO_WATCH_OWNER);
}

/* Once the end has begun nobody's life changes anything, and the last word stays for the record. */
static bool owner_is(const struct lifecycle *l, const struct os_identity *process) {
    return l->ownership != LIFECYCLE_UNARMED && !server_ending(l) &&
           process_same(&l->owner, process);
}

static void owner_inherit(struct turn *t, const struct lifecycle_session *heir) {
    struct lifecycle *l = t->l;
    l->owner = heir->process;
    l->owner_liveness = OS_UNKNOWN;
    l->owner_adopted = true;
    owner_move(t, IN_INHERIT);
    turn_do(t, LIFECYCLE_DO_WATCH_OWNER);
}

void owner_seen(struct turn *t, const struct os_identity *process, enum os_life liveness) {
    struct lifecycle *l = t->l;
    if (!owner_is(l, process))
        return;
    if (l->owner_liveness != liveness)
        t->changed = true;
    l->owner_liveness = liveness;
    /* The second look. Nothing has come in between: that would have ended ORPHAN and `sampling`. */
    if (l->sampling && liveness == OS_DEAD)
        server_end(t, LIFECYCLE_CAUSE_OWNER);
}

void owner_release(struct turn *t, const struct os_identity *process) {
    if (!owner_is(t->l, process))
        return;
    const struct lifecycle_session *heir = sessions_heir(t->l);
    if (heir && !process_same(&heir->process, process))
        owner_inherit(t, heir);
}

bool owner_objects(const struct lifecycle *l, const struct os_identity *process) {
    return l->ownership == LIFECYCLE_UNARMED ||
           (l->owner_liveness != OS_DEAD && !process_same(&l->owner, process));
}

bool owner_settle(struct turn *t) {
    struct lifecycle *l = t->l;
    if (l->ownership == LIFECYCLE_UNARMED || server_ending(l))
        return false;
    bool dead = l->owner_liveness == OS_DEAD;
    const struct lifecycle_session *heir = dead ? sessions_heir(l) : NULL;
    if (heir) {
        owner_inherit(t, heir);
        return true;
    }
    if (!dead || sessions_counting(l) > 0)
        return owner_move(t, IN_KEPT);
    if (owner_move(t, IN_ALONE))
        l->orphan_by = t->now + l->config.grace_ms;
    if (l->sampling || t->now < l->orphan_by)
        return false;
    l->sampling = true;
    turn_do(t, LIFECYCLE_DO_SAMPLE_OWNER);
    return true;
}

uint64_t owner_deadline(const struct lifecycle *l) {
    if (l->ownership != LIFECYCLE_ORPHAN || l->sampling)
        return LIFECYCLE_NEVER;
    return l->orphan_by;
}
