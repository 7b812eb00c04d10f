// SPDX-License-Identifier: BSD-3-Clause
// neigh_hold.c - packets that wait for a neighbour, and the limits of waiting
//
// A forwarder that meets HOLD (gateway not resolved) or GLEAN (host on a link)
// puts the packet on exchange_hold. Here it waits in its neighbour's queue while
// the kernel resolves, and leaves by INJECT_NEXTHOP, with a named drop, or never
// enters. When nobody answers it leaves by INJECT_NEXTHOP as well, to the next
// hop that says FAILED now, so that the forwarder tells its sender by ICMP.
// An address scan of a /16 or /64 must not hurt anybody (RFC 6583):
//   - at most NEIGH_HOLD_MAX packets a neighbour, oldest dropped first;
//   - new hosts spend a token (NEIGH_RATE a second), and at most
//     NEIGH_PENDING_MAX are being resolved at a time, half of them on one link;
//   - gateways and hosts that are already known spend none;
//   - a failure is answered from memory for NEIGH_NEGATIVE_NS.
// Held packets are counted in counter_mine()->held from the moment they leave
// the ring until they enter the next one or are dropped.
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/log.h"
#include "manager/neigh_manager.h"
#include "manager/rib.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/plan.h"

#define POLL_MAX 1024 // packets taken per call

static LIST_HEAD(, neigh) pending = LIST_HEAD_INITIALIZER(pending);
static unsigned n_pending;
static uint64_t tokens_at_ns, tokens = NEIGH_RATE;

static void count_drop(int reason, struct rte_mbuf *m)
{
    counter_mine()->drop[reason]++;
    rte_pktmbuf_free(m);
}

static void send(struct rte_mbuf *m, uint32_t nexthop)
{
    unsigned home = plan_home(nexthop_get(nexthop)->port);

    packet_meta(m)->kind = INJECT_NEXTHOP;
    packet_meta(m)->nexthop = nexthop;
    if (home >= FORWARDER_MAX)
        count_drop(DROP_INJECT_NO_FORWARDER, m);
    else if (rte_ring_enqueue(exchange_inject[home], m))
        count_drop(DROP_INJECT_RING_FULL, m);
    else
        waker_wake(&forwarder_slot[home].waker);
}

static struct rte_mbuf *dequeue(struct neigh *n)
{
    struct rte_mbuf *m = n->held;

    n->held = packet_meta(m)->next_held;
    if (!n->held)
        n->held_tail = &n->held;
    n->n_held--;
    counter_mine()->held--;
    return m;
}

static void enqueue(struct neigh *n, struct rte_mbuf *m, uint64_t now_ns)
{
    if (n->n_held == NEIGH_HOLD_MAX)
        count_drop(DROP_HOLD_FULL, dequeue(n));
    packet_meta(m)->since_ns = now_ns;
    packet_meta(m)->next_held = NULL;
    *n->held_tail = m;
    n->held_tail = &packet_meta(m)->next_held;
    n->n_held++;
    counter_mine()->held++;
}

void neigh_hold_flush(struct neigh *n)
{
    while (n->held)
        send(dequeue(n), n->nexthop);
}

void neigh_hold_fail(struct neigh *n)
{
    while (n->held && n->nexthop && n->kind == NEXTHOP_FAILED)
        send(dequeue(n), n->nexthop);
    neigh_hold_drop(n, DROP_HOLD_TIMEOUT);
}

void neigh_hold_drop(struct neigh *n, int reason)
{
    while (n->held)
        count_drop(reason, dequeue(n));
}

void neigh_pending_add(struct neigh *n)
{
    struct rib_link *l = rib_link_get(n->vr, n->ifindex);

    n->pending = true;
    n_pending++;
    l->n_pending++;
    LIST_INSERT_HEAD(&pending, n, on_pending);
}

void neigh_pending_del(struct neigh *n)
{
    struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    n->pending = false;
    n_pending--;
    if (l)
        l->n_pending--;
    LIST_REMOVE(n, on_pending);
}

void neigh_pending_tick(uint64_t now_ns)
{
    struct neigh *n, *next;

    for (n = LIST_FIRST(&pending); n; n = next) {
        next = LIST_NEXT(n, on_pending);
        if (now_ns - (n->held ? packet_meta(n->held)->since_ns : n->asked_ns) < NEIGH_HOLD_NS)
            continue;
        n->failed_until_ns = now_ns + NEIGH_NEGATIVE_NS; // the kernel has not said so yet
        neigh_update(n, now_ns);
    }
}

