// SPDX-License-Identifier: BSD-3-Clause
// super.c - see super.h
//
// Only ports with PORT_SUPERS in watch_rx deliver super-packets, and only bursts of such ports come
// here. f->supers tells the later stages that there may be some: they need not look otherwise.
//
// A super-packet stays whole only if nothing on its way looks at single packets:
//
//     frame       plain as in lanes.c, so that no stage drops it; TCP or UDP directly behind the IP
//                 header (table/super.h); of fewer bytes than b->size[] can tell
//     interface   no input check (IFACE_FEATURES), no watch on the port
//     router      no tunnel, queue, budget, count per next hop or lookup by a device; no output
//                 check, which IFACE_ACL_OUT shows on every interface
//     way out     an adjacency of a device's port, whose MTU its segments fit, and TTL left
//
// The interfaces, and the ledgers of virtual routers, which sum them up, count segments. Inside, a
// whole super-packet is one packet: `copies` sinks where segments become one, and grows where it
// leaves as segments again.
//
// Exits: OFFLOAD_CUT, TX_NO_BUFFER; of its segments, as fwd_exit() or the port.
#include "forwarder/super.h"

#include "base/checksum.h"
#include "forwarder/crossing.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define TAGS_ROOM (2 * VLAN_HDR) // may be added on the way out
#define MERGE_RESTS_PER_S 10

static bool is_any_queue(const struct plan *plan)
{
    return plan && memchr(plan->tx_owner, PLAN_TX_QUEUE, sizeof plan->tx_owner);
}

static bool router_takes_whole(const struct forwarder *f, const struct port *port)
{
    const uint32_t others = WATCH_ALL & ~(1u << WATCH_FLOWS); // the sample takes them whole

    return !(port->watch_rx & others) && !f->budget.on && !f->lookaside && !f->counting &&
           !tunnel_any() && !is_any_queue(f->plan);
}

static bool is_plain4(const uint8_t *a) // address; check (7) of lanes.c
{
    return (uint8_t)(a[0] - 1) < 223 && a[0] != 127 && !ip4_is_link_local(a);
}

static bool is_plain(const uint8_t *ip, uint8_t family)
{
    if (family == IP4)
        return ip[0] == 0x45 && !checksum(ip, IP4_HDR) && is_plain4(ip + 12) && is_plain4(ip + 16);
    return (uint8_t)(ip[8] - 1) < 0xfd && (uint8_t)(ip[24] - 1) < 0xfd;
}

static bool may_stay_whole(const struct rte_mbuf *m, uint16_t id, const struct super *s)
{
    const struct iface *iface = iface_get(id);
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

    return !s->outer.family && m->pkt_len + TAGS_ROOM <= UINT16_MAX && id && iface_is_up(iface) &&
           !(iface->flags & IFACE_FEATURES & ~IFACE_OFFLOAD) && !(frame[0] & 1) &&
           (!memcmp(frame, iface->mac, 6) || iface_has_mac(iface, frame)) &&
           is_plain(frame + s->head.l3, s->head.family);
}

// Segments that could not be made are dropped after all.
static void count_lost(struct forwarder *f, uint16_t iface, uint32_t n)
{
    for (; n; n--)
        drop_count(f, iface, DROP_TX_NO_BUFFER);
}

// Segments that are joined only to be cut cost more than they save.
static void rest_merging(struct forwarder *f)
{
    f->merge_after = f->now + rte_get_tsc_hz() / MERGE_RESTS_PER_S;
}

// --- in ---

static void rx_put(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats,
                   struct rte_mbuf *m)
{
    if (f->rx.n == BURST_MAX)
        path_part(f, q, stats);
    f->rx.frame[f->rx.n] = rte_pktmbuf_mtod(m, uint8_t *);
    f->rx.pkt[f->rx.n++] = m;
}

static void cut_received(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats,
                         struct rte_mbuf *m, uint16_t iface)
{
    struct super s;
    struct super_at at;
    uint32_t k = 0;

    if (!super_read(m, &s)) {
        f->counter->iface[iface].rx_packets++;
        f->counter->iface[iface].rx_bytes += m->pkt_len;
        f->counter->offload[q->port].cut++;
        packet_drop(f, m, iface, DROP_OFFLOAD_CUT);
        return;
    }
    rest_merging(f);
    f->counter->inject += s.n - 1;
    for (struct rte_mbuf *p; k < s.n && (p = super_piece(m, &s, k, &at)); k++)
        rx_put(f, q, stats, p);
    count_lost(f, iface, s.n - k);
    for (; k < s.n; k++) {
        f->counter->iface[iface].rx_packets++;
        f->counter->iface[iface].rx_bytes += super_piece_bytes(&s, k);
    }
    packet_end(f, m, 0);
}

// Counts a super-packet that stays whole as its segments.
static void count_whole(struct forwarder *f, uint16_t iface, const struct super *s)
{
    f->counter->iface[iface].rx_packets += s->n - 1;
    f->counter->iface[iface].rx_bytes += super_more_bytes(s);
    f->counter->vr[iface_get(iface)->vr].copies -= s->n - 1;
}

