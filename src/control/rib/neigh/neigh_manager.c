// SPDX-License-Identifier: BSD-3-Clause
// neigh_manager.c - neighbors: the kernel resolves them, the FIB follows
//
// neigh_update() is the core. After any change (the kernel's entry, the link, the routes, time), it
// computes from the state the right kind of the next-hop id, whether the host has its own route in
// the FIB, and whether the record is still needed, and applies the result.
//
// A host gets a FIB entry of its own when the longest kernel route to it leads onto its link
// without a gateway: then the kernel, too, would send straight to it. Link-local addresses never
// get one; they are next hops only. A host that does not answer keeps its entry (kind FAILED), so
// that forwarders answer "unreachable" themselves during an address scan.
//
// NTF_MANAGED makes the kernel keep gateways resolved. Entries of hosts go stale after half a
// minute, because the kernel does not see our traffic; recently used ones are probed again
// (NTF_USE). A full table evicts stale entries, whether we use them or not: such a host keeps its
// MAC while we ask the kernel again, so that it loses no packet during or after a scan.
#include "rib/neigh.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/tunnel.h"
#include "table/vr_budget.h"

#define ASK_INTERVAL_NS NS_PER_SECOND
#define SCAN_INTERVAL_NS NS_PER_SECOND

static struct rib_pool neighs;
static uint32_t *owner; // [NEXTHOP_ALL_MAX] neighbor of a next-hop id, 0 = none
static uint64_t scanned_ns, epoch_ns;
static struct neigh_routes routes;

int neigh_manager_init(const struct neigh_routes *r)
{
    routes = *r;
    rib_pool_init(&neighs, (sizeof(struct neigh) + 7) & ~7u);
    owner = calloc(NEXTHOP_ALL_MAX, sizeof *owner);
    scanned_ns = epoch_ns = clock_now_ns();
    return owner ? neigh_limit_init() : -ENOMEM;
}

void neigh_manager_fini(void)
{
    neigh_limit_fini();
    rib_pool_fini(&neighs);
    free(owner);
    owner = NULL;
}

static uint32_t find_id(struct rib_vr *v, int ifindex, const struct ip_addr *addr)
{
    struct rib *r = rib_of(v, addr->family);
    struct prefix p = rib_host(addr);
    uint32_t node = rib_trie_find(&r->neigh, &p), id;

    for (id = node ? rib_trie_at(&r->neigh, node)->head : 0; id;) {
        const struct neigh *n = rib_pool_at(&neighs, id);

        if (n->ifindex == ifindex)
            return id;
        id = n->next;
    }
    return 0;
}

struct neigh *neigh_find(struct rib_vr *v, int ifindex, const struct ip_addr *addr)
{
    uint32_t id = find_id(v, ifindex, addr);

    return id ? rib_pool_at(&neighs, id) : NULL;
}

struct neigh *neigh_make(struct rib_vr *v, int ifindex, const struct ip_addr *addr)
{
    struct rib *r = rib_of(v, addr->family);
    struct prefix p = rib_host(addr);
    struct rib_link *l = rib_link_get(v, ifindex);
    struct neigh *n = neigh_find(v, ifindex, addr);
    struct rib_node *node;
    uint32_t id;

    if (n || !l)
        return n;
    id = rib_pool_new(&neighs);
    n = rib_pool_at(&neighs, id);
    n->vr = v;
    n->addr = *addr;
    n->ifindex = ifindex;
    n->held_tail = &n->held;
    node = rib_trie_at(&r->neigh, rib_trie_add(&r->neigh, &p));
    n->next = node->head;
    node->head = id;
    LIST_INSERT_HEAD(&l->neighs, n, on_link);
    v->n_neighbors++;
    return n;
}

static void neigh_free(struct neigh *n)
{
    struct rib_vr *v = n->vr;
    struct rib *r = rib_of(v, n->addr.family);
    struct prefix p = rib_host(&n->addr);
    uint32_t node = rib_trie_find(&r->neigh, &p), id = find_id(v, n->ifindex, &n->addr);
    uint32_t *link = &rib_trie_at(&r->neigh, node)->head;

    neigh_feed_gone(n);
    while (*link != id)
        link = &((struct neigh *)rib_pool_at(&neighs, *link))->next;
    *link = n->next;
    rib_trie_prune(&r->neigh, node);
    LIST_REMOVE(n, on_link);
    v->n_neighbors--;
    n->vr = NULL; // marks the free record for neigh_each
    rib_pool_free(&neighs, id);
}

