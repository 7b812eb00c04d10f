// SPDX-License-Identifier: BSD-3-Clause
// rib_want.c - what the next dump is to show, and what is known of a prefix while one runs
//
// The half of rib_sync.c that everything else calls: whoever notices that we
// may be wrong asks for a dump; whoever takes an event or a row tells of its
// prefix. rib_sync.c dumps.
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "rib/rib.h"

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
    map_del(&v->sync.diverged, key);
    map_set(&v->sync.touched, key, v);
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
    return v->sync.touched.n && map_find(&v->sync.touched, key);
}

bool rib_sync_is_touched(const struct rib_vr *v, const struct prefix *p)
{
    return rib_sync_is_touched_key(v, key_of(p));
}

void rib_sync_diverge_key(struct rib_vr *v, uint32_t key)
{
    if (v->synced)
        map_set(&v->sync.diverged, key, v);
}

void rib_sync_diverge(struct rib_vr *v, const struct prefix *p, const char *how)
{
    char text[PREFIX_TEXT_MAX];

    rib_sync_diverge_key(v, key_of(p));
    if (!v->synced)
        return;
    if (v->audit.step == AUDIT_KERNEL) // another dump's differences are none of the audit's: events may explain them later
        rib_audit_finding(v, p, how);
    if (log_get_level() >= LOG_LEVEL_DEBUG)
        log_debug("rib: dump differs: vr=%u prefix=%s route=%s", v->id, prefix_format(p, text), how);
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
