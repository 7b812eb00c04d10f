// SPDX-License-Identifier: BSD-3-Clause
// resync_request.c - requests for the next dump, and events during a dump
//
// The half of rib_sync.c that all other files call: code that doubts our state requests a dump;
// code that processes an event or a row names its prefix.
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "rib/vr.h"

#define DIFFERS (1ull << 63) // in sync.diverged, next to the links

static uint32_t key_of(const struct prefix *p)
{
    return (uint32_t)hash_bytes(p->b, 16, (uint64_t)p->family << 8 | p->len) | 1;
}

static bool is_listening(const struct rib_vr *v)
{
    return v->sync.stage >= 0 || v->sync.ending;
}

void rib_sync_touch_key(struct rib_vr *v, uint32_t key)
{
    if (!is_listening(v))
        return;
    rib_map_del(&v->sync.diverged, key);
    rib_map_set(&v->sync.touched, key, v);
}

void rib_sync_touch(struct rib_vr *v, const struct prefix *p)
{
    if (!is_listening(v))
        return;
    rib_audit_explained(v, p);
    rib_sync_touch_key(v, key_of(p));
}

bool rib_sync_is_touched_key(const struct rib_vr *v, uint32_t key)
{
    return v->sync.touched.n && rib_map_find(&v->sync.touched, key);
}

bool rib_sync_is_touched(const struct rib_vr *v, const struct prefix *p)
{
    return v->sync.touched.n && rib_sync_is_touched_key(v, key_of(p));
}

static void note_difference(struct rib_vr *v, uint32_t key, uint64_t links)
{
    if (v->synced)
        rib_map_set(&v->sync.diverged, key, (void *)(uintptr_t)(DIFFERS | links));
}

void rib_sync_diverge_key(struct rib_vr *v, uint32_t key)
{
    note_difference(v, key, 0);
}

// Linux deletes IPv4 routes without an event when their link, their address or their next-hop
// object goes. It announces the cause just before, or, for a lost carrier, afterwards; a dump may
// come between the two.
void rib_sync_link_lost(struct rib_vr *v, int ifindex)
{
    const struct rib_map *m = &v->sync.diverged;
    VEC(uint32_t) explained = {0};

    if (!is_listening(v))
        return;
    v->sync.lost |= rib_link_bit(ifindex);
    for (uint32_t i = 0; m->slot && i <= m->mask; i++)
        if (m->slot[i].key && (uintptr_t)m->slot[i].value & rib_link_bit(ifindex))
            *vec_push(&explained) = m->slot[i].key;
    vec_foreach (&explained, key)
        rib_map_del(&v->sync.diverged, *key);
    for (unsigned i = v->audit.step == AUDIT_KERNEL ? v->audit.now.n_findings : 0; i-- > 0;) {
        struct prefix p = v->audit.now.finding[i].prefix;
        if (!rib_map_find(&v->sync.diverged, key_of(&p)))
            rib_audit_explained(v, &p);
    }
    vec_free(&explained);
}

void rib_sync_diverge(struct rib_vr *v, const struct prefix *p, const char *how, uint64_t gone,
                      uint64_t added)
{
    char text[PREFIX_TEXT_MAX];

    if ((gone | added) & v->sync.lost)
        return;
    note_difference(v, key_of(p), added ? 0 : gone);
    if (!v->synced)
        return;
    // Differences found by another dump do not count for the audit: events may explain them later.
    if (v->audit.step == AUDIT_KERNEL)
        rib_audit_finding(v, p, how);
    if (log_get_level() >= LOG_LEVEL_DEBUG)
        log_debug("rib: dump differs: vr=%u prefix=%s route=%s", v->id, prefix_format(p, text),
                  how);
}

void rib_sync_want(struct rib_vr *v, uint32_t stages, uint64_t delay_ns)
{
    v->sync.whole |= stages;
    rib_sync_want_doubt(v, stages, delay_ns);
}

void rib_sync_want_doubt(struct rib_vr *v, uint32_t stages, uint64_t delay_ns)
{
    struct rib_sync *s = &v->sync;
    uint64_t at = clock_now_ns() + delay_ns, rest = s->begin_ns + s->took_ns * 11;

    if (delay_ns && at < rest)
        at = rest;
    if (!s->want || at < s->want_at_ns)
        s->want_at_ns = at;
    s->want |= stages;
}
