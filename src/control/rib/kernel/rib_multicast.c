// SPDX-License-Identifier: BSD-3-Clause
// rib_multicast.c - multicast routes of configuration and kernel, for the forwarders' table
//
// The kernel's routes come as events and dumps like the others (rib_sync.c): a row confirms its
// route, and the sweep deletes routes that no row confirmed. A (*,G) route of the kernel also
// accepts packets from each of its outputs. A route with an output that is not one of our
// interfaces is left entirely to the kernel (MULTICAST_SLOW).
#include "rib/rib_multicast.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "table/iface.h"

#define VERIFY_DELAY_NS (100 * NS_PER_MS)
#define GROUPS_MAX 4096 // per link
#define TABLE4_DEFAULT 253 // of IPv4 multicast routes without a VRF; IPv6 ones are in main

// Id of a route for rib_sync.c.
static uint32_t id_of(const struct multicast_key *k)
{
    return (uint32_t)hash_bytes(k, sizeof *k, 1) | 1;
}

static struct rib_mroute *find_route(const struct rib_vr *v, const struct multicast_key *k)
{
    struct rib_mroute *r = rib_map_find(&v->mroutes, id_of(k));

    while (r && memcmp(&r->key, k, sizeof *k))
        r = r->next;
    return r;
}

static struct rib_mroute *get_route(struct rib_vr *v, const struct multicast_key *k)
{
    struct rib_mroute *r = find_route(v, k);

    if (r)
        return r;
    r = calloc(1, sizeof *r);
    bug_on(!r);
    r->key = *k;
    r->next = rib_map_find(&v->mroutes, id_of(k));
    rib_map_set(&v->mroutes, id_of(k), r);
    return r;
}

static void free_route(struct rib_vr *v, struct rib_mroute *r)
{
    struct rib_mroute *first = rib_map_find(&v->mroutes, id_of(&r->key)), **at = &first;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (first)
        rib_map_set(&v->mroutes, id_of(&r->key), first);
    else
        rib_map_del(&v->mroutes, id_of(&r->key));
    free(r->kernel);
    free(r->fixed);
    free(r);
}

// --- into the table ---

static uint16_t iface_of_link(const struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = rib_link_find(v, ifindex);

    return l ? l->iface : 0;
}

// 0: not an interface of this router.
static uint16_t iface_of_name(const struct rib_vr *v, const char *name)
{
    const struct iface *i = iface_find_name(name);

    return i && i->vr == v->id && i->ifindex > 0 && iface_of_link(v, i->ifindex) == i->id ? i->id
                                                                                          : 0;
}

static void add_out(struct multicast_entry *e, uint16_t iface, uint8_t ttl)
{
    if (iface)
        e->out[e->n_out++] = (struct multicast_out){.iface = iface, .ttl = ttl};
}

static void from_static(const struct rib_vr *v, struct multicast_entry *e,
                        const struct multicast_static *s)
{
    e->in = iface_of_name(v, s->in);
    for (unsigned i = 0; i < s->n_out; i++)
        add_out(e, iface_of_name(v, s->out[i].iface), s->out[i].ttl);
}

static void from_kernel(const struct rib_vr *v, struct multicast_entry *e,
                        const struct netlink_mroute *m)
{
    static const uint8_t any[16];

    e->flags = MULTICAST_KERNEL | (memcmp(m->source, any, 16) ? 0 : MULTICAST_TREE);
    e->in = iface_of_link(v, m->in);
    for (unsigned i = 0; i < m->n_out; i++) {
        uint16_t iface = iface_of_link(v, m->out[i].ifindex);

        add_out(e, iface, m->out[i].ttl);
        if (!iface)
            e->flags |= MULTICAST_SLOW;
    }
}

// Forwarders have it already: most routes do not use the interface whose change triggers this.
static bool is_published(const struct rib_vr *v, const struct multicast_entry *e)
{
    const struct multicast_table *t = multicast_table[v->id][e->key.family == IP6];
    const struct multicast_entry *now = t ? multicast_find(t, &e->key) : NULL;

    if (!now || now->in != e->in || now->flags != e->flags || now->n_out != e->n_out)
        return false;
    for (unsigned i = 0; i < e->n_out; i++)
        if (now->out[i].iface != e->out[i].iface || now->out[i].ttl != e->out[i].ttl)
            return false;
    return true;
}

