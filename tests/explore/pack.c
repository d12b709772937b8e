/* Nodes as short byte strings: times relative to now, one byte each.
 *
 * Times in the past are cut where the machine can no longer tell them apart. The table must list
 * every field that the machine reads; `restarts` is for people only, and the random state is chosen
 * by the explorer before each step. */
#include "world.h"

#include <string.h>

_Static_assert(35 + 5 * ACTORS + sizeof(struct ghost) <= NODE_BYTES, "a node does not fit");

enum field_kind { PLAIN_BOOL, PLAIN_ENUM, PLAIN_U32, PLAIN_U64, TIME };

struct field {
    enum field_kind kind;
    size_t offset;
    size_t limit;  /* TIME: offset in the config of the longest age that matters */
    uint32_t most; /* PLAIN_U32: larger values behave like this one; 0: no limit */
};

#define M(name) offsetof(struct lifecycle, name)
#define C(name) offsetof(struct lifecycle_config, name)
#define S(name) offsetof(struct lifecycle_session, name)

static const struct field machine_fields[] = {
    {PLAIN_ENUM, M(server), 0, 0},
    {PLAIN_ENUM, M(failure), 0, 0},
    {PLAIN_BOOL, M(tree), 0, 0},
    {PLAIN_BOOL, M(was_ready), 0, 0},
    {TIME, M(ready_by), C(ready_timeout_ms), 0},
    {TIME, M(ready_at), C(health_ms), 0},
    {TIME, M(retry_at), C(backoff_cap_ms), 0},
    {PLAIN_U32, M(crashes.attempt), 0, 5},
    {PLAIN_U32, M(crashes.count), 0, 0},
    {TIME, M(crashes.at[0]), C(crash_window_ms), 0},
    {TIME, M(crashes.at[1]), C(crash_window_ms), 0},
    {TIME, M(crashes.at[2]), C(crash_window_ms), 0},
    {TIME, M(crashes.at[3]), C(crash_window_ms), 0},
    {PLAIN_ENUM, M(drain), 0, 0},
    {TIME, M(drain_by), C(kill_limit_ms), 0},
    {PLAIN_ENUM, M(purpose), 0, 0},
    {PLAIN_ENUM, M(cause), 0, 0},
    {PLAIN_U32, M(signals), 0, 0},
    {PLAIN_BOOL, M(port_check), 0, 0},
    {TIME, M(port_check_by), C(port_check_ms), 0},
    {PLAIN_BOOL, M(survivors), 0, 0},
    {PLAIN_BOOL, M(ports_free), 0, 0},
    {PLAIN_BOOL, M(crashed), 0, 0},
    {PLAIN_ENUM, M(ownership), 0, 0},
    {PLAIN_U64, M(owner.pid), 0, 0},
    {PLAIN_ENUM, M(owner_liveness), 0, 0},
    {PLAIN_BOOL, M(owner_adopted), 0, 0},
    {PLAIN_BOOL, M(sampling), 0, 0},
    {TIME, M(orphan_by), C(grace_ms), 0},
    {PLAIN_BOOL, M(clients), 0, 0},
    {TIME, M(linger_by), C(linger_ms), 0},
    {PLAIN_ENUM, M(linger_cause), 0, 0},
    {TIME, M(idle_since), C(idle_limit_ms), 0},
    {TIME, M(sweep_at), C(sweep_ms), 0},
    {PLAIN_U32, M(session_count), 0, 0},
};

