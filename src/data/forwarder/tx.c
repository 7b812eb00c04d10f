// SPDX-License-Identifier: BSD-3-Clause
// Stage tx: passes each port's packets to its transmit queue
//
//   in     f->tx_pkt[port] of every port; their number is in tx_word[port]
//   out    sent (ledger: tx), handed to the forwarder that owns the queue, in the port's queue, or
//          on their way to the other end of their metalink
//   exits  TX_FULL, TX_NO_QUEUE, TX_NO_BUFFER, INJECT_RING_FULL, LAG_NO_MEMBER
//
// Called at the end of each burst: a packet never waits for a later one. Packets that a port does
// not take are offered again TX_TRIES times, about as long as a 10 Gb/s port needs for a few
// frames, and then dropped: waiting longer would only move the loss to the receive queues, where
// its owner cannot be told.
//
// ether_out, or tx_word here, has counted packets as sent by their interface; unsent packets are
// subtracted. A LAG's packets are distributed over its members by flow hash (table/port.h).
#include <rte_ethdev.h>
#include <rte_pause.h>

#include "forwarder/crossing.h"
#include "forwarder/drop.h"
#include "forwarder/flow_hash.h"
#include "forwarder/packet.h"
#include "forwarder/queue_stage.h"
#include "forwarder/super.h"
#include "forwarder/tags.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "forwarder/watch.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define TX_TRIES 16

void tx_drop(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum drop_reason reason)
{
    f->counter->iface[iface].tx_packets--;
    f->counter->iface[iface].tx_bytes -= m->pkt_len;
    if (unlikely(super_is_sent(m)))
        super_uncount(f, m, iface, reason);
    m->ol_flags &= ~RX_TAGS;
    packet_drop(f, m, iface, reason);
}

static void drop_all(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n,
                     enum drop_reason reason)
{
    for (unsigned i = 0; i < n; i++)
        tx_drop(f, pkt[i], tx_iface(port, pkt[i]), reason);
}

static bool is_ours(struct rte_mbuf *m)
{
    return m->pool == exchange_pool && m->nb_segs == 1 && RTE_MBUF_DIRECT(m) &&
           rte_mbuf_refcnt_read(m) == 1;
}

// For a port with FAST_FREE: replaces packets of other pools, with several segments or several
// references, by copies. Returns the number of packets left.
static __rte_noinline unsigned tx_copies(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt,
                                         unsigned n)
{
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = pkt[i],
                        *copy = is_ours(m) ? m : rte_pktmbuf_copy(m, exchange_pool, 0, UINT32_MAX);
        if (!copy || copy->nb_segs > 1) {
            rte_pktmbuf_free(copy);
            tx_drop(f, m, tx_iface(port, m), DROP_TX_NO_BUFFER);
            continue;
        }
        if (copy != m)
            packet_end(f, m, 0);
        pkt[k++] = copy;
    }
    return k;
}

static inline __attribute__((always_inline)) unsigned prepare(struct forwarder *f, uint16_t port,
                                                              struct rte_mbuf **pkt, unsigned n)
{
    if (unlikely(port_get(port)->watch_tx))
        watch_sent(f, port, pkt, n);
    if (unlikely(__atomic_load_n(&exchange_mixed, __ATOMIC_RELAXED)) && port_get(port)->fast_free)
        n = tx_copies(f, port, pkt, n);
    return n;
}

unsigned tx_prepare(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n)
{
    return prepare(f, port, pkt, n);
}

// Inline, because a call would cost 0.6 % of a plain packet's instructions.
static inline __attribute__((always_inline)) void
tx_send(struct forwarder *f, uint16_t port, uint16_t queue, struct rte_mbuf **pkt, unsigned n)
{
    n = prepare(f, port, pkt, n);
    unsigned sent = rte_eth_tx_burst(port, queue, pkt, (uint16_t)n);

    for (unsigned try = 0; unlikely(sent < n) && try < TX_TRIES; try++) {
        rte_pause();
        sent += rte_eth_tx_burst(port, queue, pkt + sent, (uint16_t)(n - sent));
    }
    f->counter->tx += sent;
    if (unlikely(sent < n))
        drop_all(f, port, pkt + sent, n - sent, DROP_TX_FULL);
}

// The port has fewer transmit queues than there are forwarders: `owner` has its queue.
static void tx_hand_over(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt,
                         unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *packet_meta(pkt[i]) = (struct packet_meta){
            .port = port, .kind = INJECT_TX, .iface = tx_iface(port, pkt[i])};
    unsigned sent = rte_ring_enqueue_burst(exchange_inject[owner], (void **)pkt, n, NULL);
    drop_all(f, port, pkt + sent, n - sent, DROP_INJECT_RING_FULL);
    f->handed |= 1u << owner;
}

static void tx_lag(struct forwarder *f, uint16_t lag, struct rte_mbuf **pkt, unsigned n);