bool neigh_is_used(const struct neigh *n)
{
    return n->nexthop && nexthop_used_since(n->nexthop, 2);
}

struct neigh *neigh_of_nexthop(uint32_t id)
{
    return id && owner[id] ? rib_pool_at(&neighs, owner[id]) : NULL;
}

static bool is_link_local_or_group(const struct ip_addr *a)
{
    if (a->family == IP4)
        return (a->b[0] & 0xf0) == 0xe0 || a->b[0] == 0xff;
    return a->b[0] == 0xff || (a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80);
}

// Does the kernel's longest route to the host lead onto its link without a gateway?
static bool is_connected(const struct neigh *n)
{
    return !is_link_local_or_group(&n->addr) && routes.is_connected(n->vr, &n->addr, n->ifindex);
}

static void drop_id(struct neigh *n)
{
    if (!n->nexthop)
        return;
    if (n->host)
        routes.set_host(n->vr, &n->addr, n->nexthop, false);
    n->host = false;
    owner[n->nexthop] = 0;
    if (!n->detour) // like "unreachable", a detour lasts until no FIB entry has the next hop
        nexthop_set_kind(n->nexthop, NEXTHOP_UNREACHABLE);
    n->detour = false;
    nexthop_put(n->nexthop);
    n->nexthop = 0;
    n->vr->n_nexthops--;
    n->kind = NEXTHOP_NONE;
}

static bool make_id(struct neigh *n, uint16_t iface)
{
    if (n->nexthop)
        return true;
    n->nexthop = nexthop_has_room(n->vr) ? nexthop_make(NEXTHOP_HOLD, iface) : 0;
    if (!n->nexthop)
        return false;
    n->vr->n_nexthops++;
    nexthop_set_address(n->nexthop, &n->addr);
    n->kind = NEXTHOP_HOLD;
    n->iface = iface;
    owner[n->nexthop] = find_id(n->vr, n->ifindex, &n->addr);
    return true;
}

static void set_kind(struct neigh *n, uint8_t kind)
{
    if (kind == n->kind)
        return;
    n->kind = kind;
    nexthop_set_kind(n->nexthop, kind);
}

static void set_way(struct neigh *n, uint16_t iface, const uint8_t mac[6])
{
    if (n->kind == NEXTHOP_ADJACENCY && n->way_iface == iface && !memcmp(n->way_mac, mac, 6))
        return;
    n->kind = NEXTHOP_ADJACENCY;
    n->way_iface = iface;
    memcpy(n->way_mac, mac, 6);
    nexthop_set_adjacency(n->nexthop, iface, mac);
}

static void tell_detour(const struct neigh *n, const struct neigh *by)
{
    char gateway[IP_TEXT_MAX], other[IP_TEXT_MAX];
    const char *iface = iface_get(n->iface)->name;

    ip_format(&n->addr, gateway);
    if (by)
        log_notice("neigh: gateway without carrier, its packets follow the default route: vr=%u "
                   "gateway=%s interface=%s default-gateway=%s",
                   n->vr->id, gateway, iface, ip_format(&by->addr, other));
    else
        log_notice("neigh: detour of a gateway ended: vr=%u gateway=%s interface=%s",
                   n->vr->id, gateway, iface);
}

// Makes its next hop follow the neighbor's state.
static void apply_state(struct neigh *n, const struct rib_link *l, bool resolved, bool failed)
{
    const struct neigh *by = routes.detour(n);

    if (n->detour != (by != NULL))
        tell_detour(n, by);
    n->detour = by;
    if (by)
        set_way(n, by->iface, by->mac);
    else if (!l->up || !l->carrier)
        set_kind(n, NEXTHOP_FAILED);
    else if (resolved)
        set_way(n, n->iface, n->mac);
    else
        set_kind(n, failed ? NEXTHOP_FAILED : NEXTHOP_HOLD);
}

