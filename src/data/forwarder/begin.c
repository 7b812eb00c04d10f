// SPDX-License-Identifier: BSD-3-Clause
// begin.c - polls before the routes are known (plan_begin)
//
// A FIB that is still being filled would cause ICMP errors, so nothing is looked up here: the
// interface's own addresses tell whether a packet is for us. Packets to our other addresses wait
// like transit packets, and so do packets whose uRPF check would need the FIB.
//
// Kept packets form a list, oldest first, linked through their private areas.

#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/stages.h"
#include "forwarder/super.h"
#include "forwarder/tags.h"
#include "forwarder/watch.h"
#include "core/rcu.h"
#include "forwarder/forbidden.h"

// --- control packets ---

static bool is_link_multicast4(const uint8_t *a) // 224.0.0/24 (RFC 5771)
{
    return a[0] == 224 && !a[1] && !a[2];
}

static bool is_link_multicast6(const uint8_t *a) // ff02:: (RFC 4291 2.7)
{
    return a[0] == 0xff && (a[1] & 15) == 2;
}

static bool is_own4(const struct iface *i, const uint8_t *ip)
{
    ip4_t own = __atomic_load_n(&i->addr4, __ATOMIC_RELAXED);

    return own && load32(ip + 16) == own;
}

static bool is_own6(const struct iface *i, const uint8_t *ip)
{
    return ip6_is_link_local(ip + 24) ? multicast_is_own_link_local(ip, i->id)
                                      : !memcmp(ip + 24, i->addr6, 16);
}

// For a complete IP header at `ip`.
static bool is_control_ip(const struct iface *i, const struct rte_mbuf *m, const uint8_t *ip,
                          bool is4)
{
    if (iface_flags(i) & (is4 ? IFACE_URPF4 : IFACE_URPF6))
        return false;
    if (is4 ? is_link_multicast4(ip + 16) : is_link_multicast6(ip + 24))
        return true;
    if (!(is4 ? is_own4(i, ip) : is_own6(i, ip)))
        return false;
    return punt_class_of_ip(m, ip, is4 ? IP4 : IP6) <= PUNT_NEIGH;
}

// Includes frames that ether_in drops, because they need no route.
static bool is_control(const struct port *port, const struct rte_mbuf *m)
{
    struct tags tags;
    uint16_t id = 0;
    const uint8_t *type_at = m->data_len < ETHER_HDR ? NULL : tags_read(m, true, &tags);

    if (!type_at)
        return true;
    if (load16(type_at) == ETHER_TYPE_MPLS)
        return false;
    bool is4 = load16(type_at) == ETHER_TYPE_IP4, is6 = load16(type_at) == ETHER_TYPE_IP6;
    if ((!is4 && !is6) || tags_iface(port, &tags, &id))
        return true;
    if (packet_readable(m, type_at + 2) < (is4 ? IP4_HDR : IP6_HDR))
        return false;
    return is_control_ip(iface_get(id), m, type_at + 2, is4);
}

// --- control packets: punt ---

static void punt_burst(struct forwarder *f, struct burst *b)
{
    if (b->n && b->features)
        checks_in(f, b);
    for (unsigned i = 0; i < b->n; i++)
        punt_ip(f, b->pkt[i], b->ip[i], b->iface[i], b->family);
}

static void drop_burst(struct forwarder *f, struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        packet_drop(f, b->pkt[i], b->iface[i], DROP_START_FULL);
}

// Passes f->rx through ether_in, and the resulting bursts to `end`.
static void receive(struct forwarder *f, const struct plan_rx *q,
                    void (*end)(struct forwarder *f, struct burst *b))
{
    struct burst *const all[] = {&f->in4,  &f->in6,    &f->labels, &f->odd4,
                                 &f->odd6, &f->local4, &f->local6};
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];

    if (!f->rx.n)
        return;
    if (port_get(q->port)->watch_rx)
        watch_received(f, q->port);
    stats->packets += f->rx.n;
    burst_reset(&f->in4);
    burst_reset(&f->in6);
    stats->bytes += ether_in(f, port_get(q->port));
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++) {
        if (all[k]->n && k > 2) // neither plain nor with labels
            (all[k]->family == IP4 ? ip4_in : ip6_in)(f, all[k]);
        end(f, all[k]);
        burst_reset(all[k]);
    }
    path_flush(f);
}

// --- other packets: keep ---

static void keep(struct forwarder *f, const struct plan_rx *q, struct rte_mbuf *m)
{
    *packet_meta(m) = (struct packet_meta){.port = q->port, .queue = q->queue};
    if (f->kept.n++)
        packet_meta(f->kept.last)->next_held = m;
    else
        f->kept.first = m;
    f->kept.last = m;
    f->counter->held++;
    __atomic_add_fetch(&plan_kept, 1, __ATOMIC_RELAXED);
}

static void rx_put(struct arrivals *rx, struct rte_mbuf *m)
{
    rx->frame[rx->n] = rte_pktmbuf_mtod(m, uint8_t *);
    rx->pkt[rx->n++] = m;
}

// Sorts the packets just received in f->rx.
static void sort_received(struct forwarder *f, const struct plan_rx *q)
{
    struct rte_mbuf *over[BURST_MAX];
    unsigned n = f->rx.n, n_over = 0;

    f->rx.n = 0;
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = f->rx.pkt[i];
        if (super_is(m)) // its sender sends again
            over[n_over++] = m;
        else if (is_control(port_get(q->port), m))
            rx_put(&f->rx, m);
        else if (f->kept.n < BEGIN_KEPT_MAX)
            keep(f, q, m);
        else
            over[n_over++] = m;
    }
    receive(f, q, punt_burst);
    for (unsigned i = 0; i < n_over; i++)
        rx_put(&f->rx, over[i]);
    receive(f, q, drop_burst);
}

// Moves the oldest kept packet, and its successors from the same queue, to f->rx.
static struct plan_rx take_kept(struct forwarder *f)
{
    struct packet_meta *meta = packet_meta(f->kept.first);
    struct plan_rx q = {.port = meta->port, .queue = meta->queue};

    f->rx.n = 0;
    while (f->kept.n && f->rx.n < BURST_MAX) {
        struct rte_mbuf *m = f->kept.first;
        meta = packet_meta(m);
        if (meta->port != q.port || meta->queue != q.queue)
            break;
        f->kept.first = meta->next_held;
        f->kept.n--;
        rx_put(&f->rx, m);
    }
    f->counter->held -= f->rx.n;
    __atomic_sub_fetch(&plan_kept, f->rx.n, __ATOMIC_RELAXED);
    return q;
}

unsigned begin_forward_kept(struct forwarder *f)
{
    unsigned n = f->kept.n;

    f->plan = rcu_load(&forwarder_slot[f->index].plan); // at thread end: not the last poll's plan
    while (f->kept.n) {
        struct plan_rx q = take_kept(f);
        path_queue_usual(f, &q, f->rx.n);
    }
    return n;
}

// --- the poll ---

unsigned begin_poll(struct forwarder *f, uint8_t begin)
{
    unsigned taken = begin == PLAN_BEGIN_KEPT ? begin_forward_kept(f) : 0;

    for (unsigned i = 0; f->plan && i < f->plan->n_rx; i++) {
        const struct plan_rx *q = &f->plan->rx[i];
        unsigned n = rx(f, q->port, q->queue);
        if (n && begin == PLAN_BEGIN_CONTROL)
            sort_received(f, q);
        else if (n)
            path_queue_usual(f, q, f->rx.n);
        taken += n;
    }
    return taken;
}