static int publish_route(struct rib_vr *v, const struct rib_mroute *r)
{
    struct multicast_entry e = {.key = r->key};
    int err;

    if (r->fixed)
        from_static(v, &e, r->fixed);
    else
        from_kernel(v, &e, r->kernel);
    err = is_published(v, &e) ? 0 : multicast_set(v->id, &e);
    if (err && !v->mroutes_full)
        log_warning(
            "rib: multicast table full, packets of the route are dropped: vr=%u routes=%u error=%d",
            v->id, v->mroutes.n, err);
    v->mroutes_full = err;
    return err;
}

// Call after one of its two parts changed.
static void settle_route(struct rib_vr *v, struct rib_mroute *r)
{
    if (r->fixed || r->kernel) {
        publish_route(v, r);
        return;
    }
    multicast_del(v->id, &r->key);
    free_route(v, r);
}

void rib_multicast_refresh(struct rib_vr *v)
{
    struct rib_mroute *r;

    rib_map_each (&v->mroutes, r)
        for (; r; r = r->next)
            publish_route(v, r);
}

// --- the kernel's routes ---

static void forget_kernel(struct rib_vr *v, struct rib_mroute *r)
{
    free(r->kernel);
    r->kernel = NULL;
    settle_route(v, r);
}

static void take_kernel(struct rib_vr *v, const struct multicast_key *k,
                        const struct netlink_mroute *m, bool is_row)
{
    struct rib_mroute *r = get_route(v, k);
    bool same = r->kernel && !memcmp(r->kernel, m, sizeof *m);

    r->gen = v->gen;
    if (same)
        return;
    // If only its outputs differ, a link came or went, which the kernel does not announce.
    if (is_row && !r->kernel)
        rib_sync_diverge_key(v, id_of(k));
    if (!r->kernel)
        r->kernel = malloc(sizeof *m);
    bug_on(!r->kernel);
    *r->kernel = *m;
    settle_route(v, r);
}

void rib_multicast_event(struct rib_vr *v, const struct netlink_event *e, bool is_row)
{
    const struct netlink_mroute *m = &e->mroute;
    struct multicast_key k = {.family = m->family};

    if (m->table != (v->table == RIB_TABLE_MAIN && m->family == IP4 ? TABLE4_DEFAULT : v->table) ||
        !m->resolved)
        return;
    memcpy(k.source, m->source, 16);
    memcpy(k.group, m->group, 16);
    v->sync.checked += is_row;
    if (!is_row)
        rib_sync_touch_key(v, id_of(&k)); // explains a difference shown by a row
    if (!e->del) {
        take_kernel(v, &k, m, is_row);
        return;
    }
    struct rib_mroute *r = find_route(v, &k);
    if (r && r->kernel)
        forget_kernel(v, r);
}

void rib_multicast_sweep(struct rib_vr *v, uint8_t family)
{
    struct rib_mroute *r, *next;

    rib_map_each (&v->mroutes, r)
        for (; r; r = next) {
            next = r->next;
            if (!r->kernel || r->key.family != family || r->gen == v->gen)
                continue;
            rib_sync_diverge_key(v, id_of(&r->key));
            v->swept++;
            forget_kernel(v, r);
        }
}

// --- the configuration's ---

int rib_multicast_fix(struct rib_vr *v, const struct multicast_static *s)
{
    struct rib_mroute *r = get_route(v, &s->key);

    if (!r->fixed)
        r->fixed = malloc(sizeof *s);
    bug_on(!r->fixed);
    *r->fixed = *s;
    if (!publish_route(v, r))
        return 0;
    rib_multicast_unfix(v, &s->key);
    return -ENOSPC;
}

int rib_multicast_unfix(struct rib_vr *v, const struct multicast_key *k)
{
    struct rib_mroute *r = find_route(v, k);

    if (!r || !r->fixed)
        return -ENOENT;
    free(r->fixed);
    r->fixed = NULL;
    settle_route(v, r);
    return 0;
}

// --- groups joined by the host, links of daemons ---

// Link-local groups are not in the table: their packets are punted anyway.
static bool is_wide(const struct ip_addr *a)
{
    return a->family == IP4 ? a->b[0] != 224 || a->b[1] || a->b[2] : (a->b[1] & 15) > 2;
}

// Our interface that receives its packets: the link's own, or that of its parent device (VRRP's
// macvlan on a TAP). 0: none.
static uint16_t iface_under(const struct rib_vr *v, const struct rib_link *l)
{
    return l->iface || !l->told.lower ? l->iface : iface_of_link(v, l->told.lower);
}

static struct multicast_entry join_entry(uint16_t iface, const struct ip_addr *group)
{
    struct multicast_entry e = {.key = {.family = group->family, .iface = iface},
                                .flags = MULTICAST_JOIN};

    memcpy(e.key.group, group->b, group->family == IP4 ? 4 : 16);
    return e;
}