void neigh_update(struct neigh *n, uint64_t now_ns)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);
    bool alive = l && l->up && l->carrier,
         resolved = neigh_is_resolved(n) || n->kept_until_ns > now_ns;
    bool failed = n->failed_until_ns > now_ns;
    uint16_t iface = l ? l->via : 0;
    if (iface && tunnel_is_point_to_point(iface_get(iface))) { // needs no resolution
        memcpy(n->mac, iface_get(iface)->mac, sizeof n->mac);
        resolved = true;
        failed = false;
    }
    bool host = iface && (resolved || failed) && is_connected(n);

    if (n->nexthop && (n->iface != iface || !(n->refs || host || n->n_held)))
        drop_id(n);
    if (iface && (n->refs || host) && make_id(n, iface)) {
        apply_state(n, l, resolved, failed);
        if (host != n->host)
            routes.set_host(n->vr, &n->addr, n->nexthop, host);
        n->host = host;
    }
    neigh_feed_look(n);
    if (resolved && alive && n->nexthop)
        neigh_hold_flush(n);
    else if (failed)
        neigh_hold_fail(n);
    else if (!iface || (resolved && !n->nexthop))
        neigh_hold_drop(n, DROP_HOLD_GONE);
    if ((resolved || failed || !iface) && n->pending)
        neigh_pending_del(n);
    if (!n->in_kernel && !n->refs && !n->host && !n->pending && !failed && !n->managed) {
        drop_id(n);
        neigh_free(n);
    }
}

struct neigh *neigh_get(struct rib_vr *v, int ifindex, const struct ip_addr *addr)
{
    struct neigh *n = neigh_make(v, ifindex, addr);

    if (!n)
        return NULL;
    if (!n->refs++) {
        neigh_update(n, clock_now_ns());
        neigh_want(n, clock_now_ns());
    }
    return n;
}

void neigh_put(struct neigh *n)
{
    if (n && !--n->refs)
        neigh_update(n, clock_now_ns());
}

bool neigh_lacks_nexthop(const struct neigh *n)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    return !n->nexthop && n->vr->lacks_nexthops && l && l->via;
}

bool neigh_has_room(struct rib_vr *v)
{
    bool room = vr_budget_has_room(v->id, VR_BUDGET_NEIGHBORS, v->n_neighbors);

    v->lacks_neighbors |= !room;
    v->refused_neighbors += !room;
    return room;
}

void neigh_want(struct neigh *n, uint64_t now_ns)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);
    bool managed = n->refs && !n->vr->no_managed;

    if (!l || !l->via || !l->up || !l->carrier || tunnel_is_point_to_point(iface_get(l->via)) ||
        (n->in_kernel && (n->state & (NUD_PERMANENT | NUD_NOARP))))
        return;
    if (n->asked_ns && now_ns - n->asked_ns < ASK_INTERVAL_NS)
        return;
    n->asked_ns = now_ns;
    if (!netlink_neigh_request(&n->vr->requests, n->ifindex, &n->addr,
                               managed ? NETLINK_NEIGH_MANAGED : NETLINK_NEIGH_USE))
        n->managed = managed;
}

void neigh_refused(struct rib_vr *v, int error)
{
    if (error == -ENOBUFS)
        neigh_limit_refused();
    if ((error != -EINVAL && error != -EOPNOTSUPP) || v->no_managed)
        return;
    v->no_managed = true;
    log_notice("neigh: the kernel cannot keep neighbors resolved (NTF_MANAGED), kamueed does it "
               "instead: vr=%u",
               v->id);
}

// Did the kernel evict a valid entry that we use? Before a deliberate deletion (`ip neigh del`, a
// link that goes), the kernel reports the entry as failed.
static bool is_pushed_out(const struct neigh *n, bool del)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    return del && n->host && l && l->up && l->carrier && neigh_is_resolved(n) &&
           !(n->state & (NUD_PERMANENT | NUD_NOARP)) && neigh_is_used(n);
}

// A group MAC never belongs to a host, whatever an ARP or ND answer claims (RFC 1812 3.3.2): each
// frame to it would reach many hosts. An operator can allow it (a cluster with a shared group MAC)
// by a permanent entry.
static bool is_believed(const struct rib_vr *v, const struct netlink_neigh *m)
{
    char addr[IP_TEXT_MAX], mac[MAC_TEXT_MAX];

    if (!m->has_mac || !(m->mac[0] & 1) || m->state & (NUD_PERMANENT | NUD_NOARP))
        return m->has_mac;
    log_warning("neigh: ignored a neighbor that claims a group MAC: vr=%u address=%s mac=%s", v->id,
                ip_format(&m->addr, addr), text_format_mac(m->mac, mac));
    return false;
}

// Neighbor that the event concerns; NULL if there is none, or a new one exceeds the budget of
// neighbors. Gateways always have their record (neigh_get): the budget of next hops covers them.
static struct neigh *of_event(struct rib_vr *v, const struct netlink_neigh *m, bool del)
{
    struct neigh *n = neigh_is_group(&m->addr) ? NULL : neigh_find(v, m->ifindex, &m->addr);