static inline __attribute__((always_inline)) void
give(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt, unsigned n)
{
    if (likely(owner == f->index))
        tx_send(f, port, f->plan->tx_queue[port], pkt, n);
    else if (owner == PLAN_TX_QUEUE)
        queue_feed(f, port, pkt, n);
    else if (owner < FORWARDER_MAX)
        tx_hand_over(f, port, owner, pkt, n);
    else if (crossing_is_port(port))
        crossing_put(f, port, pkt, prepare(f, port, pkt, n));
    else
        drop_all(f, port, pkt, n, DROP_TX_NO_QUEUE);
}

void tx_give(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt, unsigned n)
{
    give(f, port, owner, pkt, n);
}

// Sends the port's packets, if any. `member`: of a LAG, which sends by it.
static inline __attribute__((always_inline)) void tx_port(struct forwarder *f, uint16_t port,
                                                          bool member)
{
    struct rte_mbuf **pkt = f->tx_pkt[port];
    uint64_t word = f->tx_word[port];
    struct counter_iface *c = &f->counter->iface[port_get(port)->untagged];
    unsigned n = tx_word_n(word), owner = f->plan ? f->plan->tx_owner[port] : PLAN_TX_NONE;

    if (!n)
        return;
    c->tx_packets += word >> 16 & 0xffff;
    c->tx_bytes += word >> 32;
    if (unlikely(f->supers) &&
        (owner == f->index || owner == PLAN_TX_QUEUE || crossing_is_port(port)))
        super_send(f, port, owner, pkt, n); // others send by a port that comes here, too
    else if (owner == PLAN_TX_LAG && !member)
        tx_lag(f, port, pkt, n);
    else
        give(f, port, owner, pkt, n);
    f->tx_word[port] = 0;
}

// The flow hash of a frame, as configured for the virtual router of its interface; of its MACs if
// it is not IP.
static uint32_t hash_of_frame(uint16_t id, const struct rte_mbuf *m)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *type_at = tags_skip(m);

    if (type_at) {
        const uint8_t *ip = type_at + 2;
        uint32_t readable = packet_readable(m, ip), len = m->pkt_len - packet_l2_len(m, ip);
        struct flow_hash how = vr_flow_hash(vr_get(iface_get(id)->vr));
        if (load16(type_at) == ETHER_TYPE_IP4 && readable >= IP4_HDR)
            return flow_hash4(ip, readable, len, how);
        if (load16(type_at) == ETHER_TYPE_IP6 && readable >= IP6_HDR)
            return flow_hash6(ip, readable, len, how);
    }
    return (uint32_t)(hash_mix64(load64(frame) ^ load32(frame + 8)) >> 32);
}

static inline void frame_append(struct forwarder *f, uint16_t port, struct rte_mbuf *m)
{
    f->tx_pkt[port][tx_word_n(f->tx_word[port]++)] = m;
}

static __attribute__((noinline, cold)) void tx_lag(struct forwarder *f, uint16_t lag,
                                                   struct rte_mbuf **pkt, unsigned n)
{
    uint64_t members = 0;

    for (unsigned i = 0; i < n; i++) {
        uint16_t id = tx_iface(lag, pkt[i]);
        uint8_t port = lag_member(lag, hash_of_frame(id, pkt[i]));
        if (port == LAG_NO_MEMBER) {
            tx_drop(f, pkt[i], id, DROP_LAG_NO_MEMBER);
            continue;
        }
        frame_append(f, port, pkt[i]); // there is room: all arrays hold tx_queued packets
        members |= 1ull << port;
    }
    for (; members; members &= members - 1)
        tx_port(f, (uint16_t)__builtin_ctzll(members), true);
}

void tx_flush(struct forwarder *f)
{
    for (uint64_t ports = f->tx_ports; ports; ports &= ports - 1)
        tx_port(f, (uint16_t)__builtin_ctzll(ports), false);
    f->tx_ports = 0;
    f->tx_queued = 0;
}

void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t iface)
{
    if (f->tx_queued == COLLECT_MAX)
        tx_flush(f);
    m->vlan_tci = iface; // read if the frame has tags
    frame_append(f, port, m);
    f->tx_ports |= 1ull << port;
    f->tx_queued++;
}

// The kernel may send by a tunnel before it is published, when its tag has no meaning yet.
static bool may_send(const struct iface *iface)
{
    return iface->kind != IFACE_NONE && iface_is_up(iface) &&
           (!tunnel_is_port(iface->port) ||
            __atomic_load_n(&tunnel_get(tunnel_of_iface(iface))->kind, __ATOMIC_ACQUIRE));
}

void tx_frame(struct forwarder *f, struct rte_mbuf *m, uint16_t id, enum drop_reason no_room)
{
    const struct iface *iface = iface_get(id);

    if (!may_send(iface)) {
        packet_drop(f, m, id, DROP_IFACE_DOWN);
        return;
    }
    if (!tags_put(m, iface)) {
        packet_drop(f, m, id, no_room);
        return;
    }
    f->counter->iface[id].tx_packets++;
    f->counter->iface[id].tx_bytes += m->pkt_len;
    tx_append(f, m, iface->port, id);
}