static void join_group(struct rib_vr *v, const struct rib_link *l, const struct ip_addr *group)
{
    struct multicast_entry e = join_entry(iface_under(v, l), group);

    if (e.key.iface && multicast_set(v->id, &e))
        log_warning("rib: table full, the kernel does not get packets to a joined group or "
                    "link-local address: vr=%u link=%s",
                    v->id, l->name);
}

static void leave_group(struct rib_vr *v, const struct rib_link *l, const struct ip_addr *group)
{
    struct multicast_entry e = join_entry(iface_under(v, l), group);

    if (e.key.iface)
        multicast_del(v->id, &e.key);
}

static bool is_link_local(const struct ip_addr *a)
{
    return a->family == IP6 && a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

// A link-local address is valid only on its link, so no FIB has it. It is kept with the groups
// joined there.
void rib_multicast_own(struct rib_vr *v, const struct rib_link *l, const struct ip_addr *a, bool on)
{
    if (!is_link_local(a))
        return;
    if (on)
        join_group(v, l, a);
    else
        leave_group(v, l, a);
}

static void own_all(struct rib_vr *v, const struct rib_link *bound, bool on)
{
    struct rib_link *l;

    vec_foreach (&bound->addr, a)
        rib_multicast_own(v, bound, &a->addr, on);
    if (!v->n_uppers)
        return;
    rib_map_each (&v->link, l)
        if (l != bound && l->told.lower == bound->ifindex && !l->iface)
            vec_foreach (&l->addr, a)
                rib_multicast_own(v, l, &a->addr, on);
}

static void group_gone(struct rib_vr *v, struct rib_link *l, size_t at)
{
    leave_group(v, l, &l->group.item[at].addr);
    l->group.item[at] = l->group.item[--l->group.n];
}

void rib_multicast_group(struct rib_vr *v, const struct netlink_group *g, bool del)
{
    struct rib_link *l = is_wide(&g->addr) ? rib_link_get(v, g->ifindex) : NULL;

    if (!l)
        return;
    for (size_t i = 0; i < l->group.n; i++) {
        if (!ip_equal(&l->group.item[i].addr, &g->addr))
            continue;
        l->group.item[i].gen = v->gen;
        if (del)
            group_gone(v, l, i);
        return;
    }
    if (del || l->group.n >= GROUPS_MAX)
        return;
    *vec_push(&l->group) = (struct rib_group){g->addr, v->gen};
    join_group(v, l, &g->addr);
}

void rib_multicast_sweep_groups(struct rib_vr *v, uint8_t family)
{
    struct rib_link *l;

    rib_map_each (&v->link, l)
        for (size_t i = l->group.n; i--;)
            if (l->group.item[i].addr.family == family && l->group.item[i].gen != v->gen)
                group_gone(v, l, i);
}

void rib_multicast_link_gone(struct rib_vr *v, struct rib_link *l)
{
    while (l->group.n)
        group_gone(v, l, l->group.n - 1);
    rib_multicast_daemon(v, l, IP4, false);
    rib_multicast_daemon(v, l, IP6, false);
}

void rib_multicast_daemon(struct rib_vr *v, struct rib_link *l, uint8_t family, bool runs)
{
    if (l->multicast[family == IP6] == runs)
        return;
    l->multicast[family == IP6] = runs;
    if (l->iface)
        multicast_daemon_set(l->iface, family, runs);
    // outputs on it come and go silently
    rib_sync_want(v, 1u << (family == IP6 ? RIB_STAGE_MROUTE6 : RIB_STAGE_MROUTE4),
                  VERIFY_DELAY_NS);
}

void rib_multicast_bind(struct rib_vr *v, struct rib_link *l)
{
    multicast_daemon_set(l->iface, IP4, l->multicast[0]);
    multicast_daemon_set(l->iface, IP6, l->multicast[1]);
    vec_foreach (&l->group, g)
        join_group(v, l, &g->addr);
    own_all(v, l, true);
    rib_multicast_refresh(v);
}

void rib_multicast_unbind(struct rib_vr *v, struct rib_link *l)
{
    multicast_daemon_set(l->iface, IP4, false);
    multicast_daemon_set(l->iface, IP6, false);
    vec_foreach (&l->group, g)
        leave_group(v, l, &g->addr);
    own_all(v, l, false);
}

void rib_multicast_fini(struct rib_vr *v)
{
    struct rib_mroute *r;

    multicast_clear(v->id);
    rib_map_each (&v->mroutes, r)
        while (r) {
            struct rib_mroute *next = r->next;
            free_route(v, r);
            r = next;
        }
    rib_map_fini(&v->mroutes);
}
