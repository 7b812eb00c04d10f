// SPDX-License-Identifier: BSD-3-Clause
// Stage ether_in: determines the interface and the content of each frame
//
//   in     f->rx.pkt[0..n), received by one port, and f->rx.frame[], where frames begin
//   out    in4, in6        plain packets, which need no further check before the lookup
//          odd4, odd6      IP packets that ip4_in and ip6_in check one by one
//          labels          packets with labels (MPLS), if the interface accepts them
//          local4, local6  IP packets in broadcast and multicast frames: they may be delivered
//                          here, but a router must not forward them (RFC 1812 5.3.4)
//   exits  EtherTypes of packet programs -> program.c; ARP, LLDP, IS-IS ... -> punt; LACP of a
//          member of a LAG -> slow_protocol; ETHER_TRUNCATED, ETHER_NOT_OURS,
//          ETHER_TYPE_UNKNOWN, LAG_INACTIVE, VLAN_UNKNOWN, VLAN_INNER_UNKNOWN, VLAN_TPID,
//          VLAN_RESERVED, IFACE_DOWN, IP4_TRUNCATED, IP6_TRUNCATED
//
// A plain packet passes all checks of lanes.c: its frame is for us, its header is complete, valid
// and without options, its addresses may be forwarded.
//
// Frames are taken in rounds. A round assumes that all frames are of the kind of the first: IPv4 or
// IPv6; untagged, with one tag or two, the outermost in the frame or stripped by the port. It
// checks all at once (lanes.h). Frames that pass join in4 or in6, the others go into the next
// round; frames left by the last round are checked one by one. So traffic of one kind takes one
// round. Frames of one kind, and so flows, keep their order, except packets with IPv4 options,
// which follow the others of their burst.
//
// IPv4 header checksums that the port reports as good are trusted. Ethernet padding stays until
// ether_out, so that a punted frame is unchanged.
//
// From here on the first segment holds min(pkt_len, HEADERS_MAX) bytes: no later stage reads beyond
// data_len without a check.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/label.h"
#include "forwarder/lanes_priv.h"
#include "forwarder/packet.h"
#include "forwarder/program.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/trial.h"
#include "forwarder/forbidden.h"

#define ROUNDS_MAX 4

// Handles non-IP frames: EtherTypes for the control plane.
static void ether_control(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                          const uint8_t *type_at)
{
    uint16_t type = load16_host(type_at);
    uint32_t payload = m->data_len - (uint32_t)(type_at + 2 - rte_pktmbuf_mtod(m, uint8_t *));

    switch (type) {
    case 0x0806: // ARP
        punt(f, m, iface, PUNT_NEIGH);
        return;
    case 0x88cc: // LLDP
    case 0x8809: // slow protocols: LACP
    case 0x8870: // IS-IS in jumbo frames
        punt(f, m, iface, PUNT_ROUTING);
        return;
    case 0x888e: // 802.1X
        punt(f, m, iface, PUNT_OTHER);
        return;
    case 0x8847: // labels
        packet_drop(f, m, iface, DROP_MPLS_NOT_ENABLED);
        return;
    }
    // 802.3 length, LLC of OSI network layers (DSAP, SSAP 0xfe, UI): IS-IS
    if (type <= 1500 && payload >= 3 && type_at[2] == 0xfe && type_at[3] == 0xfe &&
        type_at[4] == 0x03)
        punt(f, m, iface, PUNT_ROUTING);
    else
        packet_drop(f, m, iface, DROP_ETHER_TYPE_UNKNOWN);
}

// Appends a packet with a complete header to the burst for its kind. `group`: in a frame to a group
// address, it may only be delivered here.
static void ether_ip(struct forwarder *f, struct rte_mbuf *m, uint8_t *ip, uint16_t iface, bool is4,
                     bool group)
{
    struct burst *b = is4 ? group ? &f->local4 : &f->odd4 : group ? &f->local6 : &f->odd6;

    if (packet_readable(m, ip) < (is4 ? IP4_HDR : IP6_HDR)) {
        packet_drop(f, m, iface, is4 ? DROP_IP4_TRUNCATED : DROP_IP6_TRUNCATED);
        return;
    }
    unsigned i = burst_add(b, m, ip, iface);

    f->odd += !group;
    b->len[i] = (uint16_t)(m->pkt_len - packet_l2_len(m, ip));
    b->why[i] = DROP_ETHER_BROADCAST;
}

