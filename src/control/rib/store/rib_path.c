// SPDX-License-Identifier: BSD-3-Clause
// rib_path.c - paths: the common part of routes (store.h)
//
// A path whose next hop or usability changed is queued; rib_work.c evaluates its prefixes again.
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "base/hash.h"
#include "rib/vr.h"

static void fill_key(struct rib_path *p, const struct netlink_route *m)
{
    p->family = m->prefix.family;
    p->type = m->type;
    p->scope = m->scope;
    p->encap = m->encap;
    p->nhid = m->nhid;
    p->metrics_hash = m->metrics_hash;
    p->mtu = m->mtu;
    p->prefsrc = m->prefsrc;
    p->n_hops = m->n_hops;
}

static uint64_t path_hash(const struct rib_path *p)
{
    uint64_t h =
        hash_mix64((uint64_t)p->nhid << 32 | p->metrics_hash) ^
        hash_mix64((uint64_t)p->family | (uint64_t)p->type << 8 | (uint64_t)p->scope << 16 |
                   (uint64_t)p->n_hops << 24 | (uint64_t)p->encap << 40);

    if (p->prefsrc.family)
        h ^= hash_bytes(p->prefsrc.b, 16, 1);
    for (unsigned i = 0; i < p->n_hops; i++) {
        const struct netlink_hop *hop = &p->hop[i];

        h = hash_bytes(hop->gateway.b, hop->gateway.family ? 16 : 0,
                       h ^ ((uint64_t)hop->ifindex << 32 | (uint64_t)hop->weight << 8 |
                            (uint64_t)hop->onlink));
        if (hop->labels.n)
            h = hash_bytes(&hop->labels, sizeof hop->labels, h);
    }
    return h;
}

static bool path_equal(const struct rib_path *a, const struct rib_path *b)
{
    if (a->hash != b->hash || a->family != b->family || a->type != b->type ||
        a->scope != b->scope || a->encap != b->encap || a->nhid != b->nhid ||
        a->metrics_hash != b->metrics_hash || a->n_hops != b->n_hops ||
        a->prefsrc.family != b->prefsrc.family ||
        (a->prefsrc.family && !ip_equal(&a->prefsrc, &b->prefsrc)))
        return false;
    for (unsigned i = 0; i < a->n_hops; i++)
        if (hop_compare(&a->hop[i], &b->hop[i]) || a->hop[i].onlink != b->hop[i].onlink)
            return false;
    return true;
}

static uint32_t key_of(const struct rib_path *p)
{
    return (uint32_t)p->hash | 1;
}

// FIB kind of a type without hops; 0 = its hops decide, or it is not for the FIB.
static uint8_t fixed_kind(const struct rib_path *p)
{
    switch (p->type) {
    case RTN_LOCAL:
    case RTN_ANYCAST: return NEXTHOP_LOCAL;
    case RTN_BROADCAST: return NEXTHOP_BROADCAST;
    case RTN_BLACKHOLE: return NEXTHOP_BLACKHOLE;
    case RTN_PROHIBIT: return NEXTHOP_PROHIBIT;
    case RTN_UNREACHABLE: return NEXTHOP_UNREACHABLE;
    // Ends the table's lookup. The tables that Linux searches next (rule 32767: default) are not
    // followed: rib_unfollowed.c.
    case RTN_THROW: return NEXTHOP_NO_ROUTE;
    default: return p->encap ? NEXTHOP_UNREACHABLE : 0;
    }
}

static void fill_path(struct rib_vr *v, struct rib_path *p)
{
    p->own.fixed = fixed_kind(p);
    p->own.family = p->family;
    if (p->nhid && !p->own.fixed) {
        p->object = nexthop_object_get(v, p->nhid);
        *vec_push(&p->object->path) = p->id;
    } else {
        // A broadcast address is ours while its link is up; the other fixed types do not depend on
        // a link.
        unsigned n = !p->own.fixed || p->type == RTN_BROADCAST ? p->n_hops : 0;

        hop_set_fill(v, &p->own, p->hop, n, n > 1 && !p->own.fixed);
    }
}

static struct rib_path *make_path(struct rib_vr *v, const struct rib_path *key,
                                  const struct netlink_route *m)
{
    size_t size = m->n_hops * sizeof m->hop[0];
    struct rib_path *p = calloc(1, sizeof *p + size);

    bug_on(!p);
    fill_key(p, m);
    p->hash = key->hash;
    memcpy(p->hop, key->hop, size);
    if (!v->path.n)
        *vec_push(&v->path) = NULL; // number 0 is unused
    if (v->path_free.n) {
        p->id = v->path_free.item[--v->path_free.n];
    } else {
        p->id = (uint32_t)v->path.n;
        (void)*vec_push(&v->path);
    }
    v->path.item[p->id] = p;
    p->hash_next = rib_map_number(&v->path_of_hash, key_of(p));
    rib_map_set_number(&v->path_of_hash, key_of(p), p->id);
    v->n_mtu_paths += p->mtu != 0;
    fill_path(v, p);
    return p;
}