    if (n || del || neigh_is_group(&m->addr) || !neigh_has_room(v))
        return n;
    return neigh_make(v, m->ifindex, &m->addr);
}

void neigh_event(struct rib_vr *v, const struct netlink_neigh *m, bool del)
{
    struct neigh *n = of_event(v, m, del);
    uint64_t now = clock_now_ns();
    bool believed;

    if (!n)
        return;
    if (is_pushed_out(n, del)) {
        n->kept_until_ns = now + NEIGH_KEPT_NS;
        n->asked_ns = 0;
    }
    n->gen = v->gen;
    believed = !del && is_believed(v, m);
    n->in_kernel = !del;
    n->state = del ? NUD_NONE : m->state;
    n->has_mac =
        believed || (!del && m->has_mac && n->has_mac); // the previous MAC stays in force
    if (believed)
        memcpy(n->mac, m->mac, 6);
    if (del)
        n->managed = false;
    if (neigh_is_resolved(n))
        n->failed_until_ns = n->kept_until_ns = 0;
    else if (n->state & NUD_FAILED)
        n->kept_until_ns = 0;
    if (!neigh_is_resolved(n) && (n->state & NUD_FAILED) && (n->refs || n->pending))
        n->failed_until_ns = now + NEIGH_NEGATIVE_NS;
    if (n->kept_until_ns > now)
        neigh_want(n, now);
    neigh_update(n, now);
}

void neigh_link_changed(struct rib_vr *v, struct rib_link *l)
{
    uint64_t now = clock_now_ns();
    struct neigh *n, *next;

    neigh_groups_keep(v, l);
    for (n = LIST_FIRST(&l->neighs); n; n = next) {
        next = LIST_NEXT(n, on_link);
        n->asked_ns = 0;
        if (!l->up || !l->carrier)
            n->kept_until_ns = 0;
        if (n->refs)
            neigh_want(n, now);
        neigh_update(n, now);
    }
}

void neigh_carrier_changed(struct rib_link *l)
{
    uint64_t now = clock_now_ns();
    struct neigh *n, *next;

    for (n = LIST_FIRST(&l->neighs); n; n = next) {
        next = LIST_NEXT(n, on_link);
        if (n->refs)
            neigh_update(n, now);
    }
}

void neigh_link_gone(struct rib_vr *v, struct rib_link *l)
{
    struct neigh *n, *next;

    for (n = LIST_FIRST(&l->neighs); n; n = next) {
        next = LIST_NEXT(n, on_link);
        n->in_kernel = n->has_mac = n->managed = false;
        n->failed_until_ns = n->kept_until_ns = 0;
    }
    neigh_link_changed(v, l);
}

void neigh_recheck(struct rib_vr *v, const struct prefix *p)
{
    struct rib *r = rib_of(v, p->family);
    uint64_t now = clock_now_ns();
    uint32_t node = rib_trie_first_in(&r->neigh, p), next, id, next_id;
    bool more = node;

    for (; more; node = next) {
        next = rib_trie_next(&r->neigh, node);
        more = next && rib_trie_is_in(&r->neigh, next, p);
        for (id = rib_trie_at(&r->neigh, node)->head; id; id = next_id) {
            struct neigh *n = rib_pool_at(&neighs, id);

            next_id = n->next;
            neigh_update(n, now);
        }
    }
}

struct neigh *neigh_next(uint32_t *number, int vr)
{
    while (++*number < neighs.top) {
        struct neigh *n = rib_pool_at(&neighs, *number);

        if (n->vr && (vr < 0 || n->vr->id == vr))
            return n;
    }
    return NULL;
}

void neigh_sweep(struct rib_vr *v, uint8_t gen)
{
    struct neigh *n;

    neigh_each (n, v->id) {
        if (!n->in_kernel || n->gen == gen)
            continue;
        n->in_kernel = n->has_mac = n->managed = false;
        v->swept++;
        neigh_update(n, clock_now_ns());
    }
}

// Is it also a gateway of another virtual router? The kernel has a single entry for both.
static bool is_gateway_elsewhere(const struct neigh *n)
{
    rib_vr_each (v) {
        const struct neigh *same =
            rib_vr_shares(v, n->vr) ? neigh_find(v, n->ifindex, &n->addr) : NULL;

        if (same && same->refs)
            return true;
    }
    return false;
}