static const struct field session_fields[] = {
    {PLAIN_U32, S(id), 0, 0},
    {PLAIN_U64, S(process.pid), 0, 0},
    {TIME, S(heard), C(silence_limit_ms), 0},
    {TIME, S(until), C(hold_ms), 0},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Times: 0 unset, 255 never, otherwise 128 plus the distance from now. */
static uint8_t time_pack(uint64_t time, uint32_t longest) {
    if (time == 0)
        return 0;
    if (time == LIFECYCLE_NEVER)
        return 255;
    if (time >= NOW)
        return (uint8_t)(128 + (time - NOW));
    uint64_t age = NOW - time;
    return (uint8_t)(128 - (age < longest ? age : longest));
}

static uint64_t time_unpack(uint8_t byte) {
    if (byte == 0)
        return 0;
    return byte == 255 ? LIFECYCLE_NEVER : NOW + byte - 128;
}

static uint8_t field_pack(const struct field *f, const void *base, const void *config) {
    const char *at = (const char *)base + f->offset;
    uint32_t u32, longest;
    uint64_t u64;
    int number;
    switch (f->kind) {
    case PLAIN_BOOL:
        return *(const bool *)(const void *)at ? 1 : 0;
    case PLAIN_ENUM:
        memcpy(&number, at, sizeof number);
        return (uint8_t)number;
    case PLAIN_U32:
        memcpy(&u32, at, sizeof u32);
        return (uint8_t)(f->most && u32 > f->most ? f->most : u32);
    case PLAIN_U64:
        memcpy(&u64, at, sizeof u64);
        return (uint8_t)u64;
    case TIME:
        memcpy(&u64, at, sizeof u64);
        memcpy(&longest, (const char *)config + f->limit, sizeof longest);
        return time_pack(u64, longest);
    }
    return 0;
}

static void field_unpack(const struct field *f, void *base, uint8_t byte) {
    char *at = (char *)base + f->offset;
    uint32_t u32 = byte;
    uint64_t u64 = f->kind == TIME ? time_unpack(byte) : byte;
    int number = byte;
    switch (f->kind) {
    case PLAIN_BOOL:
        *(bool *)(void *)at = byte != 0;
        break;
    case PLAIN_ENUM:
        memcpy(at, &number, sizeof number);
        break;
    case PLAIN_U32:
        memcpy(at, &u32, sizeof u32);
        break;
    case PLAIN_U64:
    case TIME:
        memcpy(at, &u64, sizeof u64);
        break;
    }
}

static void field_age(const struct field *f, void *base, uint64_t ticks) {
    uint64_t time;
    if (f->kind != TIME)
        return;
    memcpy(&time, (char *)base + f->offset, sizeof time);
    if (time != 0 && time != LIFECYCLE_NEVER)
        time -= ticks;
    memcpy((char *)base + f->offset, &time, sizeof time);
}

void node_age(struct lifecycle *l, uint64_t ticks) {
    for (size_t i = 0; i < COUNT(machine_fields); i++)
        field_age(&machine_fields[i], l, ticks);
    for (uint32_t s = 0; s < l->session_count; s++)
        for (size_t i = 0; i < COUNT(session_fields); i++)
            field_age(&session_fields[i], &l->sessions[s], ticks);
}

size_t node_pack(const struct scenario *sc, const struct node *n, uint8_t bytes[NODE_BYTES]) {
    const struct lifecycle *l = &n->machine;
    uint8_t *p = bytes;
    for (size_t i = 0; i < COUNT(machine_fields); i++)
        *p++ = field_pack(&machine_fields[i], l, &sc->config);
    for (uint32_t s = 0; s < l->session_count; s++) {
        const struct lifecycle_session *session = &l->sessions[s];
        for (size_t i = 0; i < COUNT(session_fields); i++)
            *p++ = field_pack(&session_fields[i], session, &sc->config);
        *p++ = (uint8_t)(session->role << 4 | session->link << 2 | session->silent << 1 |
                         session->pinged);
    }
    memcpy(p, &n->ghost, sizeof n->ghost);
    return (size_t)(p - bytes) + sizeof n->ghost;
}

void node_unpack(const struct scenario *sc, const uint8_t bytes[NODE_BYTES], struct node *n) {
    struct lifecycle *l = &n->machine;
    const uint8_t *p = bytes;
    memset(n, 0, sizeof *n);
    l->config = sc->config;
    for (size_t i = 0; i < COUNT(machine_fields); i++)
        field_unpack(&machine_fields[i], l, *p++);
    for (uint32_t s = 0; s < l->session_count; s++) {
        struct lifecycle_session *session = &l->sessions[s];
        for (size_t i = 0; i < COUNT(session_fields); i++)
            field_unpack(&session_fields[i], session, *p++);
        session->role = *p >> 4;
        session->link = *p >> 2 & 3;
        session->silent = *p >> 1 & 1;
        session->pinged = *p++ & 1;
        session->process.start = 1;
    }
    l->owner.start = 1;
    memcpy(&n->ghost, p, sizeof n->ghost);
}