// Appends a packet with labels, the top one at `at`.
static void ether_label(struct forwarder *f, struct rte_mbuf *m, uint8_t *at, uint16_t iface)
{
    struct burst *b = &f->labels;
    const uint32_t l2 = packet_l2_len(m, at);

    if (packet_readable(m, at) < LABEL_HDR) {
        packet_drop(f, m, iface, DROP_MPLS_TRUNCATED);
        return;
    }
    unsigned i = burst_add(b, m, at, iface);
    b->l2 = i == 0 || b->l2 == l2 ? (uint8_t)l2 : 0;
    b->len[i] = (uint16_t)(m->pkt_len - l2);
    b->size[i] = (uint16_t)m->pkt_len;
    f->odd++;
}

// Drops a frame that no interface has received.
static void drop_unowned(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                         enum drop_reason reason)
{
    f->counter->vr[iface_get(iface)->vr].no_iface++;
    if (reason == DROP_VLAN_UNKNOWN || reason == DROP_VLAN_INNER_UNKNOWN)
        f->counter->iface[iface].vlan_unknown_packets++;
    packet_drop(f, m, iface, reason);
}

// Handles any frame, step by step.
static void ether_one(struct forwarder *f, const struct port *port, struct rte_mbuf *m)
{
    if (m->nb_segs > 1 && m->data_len < RTE_MIN(m->pkt_len, HEADERS_MAX) &&
        rte_pktmbuf_linearize(m)) {
        drop_unowned(f, m, 0, DROP_ETHER_TRUNCATED);
        return;
    }
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *type_at;
    struct tags tags;
    if (m->data_len < ETHER_HDR || !(type_at = (uint8_t *)tags_read(m, true, &tags))) {
        drop_unowned(f, m, port->untagged, DROP_ETHER_TRUNCATED);
        return;
    }
    uint16_t type = load16(type_at), id = 0;
    uint8_t lag = __atomic_load_n(&port->lag, __ATOMIC_RELAXED);
    if (unlikely(lag) && type == ETHER_TYPE_SLOW) {
        slow_protocol(f, m, (uint16_t)(port - port_table), lag, type_at, tags.n);
        return;
    }
    enum drop_reason none = is_tag(type) ? DROP_VLAN_INNER_UNKNOWN : tags_iface(port, &tags, &id);
    const struct iface *iface = iface_get(id);
    if (none) {
        drop_unowned(f, m, port->untagged, lag && !port->collects ? DROP_LAG_INACTIVE : none);
        return;
    }
    f->counter->iface[id].rx_packets++;
    f->counter->iface[id].rx_bytes += m->pkt_len;
    bool group = frame[0] & 1;
    if (!iface_is_up(iface) && !(f->trial && f->trial->past)) // then it was up
        packet_drop(f, m, id, DROP_IFACE_DOWN);
    else if (!group && memcmp(frame, iface->mac, 6) && !iface_has_mac(iface, frame))
        packet_drop(f, m, id, DROP_ETHER_NOT_OURS);
    else if (type == ETHER_TYPE_IP4 || type == ETHER_TYPE_IP6)
        ether_ip(f, m, type_at + 2, id, type == ETHER_TYPE_IP4, group);
    else if (type == ETHER_TYPE_MPLS && iface->mpls)
        group ? packet_drop(f, m, id, DROP_ETHER_BROADCAST) : ether_label(f, m, type_at + 2, id);
    else if (!program_type_take(f, m, id, type_at))
        ether_control(f, m, id, type_at);
}

// Frames of programs' EtherTypes. Survivors are frames of any type now.
static __rte_noinline void ether_programs(struct forwarder *f)
{
    struct burst *b = &f->typed;

    program_run(f, b, PROGRAM_ETHER_TYPE);
    for (unsigned i = 0; i < b->n; i++) {
        uint16_t type = load16(b->ip[i] - 2);
        bool group = rte_pktmbuf_mtod(b->pkt[i], const uint8_t *)[0] & 1;
        if (type == ETHER_TYPE_IP4 || type == ETHER_TYPE_IP6)
            ether_ip(f, b->pkt[i], b->ip[i], b->iface[i], type == ETHER_TYPE_IP4, group);
        else
            ether_control(f, b->pkt[i], b->iface[i], b->ip[i] - 2);
    }
    burst_reset(b);
}

struct kind {
    uint8_t family; // enum ip_family, or LABELS
    enum tag tag;
};

// In an order that costs plain packets least.
static struct kind kind_of_frame(const struct rte_mbuf *m, const uint8_t *frame)
{
    bool stripped = m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED;
    enum tag tag = stripped ? STRIPPED : UNTAGGED;
    uint16_t type = load16(frame + 12);

