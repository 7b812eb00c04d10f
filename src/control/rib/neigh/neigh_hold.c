// SPDX-License-Identifier: BSD-3-Clause
// neigh_hold.c - packets that wait for a neighbor, and the limits of waiting
//
// A forwarder that finds HOLD (gateway not resolved) or GLEAN (host on a link) puts the packet on
// exchange_hold. The packet waits in its neighbor's queue while the kernel resolves, and leaves by
// INJECT_NEXTHOP or with a named drop. If the neighbor does not answer, the packet also leaves by
// INJECT_NEXTHOP, to a next hop that is FAILED by then, so that the forwarder informs the sender by
// ICMP.
//
// Limits against an address scan of a /16 or /64 (RFC 6583):
//   - at most NEIGH_HOLD_MAX packets per neighbor, oldest dropped first;
//   - new hosts spend a token (NEIGH_RATE a second), and at most NEIGH_PENDING_MAX are being
//     resolved at a time (neigh_limit_pending), half of them on one link;
//   - gateways and known hosts spend none;
//   - a failure is answered from memory for NEIGH_NEGATIVE_NS.
//
// counter_mine()->held counts packets from the moment they leave the ring until they enter the next
// one or are dropped.
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/plan.h"

static LIST_HEAD(, neigh) pending = LIST_HEAD_INITIALIZER(pending);
static unsigned n_pending;

void neigh_hold_count(int reason, struct rte_mbuf *m)
{
    struct counter_block *c = counter_mine();

    c->drop[reason]++;
    c->vr_drop[packet_meta(m)->owner][reason]++;
    c->vr[packet_meta(m)->owner].resumed++;
    rte_pktmbuf_free(m);
}

void neigh_hold_send(struct rte_mbuf *m, uint32_t nexthop)
{
    unsigned home = plan_home(nexthop_get(nexthop)->port);

    packet_meta(m)->kind = INJECT_NEXTHOP;
    packet_meta(m)->nexthop = nexthop;
    if (home >= FORWARDER_MAX)
        neigh_hold_count(DROP_INJECT_NO_FORWARDER, m);
    else if (rte_ring_enqueue(exchange_inject[home], m))
        neigh_hold_count(DROP_INJECT_RING_FULL, m);
    else
        waker_wake(&forwarder_slot[home].waker);
}

static struct rte_mbuf *take_oldest(struct neigh *n)
{
    struct rte_mbuf *m = n->held;

    n->held = packet_meta(m)->next_held;
    if (!n->held)
        n->held_tail = &n->held;
    n->n_held--;
    counter_mine()->held--;
    return m;
}

void neigh_hold_add(struct neigh *n, struct rte_mbuf *m, uint64_t now_ns)
{
    if (n->n_held == NEIGH_HOLD_MAX)
        neigh_hold_count(DROP_HOLD_FULL, take_oldest(n));
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
        neigh_hold_send(take_oldest(n), n->nexthop);
}

void neigh_hold_fail(struct neigh *n)
{
    while (n->held && n->nexthop && n->kind == NEXTHOP_FAILED)
        neigh_hold_send(take_oldest(n), n->nexthop);
    neigh_hold_drop(n, DROP_HOLD_TIMEOUT);
}

void neigh_hold_drop(struct neigh *n, int reason)
{
    while (n->held)
        neigh_hold_count(reason, take_oldest(n));
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

unsigned neigh_pending_count(void)
{
    return n_pending;
}

struct neigh *neigh_pending_first(void)
{
    return LIST_FIRST(&pending);
}
