/* Ownership: whose life the server's life hangs on.
 *
 * There is at most one owner, and a server that began without one never gets one. The owner's
 * liveness is whatever was last reported; only DEAD counts as dead. */
#include "internal.h"

/* UNARMED is for ever; the others become each other here. */
static void owner_become(struct turn *t, enum lifecycle_ownership ownership) {
    struct lifecycle *l = t->l;
    l->ownership = ownership;
    l->sampling = false;
    l->orphan_by = 0;
    t->changed = true;
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
           os_identity_same(&l->owner, process);
}

static void owner_inherit(struct turn *t, const struct lifecycle_session *heir) {
    struct lifecycle *l = t->l;
    l->owner = heir->process;
    l->owner_liveness = OS_UNKNOWN;
    l->owner_adopted = true;
    owner_become(t, LIFECYCLE_ADOPTED);
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
        server_left_alone(t, LIFECYCLE_CAUSE_OWNER);
}

void owner_release(struct turn *t, const struct os_identity *process) {
    if (!owner_is(t->l, process))
        return;
    const struct lifecycle_session *heir = sessions_heir(t->l);
    if (heir && !os_identity_same(&heir->process, process))
        owner_inherit(t, heir);
}

bool owner_objects(const struct lifecycle *l, const struct os_identity *process) {
    return l->ownership == LIFECYCLE_UNARMED ||
           (l->owner_liveness != OS_DEAD && !os_identity_same(&l->owner, process));
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
    bool orphan = l->ownership == LIFECYCLE_ORPHAN;
    if (!dead || sessions_counting(l) > 0) {
        if (orphan) /* back to where it was before */
            owner_become(t, l->owner_adopted ? LIFECYCLE_ADOPTED : LIFECYCLE_OWNED);
        return orphan;
    }
    if (!orphan) {
        owner_become(t, LIFECYCLE_ORPHAN);
        l->orphan_by = t->now + l->config.grace_ms;
    }
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