    if (likely(type == ETHER_TYPE_IP4))
        return (struct kind){.family = IP4, .tag = tag};
    if (unlikely(is_tag(type))) {
        tag = stripped ? DOUBLE_STRIPPED : load16(frame + 16) == ETHER_TYPE_VLAN ? DOUBLE : TAGGED;
        type = load16(frame + lanes_l2(tag) - 2);
    } else if (unlikely(type == ETHER_TYPE_MPLS) && !stripped) {
        return (struct kind){.family = LABELS, .tag = tag};
    }
    return (struct kind){.family = type == ETHER_TYPE_IP6 ? IP6 : IP4, .tag = tag};
}

// Did all packets from `at` on come in by one interface? Compares each with its predecessor.
static bool is_one_iface(const struct burst *b, unsigned at)
{
    return !memcmp(b->iface + at, b->iface + at + 1, (b->n - at - 1) * sizeof *b->iface);
}

// Counts the packets from `at` on as received by their interfaces; `one`: by one interface. Only
// the counters go through memory: reading back a counter that the previous packet has written costs
// six cycles.
static void count_plain(struct forwarder *f, const struct burst *b, unsigned at, uint64_t bytes,
                        bool one)
{
    struct counter_iface *const counter = f->counter->iface;
    const unsigned n = b->n;

    if (n == at)
        return;
    if (one || is_one_iface(b, at)) {
        counter[b->iface[at]].rx_packets += n - at;
        counter[b->iface[at]].rx_bytes += bytes;
        return;
    }
    for (unsigned i = at; i < n; i++)
        counter_pair_add(&counter[b->iface[i]].rx_packets, b->size[i]);
}

// Keeps the frames of mask `rest` in f->rx, in order.
static void rx_keep(struct forwarder *f, uint64_t rest)
{
    unsigned k = 0;

    for (; rest; rest &= rest - 1, k++) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        f->rx.pkt[k] = f->rx.pkt[i];
        f->rx.frame[k] = f->rx.frame[i];
    }
    f->rx.n = k;
}

// The round for untagged frames with labels. Returns the bytes of the frames that it took.
static __rte_noinline uint64_t take_labels(struct forwarder *f, const struct port *port)
{
    struct counter_iface *c = &f->counter->iface[port->untagged];
    struct burst *b = &f->labels;
    const unsigned at = b->n;
    const uint32_t bytes = b->bytes;

    if (!iface_get(port->untagged)->mpls)
        return 0;
    rx_keep(f, f->lanes->append_labels(&f->rx, port, b));
    b->l2 = at == 0 || b->l2 == ETHER_HDR ? ETHER_HDR : 0;
    f->odd += b->n - at;
    c->rx_packets += b->n - at;
    c->rx_bytes += b->bytes - bytes;
    return b->bytes - bytes;
}

// One round. Returns the bytes of the frames that it took, 0 = none.
static uint64_t take_round(struct forwarder *f, const struct port *port)
{
    struct kind k = kind_of_frame(f->rx.pkt[0], f->rx.frame[0]);
    if (unlikely(k.family == LABELS)) {
        uint64_t labels = take_labels(f, port);
        if (labels)
            return labels;
        k.family = IP4;
    }
    struct burst *b = k.family == IP4 ? &f->in4 : &f->in6;
    unsigned at = b->n;
    uint32_t bytes = b->bytes;

    uint64_t odd = (k.family == IP4 ? f->lanes->append_plain4
                                    : f->lanes->append_plain6)(&f->rx, port, k.tag, b);
    b->l2 = at == 0 || b->l2 == lanes_l2(k.tag) ? (uint8_t)lanes_l2(k.tag) : 0;
    rx_keep(f, odd);
    bytes = b->bytes - bytes;
    count_plain(f, b, at, bytes, k.tag == UNTAGGED);
    return bytes;
}

// Handles the frames that no round has taken. Returns their bytes.
static uint64_t ether_each(struct forwarder *f, const struct port *port)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < f->rx.n; i++) {
        bytes += f->rx.pkt[i]->pkt_len;
        ether_one(f, port, f->rx.pkt[i]);
    }
    if (unlikely(f->typed.n))
        ether_programs(f);
    return bytes;
}

uint64_t ether_in(struct forwarder *f, const struct port *port)
{
    uint64_t bytes = 0, taken = 1;

    for (unsigned round = 0; f->rx.n && taken && round < ROUNDS_MAX; round++) {
        taken = take_round(f, port);
        bytes += taken;
    }
    if (f->rx.n)
        bytes += ether_each(f, port);
    f->rx.n = 0;
    return bytes;
}