static void tick_one(struct neigh *n, uint64_t now)
{
    bool stale = n->in_kernel && (n->state & NUD_STALE);

    if (n->refs && !n->managed && (!neigh_is_resolved(n) || stale))
        neigh_want(n, now);
    else if ((stale && !n->managed && neigh_is_used(n)) || n->kept_until_ns > now)
        neigh_want(n, now);
    // Requested, but the kernel is silent: it has the entry and we have lost it.
    if (n->refs && !n->in_kernel && n->asked_ns && now - n->asked_ns > 2 * ASK_INTERVAL_NS)
        rib_sync_want(n->vr, 1u << RIB_STAGE_NEIGH, NS_PER_SECOND);
    if (!n->refs && n->managed) { // no longer a gateway: NTF_USE alone clears the mark
        n->managed = false;
        if (n->in_kernel && !(n->state & (NUD_PERMANENT | NUD_NOARP)) && !is_gateway_elsewhere(n))
            netlink_neigh_request(&n->vr->requests, n->ifindex, &n->addr, NETLINK_NEIGH_USE);
    }
    if (n->failed_until_ns && n->failed_until_ns <= now)
        n->failed_until_ns = 0;
    neigh_update(n, now);
}

void neigh_tick(uint64_t now_ns)
{
    struct neigh *n;

    neigh_limit_tick(now_ns);
    if (now_ns - epoch_ns >= NEIGH_EPOCH_NS) {
        epoch_ns = now_ns;
        // 0 in a mark means "never", so no epoch is 0
        __atomic_store_n(&nexthop_used_epoch,
                         nexthop_used_epoch == 255 ? 1 : nexthop_used_epoch + 1, __ATOMIC_RELAXED);
    }
    if (now_ns - scanned_ns < SCAN_INTERVAL_NS)
        return;
    scanned_ns = now_ns;
    neigh_each (n, -1)
        tick_one(n, now_ns);
}

void neigh_vr_gone(struct rib_vr *v)
{
    struct neigh *n;

    neigh_each (n, v->id) {
        n->in_kernel = n->managed = false;
        n->failed_until_ns = n->kept_until_ns = 0;
        neigh_hold_drop(n, DROP_HOLD_GONE);
        if (n->pending)
            neigh_pending_del(n);
        n->host = false; // the whole FIB goes
        neigh_update(n, clock_now_ns());
    }
}

bool neigh_is_ours(const struct neigh *n)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    return l && l->via && !l->of_other;
}

uint32_t neigh_count(int vr)
{
    struct neigh *n;
    uint32_t count = 0;

    neigh_each (n, vr)
        count += neigh_is_ours(n);
    return count;
}

// --- groups of routing protocols stay reachable when the neighbor table is full ---
// The kernel treats 224.0.0.5 like any other neighbor: as an entry of a table of about a thousand
// (gc_thresh3), made when a packet is sent there. When an ARP flood fills the table, the kernel
// evicts group entries first and cannot make new ones: OSPF sends no more hellos, and its
// adjacencies end. So each of our interfaces gets permanent entries, exempt from garbage
// collection, for the groups that routing protocols use. The kernel drops them with the link, so we
// request them whenever it comes up.

// Last octets: all hosts, all routers, OSPF, OSPF's designated routers, RIP, PIM, VRRP, IGMPv3 and
// MLDv2 (IANA's registries).
static const uint8_t groups4[] = {1, 2, 5, 6, 9, 13, 18, 22};        // 224.0.0.x
static const uint8_t groups6[] = {1, 2, 5, 6, 9, 0xd, 0x12, 0x16};   // ff02::x

bool neigh_is_group(const struct ip_addr *a)
{
    return a->family == IP4 ? (a->b[0] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

void neigh_groups_keep(struct rib_vr *v, const struct rib_link *l)
{
    struct ip_addr four = {.family = IP4, .b = {224}}, six = {.family = IP6, .b = {0xff, 2}};

    if (!l->iface || !l->up || !l->carrier)
        return;
    for (unsigned i = 0; i < sizeof groups4; i++) {
        four.b[3] = groups4[i];
        (void)netlink_neigh_request(&v->requests, l->ifindex, &four, NETLINK_NEIGH_GROUP);
    }
    for (unsigned i = 0; i < sizeof groups6; i++) {
        six.b[15] = groups6[i];
        (void)netlink_neigh_request(&v->requests, l->ifindex, &six, NETLINK_NEIGH_GROUP);
    }
}