struct rib_path *rib_path_get(struct rib_vr *v, const struct netlink_route *m)
{
    union { // room for the largest key
        struct rib_path p;
        char space[sizeof(struct rib_path) + NETLINK_HOPS * sizeof(struct netlink_hop)];
    } key;
    struct rib_path *k = &key.p, *p;

    fill_key(k, m);
    memcpy(k->hop, m->hop, m->n_hops * sizeof m->hop[0]);
    if (m->n_hops > 1)
        qsort(k->hop, m->n_hops, sizeof k->hop[0], hop_compare);
    k->hash = path_hash(k);
    for (uint32_t id = rib_map_number(&v->path_of_hash, key_of(k)); id; id = p->hash_next) {
        p = rib_path_at(v, id);
        if (path_equal(p, k))
            return p;
    }
    return make_path(v, k, m);
}

static void unhash_path(struct rib_vr *v, struct rib_path *p)
{
    uint32_t before = rib_map_number(&v->path_of_hash, key_of(p));

    if (before == p->id) {
        rib_map_set_number(&v->path_of_hash, key_of(p), p->hash_next);
        return;
    }
    while (rib_path_at(v, before)->hash_next != p->id)
        before = rib_path_at(v, before)->hash_next;
    rib_path_at(v, before)->hash_next = p->hash_next;
}

void rib_path_put(struct rib_vr *v, struct rib_path *p)
{
    if (p->n_routes)
        return;
    if (!p->condemned)
        unhash_path(v, p);
    if (p->object)
        nexthop_object_put_path(v, p->object, p->id);
    hop_set_clear(v, &p->own);
    for (size_t i = 0; p->queued && i < v->dirty.n; i++)
        if (v->dirty.item[i] == p->id)
            v->dirty.item[i] = 0;
    v->path.item[p->id] = NULL;
    *vec_push(&v->path_free) = p->id;
    v->n_mtu_paths -= p->mtu != 0;
    v->n_condemned -= p->condemned;
    free(p);
}

struct hop_set *rib_path_hops(struct rib_path *p)
{
    return p->object ? &p->object->set : &p->own;
}

bool rib_path_usable(const struct rib_vr *v, const struct rib_path *p)
{
    const struct hop_set *s = p->object ? &p->object->set : &p->own;

    return !p->condemned && p->type != RTN_MULTICAST && s->usable;
}

uint64_t rib_path_links(const struct rib_path *p)
{
    const struct hop_set *s = p->object ? &p->object->set : &p->own;
    uint64_t links =
        p->object && !p->object->announced ? UINT64_MAX >> 1 : 0; // its links are no longer known

    for (unsigned i = 0; i < s->n; i++)
        links |= rib_link_bit(s->hop[i].key.ifindex);
    return links;
}

uint32_t rib_path_nexthop(const struct rib_path *p)
{
    return p->object ? p->object->set.id : p->own.id;
}

bool rib_path_is_connected(const struct rib_path *p, int ifindex)
{
    const struct hop_set *s = p->object ? &p->object->set : &p->own;

    for (unsigned i = 0; p->type == RTN_UNICAST && i < s->n; i++)
        if (s->hop[i].key.ifindex == ifindex && !s->hop[i].key.gateway.family)
            return true;
    return false;
}

// --- the queue ---

static void queue_path(struct rib_vr *v, struct rib_path *p)
{
    p->cursor = p->head;
    if (p->queued)
        return;
    p->queued = true;
    *vec_push(&v->dirty) = p->id;
}

void rib_path_dirty(struct rib_vr *v, struct rib_path *p)
{
    if (!rib_of(v, p->family)->deferred && p->n_routes)
        queue_path(v, p);
}

void rib_path_condemn(struct rib_vr *v, struct rib_path *p)
{
    if (p->condemned)
        return;
    unhash_path(v, p);
    p->condemned = true;
    v->n_condemned++;
    queue_path(v, p);
}

void rib_path_fini(struct rib_vr *v)
{
    for (uint32_t id = 1; id < v->path.n; id++) {
        struct rib_path *p = v->path.item[id];

        if (!p)
            continue;
        hop_set_clear(v, &p->own);
        free(p);
    }
    vec_free(&v->path);
    vec_free(&v->path_free);
    vec_free(&v->dirty);
    rib_map_fini(&v->path_of_hash);
    v->n_condemned = 0;
}
