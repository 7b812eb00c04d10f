// SPDX-License-Identifier: BSD-3-Clause
// neigh_take.c - takes packets that must wait from forwarders, and admits hosts
//
// rib_manager polls the ring. Each packet waits in its neighbor's queue (neigh_hold.c has the
// limits), or is refused with a named drop.
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/exchange.h"
#include "table/iface.h"

#define POLL_MAX 1024 // packets taken per call

static uint64_t tokens_at_ns, tokens = NEIGH_RATE;

void neigh_pending_tick(uint64_t now_ns)
{
    struct neigh *n, *next;

    for (n = neigh_pending_first(); n; n = next) {
        next = LIST_NEXT(n, on_pending);
        if (now_ns - (n->held ? packet_meta(n->held)->since_ns : n->asked_ns) < NEIGH_HOLD_NS)
            continue;
        n->failed_until_ns = now_ns + NEIGH_NEGATIVE_NS; // before the kernel reports it
        neigh_update(n, now_ns);
    }
}

// May another host be resolved? Spends a token.
static bool admit_host(const struct rib_link *l, uint8_t family, uint64_t now_ns)
{
    unsigned most = neigh_limit_pending(family);
    uint64_t earned = (now_ns - tokens_at_ns) / (1000000000u / NEIGH_RATE);

    if (earned) {
        tokens = tokens + earned > NEIGH_RATE ? NEIGH_RATE : tokens + earned;
        tokens_at_ns = now_ns;
    }
    if (!tokens || neigh_pending_count() >= most || l->n_pending >= most / 2)
        return false;
    tokens--;
    return true;
}

static void hold_packet(struct neigh *n, struct rte_mbuf *m, uint64_t now_ns)
{
    switch (n->nexthop ? n->kind : NEXTHOP_NONE) {
    case NEXTHOP_ADJACENCY: // resolved while the packet was in the ring
        neigh_hold_send(m, n->nexthop);
        return;
    case NEXTHOP_FAILED: neigh_hold_count(DROP_NEIGH_FAILED, m); return;
    }
    if (!n->pending)
        neigh_pending_add(n);
    neigh_want(n, now_ns);
    neigh_hold_add(n, m, now_ns);
    if (neigh_is_resolved(n)) // no next hop so far: gets one, or the packets are dropped
        neigh_update(n, now_ns);
}

static bool read_destination(struct rte_mbuf *m, struct ip_addr *dst)
{
    unsigned offset = packet_meta(m)->family == IP4 ? 16 : 24,
             n = packet_meta(m)->family == IP4 ? 4 : 16;

    *dst = (struct ip_addr){.family = packet_meta(m)->family};
    if (rte_pktmbuf_data_len(m) < offset + n)
        return false;
    memcpy(dst->b, rte_pktmbuf_mtod_offset(m, char *, offset), n);
    return true;
}

// Link on which to look for the host: the interface's own, or a macvlan on it when only that one
// leads to the host.
static struct rib_link *link_to(struct rib_vr *v, uint16_t iface, const struct ip_addr *dst)
{
    struct rib_link *own = rib_link_find(v, iface_get(iface)->ifindex), *l;

    if (!v->n_macvlans || !own || rib_is_connected(v, dst, own->ifindex))
        return own;
    rib_map_each (&v->link, l)
        if (l->via == iface && rib_is_connected(v, dst, l->ifindex))
            return l;
    return own;
}

static void hold_for_host(struct rib_vr *v, uint16_t iface, const struct ip_addr *dst,
                          struct rte_mbuf *m, uint64_t now_ns)
{
    struct rib_link *l = link_to(v, iface, dst);
    struct neigh *n;

    if (!l || l->via != iface || !l->up) {
        neigh_hold_count(DROP_HOLD_GONE, m);
        return;
    }
    n = neigh_find(v, l->ifindex, dst);
    if (n && n->failed_until_ns > now_ns) {
        neigh_hold_count(DROP_NEIGH_FAILED, m);
        return;
    }
    if (!(n && (n->pending || neigh_is_resolved(n))) && !admit_host(l, dst->family, now_ns)) {
        neigh_hold_count(DROP_HOLD_LIMIT, m);
        return;
    }
    if (!n && !neigh_has_room(v)) {
        neigh_hold_count(DROP_VR_NEIGHBOR_BUDGET, m);
        return;
    }
    hold_packet(n ? n : neigh_make(v, l->ifindex, dst), m, now_ns);
}

// Does the FIB now send the host's packets to this id, which another virtual router made?
static bool leads_there(struct rib_vr *v, const struct ip_addr *dst, uint32_t id)
{
    uint32_t now = nexthop_real(fib_find(rib_fib(v, dst->family), dst));

    return now == id ||
           (nexthop_word_kind(nexthop_word(nexthop_get(now))) == NEXTHOP_GROUP &&
            nexthop_group_count(now, id));
}

// Router that knows the link of the interface: the virtual router itself, or, for an imported
// route, the owner of the interface.
static struct rib_vr *link_owner(struct rib_vr *v, uint16_t iface, const struct ip_addr *dst,
                                 uint32_t id)
{
    const struct rib_link *l = rib_link_find(v, iface_get(iface)->ifindex);

    if (iface_get(iface)->vr == v->id || (l && l->via == iface) || !leads_there(v, dst, id))
        return v;
    struct rib_vr *owner = rib_vr_find(iface_get(iface)->vr);
    return owner ? owner : v;
}

static void take_packet(struct rte_mbuf *m, uint64_t now_ns)
{
    struct packet_meta *meta = packet_meta(m);
    struct rib_vr *v = rib_vr_find(meta->vr);
    uint32_t id = meta->nexthop;
    struct ip_addr dst;

    if (meta->family == IP_NONE) { // it has labels, which name its neighbor
        struct neigh *n = neigh_of_nexthop(id);
        n ? hold_packet(n, m, now_ns) : neigh_hold_count(DROP_HOLD_GONE, m);
        return;
    }

    if (!v || !read_destination(m, &dst)) {
        neigh_hold_count(DROP_HOLD_GONE, m);
        return;
    }
    // The forwarder read the id some time ago; if it has been reused, ask the FIB again.
    for (int again = 0; again < 2; again++) {
        const struct nexthop *nh = nexthop_get(id);
        enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nh));
        struct neigh *n = neigh_of_nexthop(id);

        if (n && (n->vr == v || leads_there(v, &dst, id))) {
            hold_packet(n, m, now_ns);
            return;
        }
        if (kind == NEXTHOP_GLEAN) {
            hold_for_host(link_owner(v, nh->iface, &dst, id), nh->iface, &dst, m, now_ns);
            return;
        }
        id = nexthop_real(fib_find(rib_fib(v, dst.family), &dst));
    }
    neigh_hold_count(DROP_HOLD_GONE, m);
}

unsigned neigh_hold_poll(uint64_t now_ns)
{
    void *m[64];
    unsigned total = 0, n;

    if (!exchange_hold) // then there is no forwarder either
        return 0;
    do {
        n = rte_ring_dequeue_burst(exchange_hold, m, 64, NULL);
        for (unsigned i = 0; i < n; i++)
            take_packet(m[i], now_ns);
        total += n;
    } while (n == 64 && total < POLL_MAX);
    return total;
}