// May one more host be resolved? Spends a token.
static bool admit(const struct rib_link *l, uint64_t now_ns)
{
    uint64_t earned = (now_ns - tokens_at_ns) / (1000000000u / NEIGH_RATE);

    if (earned) {
        tokens = tokens + earned > NEIGH_RATE ? NEIGH_RATE : tokens + earned;
        tokens_at_ns = now_ns;
    }
    if (!tokens || n_pending >= NEIGH_PENDING_MAX || l->n_pending >= NEIGH_PENDING_LINK_MAX)
        return false;
    tokens--;
    return true;
}

static void hold(struct neigh *n, struct rte_mbuf *m, uint64_t now_ns)
{
    switch (n->nexthop ? n->kind : NEXTHOP_NONE) {
    case NEXTHOP_ADJACENCY: // resolved while the packet was under way
        send(m, n->nexthop);
        return;
    case NEXTHOP_FAILED: count_drop(DROP_NEIGH_FAILED, m); return;
    }
    if (!n->pending)
        neigh_pending_add(n);
    neigh_want(n, now_ns);
    enqueue(n, m, now_ns);
    if (neigh_is_resolved(n)) // but without a next hop until now: it gets one, or the packets go
        neigh_update(n, now_ns);
}

static bool destination(struct rte_mbuf *m, struct ip_addr *dst)
{
    unsigned offset = packet_meta(m)->family == IP4 ? 16 : 24, n = packet_meta(m)->family == IP4 ? 4 : 16;

    *dst = (struct ip_addr){.family = packet_meta(m)->family};
    if (rte_pktmbuf_data_len(m) < offset + n)
        return false;
    memcpy(dst->b, rte_pktmbuf_mtod_offset(m, char *, offset), n);
    return true;
}

static void glean(struct rib_vr *v, uint16_t iface, const struct ip_addr *dst, struct rte_mbuf *m,
                  uint64_t now_ns)
{
    struct rib_link *l = rib_link_find(v, iface_get(iface)->ifindex);
    struct neigh *n;

    if (!l || l->iface != iface || !l->up) {
        count_drop(DROP_HOLD_GONE, m);
        return;
    }
    n = neigh_find(v, l->ifindex, dst);
    if (n && n->failed_until_ns > now_ns) {
        count_drop(DROP_NEIGH_FAILED, m);
        return;
    }
    if (!(n && (n->pending || neigh_is_resolved(n))) && !admit(l, now_ns)) {
        count_drop(DROP_HOLD_LIMIT, m);
        return;
    }
    hold(n ? n : neigh_make(v, l->ifindex, dst), m, now_ns);
}

static void take(struct rte_mbuf *m, uint64_t now_ns)
{
    struct packet_meta *meta = packet_meta(m);
    struct rib_vr *v = meta->vr < VR_MAX ? rib_vr_find(meta->vr) : NULL;
    uint32_t id = meta->nexthop;
    struct ip_addr dst;

    if (!v || !destination(m, &dst)) {
        count_drop(DROP_HOLD_GONE, m);
        return;
    }
    // The id is what a forwarder saw some time ago; when it has been given to something else, ask the FIB again.
    for (int again = 0; again < 2; again++) {
        const struct nexthop *nh = nexthop_get(id);
        enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nh));
        struct neigh *n = neigh_of_nexthop(id);

        if (n && n->vr == v) {
            hold(n, m, now_ns);
            return;
        }
        if (kind == NEXTHOP_GLEAN) {
            glean(v, nh->iface, &dst, m, now_ns);
            return;
        }
        id = fib_find(rib_fib(v, dst.family), &dst);
    }
    count_drop(DROP_HOLD_GONE, m);
}

unsigned neigh_hold_poll(uint64_t now_ns)
{
    void *m[64];
    unsigned total = 0, n;

    if (!exchange_hold) // no forwarder can be there either
        return 0;
    do {
        n = rte_ring_dequeue_burst(exchange_hold, m, 64, NULL);
        for (unsigned i = 0; i < n; i++)
            take(m[i], now_ns);
        total += n;
    } while (n == 64 && total < POLL_MAX);
    return total;
}