void super_receive(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats)
{
    const struct port *port = port_get(q->port);
    const bool whole = router_takes_whole(f, port);
    struct rte_mbuf *in[BURST_MAX];
    uint16_t iface[BURST_MAX];
    uint64_t cut = 0;

    f->supers = false;
    if (whole && f->now >= f->merge_after)
        super_merge(f);
    const unsigned n = f->rx.n;
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = f->rx.pkt[i];
        struct super s;
        if (likely(!super_is(m)))
            continue;
        iface[i] = iface_of_frame(port, m, true);
        if (whole && super_read(m, &s) && may_stay_whole(m, iface[i], &s)) {
            count_whole(f, iface[i], &s);
            f->supers = true;
        } else {
            cut |= 1ull << i;
        }
    }
    if (likely(!cut))
        return;
    memcpy(in, f->rx.pkt, n * sizeof *in);
    f->rx.n = 0;
    for (unsigned i = 0; i < n; i++)
        if (cut >> i & 1)
            cut_received(f, q, stats, in[i], iface[i]);
        else
            rx_put(f, q, stats, in[i]);
}

// --- at the next hop ---

static bool fits(const struct burst *b, unsigned i)
{
    uint64_t word = b->word[i];
    struct super s;
    uint16_t mtu = nexthop_word_mtu(word);

    return nexthop_word_kind(word) == NEXTHOP_ADJACENCY && ttl_of(b->ip[i], b->family) > 1 &&
           !crossing_is_port(nexthop_word_port(word)) && super_read(b->pkt[i], &s) &&
           (!mtu || super_piece_bytes(&s, 0) - s.head.l3 <= mtu);
}

uint64_t super_stay(const struct burst *b, uint64_t out)
{
    for (unsigned i = 0; i < b->n; i++)
        if (unlikely(super_is(b->pkt[i])))
            out = fits(b, i) ? out & ~(1ull << i) : out | 1ull << i;
    return out;
}

void super_exit(struct forwarder *f, struct burst *b, unsigned i)
{
    struct burst *one = &f->piece;
    struct super s;
    struct super_at at;
    uint32_t k = 0;

    if (!super_read(b->pkt[i], &s)) {
        packet_drop_of(f, b, i, DROP_OFFLOAD_CUT);
        return;
    }
    rest_merging(f);
    count_copies(f, b->iface[i], s.n - 1);
    one->kind = b->kind;
    one->family = b->family;
    for (struct rte_mbuf *p; k < s.n && (p = super_piece(b->pkt[i], &s, k, &at)); k++) {
        burst_reset(one);
        burst_add(one, p, rte_pktmbuf_mtod_offset(p, uint8_t *, s.head.l3), b->iface[i]);
        one->len[0] = (uint16_t)(p->pkt_len - s.head.l3);
        one->nh[0] = b->nh[i];
        one->word[0] = b->word[i];
        fwd_exit(f, one, 0);
    }
    count_lost(f, b->iface[i], s.n - k);
    packet_end(f, b->pkt[i], 0);
}

// --- out ---

void super_uncount(struct forwarder *f, const struct rte_mbuf *m, uint16_t iface,
                   enum drop_reason reason)
{
    struct super s;

    if (!super_read(m, &s))
        return;
    f->counter->iface[iface].tx_packets -= s.n - 1;
    f->counter->iface[iface].tx_bytes -= super_more_bytes(&s);
    f->counter->inject += s.n - 1;
    for (uint32_t k = 1; k < s.n; k++)
        drop_count(f, iface, reason);
}

struct batch { // of one port
    uint16_t port;
    unsigned owner, n;
    struct rte_mbuf *pkt[BURST_MAX];
};

static void batch_send(struct forwarder *f, struct batch *b)
{
    if (b->n)
        tx_give(f, b->port, b->owner, b->pkt, b->n);
    b->n = 0;
}

static void batch_put(struct forwarder *f, struct batch *b, struct rte_mbuf *m)
{
    if (b->n == BURST_MAX)
        batch_send(f, b);
    b->pkt[b->n++] = m;
}

static void cut_sent(struct forwarder *f, struct batch *b, struct rte_mbuf *m, uint16_t iface,
                     const struct super *s)
{
    struct super_at at;
    uint32_t k = 0;

    rest_merging(f);
    f->counter->inject += s->n - 1;
    for (struct rte_mbuf *p; k < s->n && (p = super_piece(m, s, k, &at)); k++)
        batch_put(f, b, p);
    count_lost(f, iface, s->n - k);
    for (; k < s->n; k++) {
        f->counter->iface[iface].tx_packets--;
        f->counter->iface[iface].tx_bytes -= super_piece_bytes(s, k);
    }
    packet_end(f, m, 0);
}

void super_send(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt,
                unsigned n)
{
    const struct port *to = port_get(port);
    const unsigned whole = !to->watch_tx && owner == f->index ? to->super : 0;
    struct batch b = {.port = port, .owner = owner};
    struct super s;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = pkt[i];
        uint16_t iface = tx_iface(port, m);
        if (!super_is(m)) {
            batch_put(f, &b, m);
        } else if (!super_read(m, &s)) {
            tx_drop(f, m, iface, DROP_OFFLOAD_CUT);
        } else {
            f->counter->iface[iface].tx_packets += s.n - 1;
            f->counter->iface[iface].tx_bytes += super_more_bytes(&s);
            f->counter->vr[iface_get(iface)->vr].copies += s.n - 1;
            m->ol_flags &= ~(RX_TAGS | RTE_MBUF_F_RX_LRO); // it has all its tags
            if (whole & (s.head.proto == PROTO_TCP ? SUPER_TCP : SUPER_UDP)) {
                super_request(m, &s);
                batch_put(f, &b, m);
            } else {
                cut_sent(f, &b, m, iface, &s);
            }
        }
    }
    batch_send(f, &b);
}
