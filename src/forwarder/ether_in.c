// SPDX-License-Identifier: BSD-3-Clause
// Stage ether_in: whose frame is it, and what is in it?
//
//   in     f->in4.pkt[0..n), what one port has received
//   out    in4, in6        IP packets in frames for the interface's own MAC
//          local4, local6  IP packets in broadcast and multicast frames: they may be delivered here, but a router
//                          must not forward them (RFC 1812 5.3.4)
//   exits  ARP, LLDP, LACP, IS-IS … -> punt; ETHER_TRUNCATED, ETHER_NOT_OURS, ETHER_TYPE_UNKNOWN,
//          VLAN_UNKNOWN, IFACE_DOWN
//
// The common frame - untagged, for the port's own MAC, IP - is recognised without
// a branch. A burst of nothing but IPv4 stays where it was received; any other is
// sorted, and what is not of the common kind is looked at one by one afterwards. Frames of
// one flow are all of one or the other kind, so flows keep their order.
//
// From here on the first segment holds min(pkt_len, HEADERS_MAX) bytes: no later
// stage reads beyond data_len without having compared it.
#include <rte_prefetch.h>

#include "forwarder/forwarder_priv.h"
#include "forwarder/packet.h"
#include "table/iface.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define PREFETCH_AHEAD 8u
#define HEADERS_MAX 128u // VLAN tag, IPv4 with options or IPv6 with some extensions, and ports

#define MAC_MASK rte_cpu_to_le_64(0x0000ffffffffffffull)

// The MAC that untagged frames must have, in the low 48 bits; a value outside MAC_MASK, which equals none, when the port's
// own interface does not receive.
static inline uint64_t own_mac(const struct iface *own)
{
    uint64_t mac = 0;

    if (own->kind == IFACE_NONE || !own->up)
        return ~0ull;
    memcpy(&mac, own->mac, 6);
    return mac;
}

// Frames that are not plain IP: EtherTypes that some control plane listens to.
static void ether_control(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, const uint8_t *type_at)
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
    }
    // 802.3 length, LLC of OSI network layers (DSAP, SSAP 0xfe, UI): IS-IS
    if (type <= 1500 && payload >= 3 && type_at[2] == 0xfe && type_at[3] == 0xfe && type_at[4] == 0x03)
        punt(f, m, iface, PUNT_ROUTING);
    else
        packet_drop(f, m, iface, DROP_ETHER_TYPE_UNKNOWN);
}

// The interface of a frame with VLAN id `vlan`, 0 = untagged; 0 = none has it.
static inline uint16_t iface_of(const struct port *port, uint16_t vlan)
{
    return vlan ? port->vlan_iface[vlan] : port->untagged;
}

// Appends to the burst that fits; frames to group addresses may only be delivered here.
static void ether_ip(struct forwarder *f, struct rte_mbuf *m, uint8_t *ip, uint16_t iface, bool is4, bool group)
{
    struct burst *b = is4 ? group ? &f->local4 : &f->in4 : group ? &f->local6 : &f->in6;
    unsigned i = burst_add(b, m, ip, iface);

    b->len[i] = (uint16_t)(m->pkt_len - packet_l2_len(m, ip));
    b->why[i] = DROP_ETHER_BROADCAST;
}

// Any frame, step by step.
static void ether_one(struct forwarder *f, const struct port *port, struct rte_mbuf *m)
{
    if (m->nb_segs > 1 && m->data_len < RTE_MIN(m->pkt_len, HEADERS_MAX) && rte_pktmbuf_linearize(m)) {
        packet_drop(f, m, 0, DROP_ETHER_TRUNCATED);
        return;
    }
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *type_at = frame + 12;
    uint16_t vlan = m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED ? m->vlan_tci & 0xfff : 0;
    if (m->data_len < ETHER_HDR) {
        packet_drop(f, m, port->untagged, DROP_ETHER_TRUNCATED);
        return;
    }
    if (load16(type_at) == ETHER_TYPE_VLAN && !vlan) {
        if (m->data_len < ETHER_HDR + VLAN_HDR) {
            packet_drop(f, m, port->untagged, DROP_ETHER_TRUNCATED);
            return;
        }
        vlan = load16_host(type_at + 2) & 0xfff;
        type_at += VLAN_HDR;
    }
    uint16_t type = load16(type_at), id = iface_of(port, vlan);
    const struct iface *iface = iface_get(id);
    if (id == 0 || type == ETHER_TYPE_VLAN || type == RTE_BE16(0x88a8)) {
        packet_drop(f, m, port->untagged, vlan || id ? DROP_VLAN_UNKNOWN : DROP_IFACE_DOWN);
        return;
    }
    f->counter->iface[id].rx_packets++;
    f->counter->iface[id].rx_bytes += m->pkt_len;
    bool group = frame[0] & 1;
    if (!iface->up)
        packet_drop(f, m, id, DROP_IFACE_DOWN);
    else if (!group && memcmp(frame, iface->mac, 6))
        packet_drop(f, m, id, DROP_ETHER_NOT_OURS);
    else if (type == ETHER_TYPE_IP4 || type == ETHER_TYPE_IP6)
        ether_ip(f, m, type_at + 2, id, type == ETHER_TYPE_IP4, group);
    else
        ether_control(f, m, id, type_at);
}

// Sorts a burst that is not all IPv4: mask4 and mask6 name the frames of the common path.
static void ether_sort(struct forwarder *f, const struct port *port, unsigned n, uint64_t mask4, uint64_t mask6)
{
    struct burst *b4 = &f->in4, *b6 = &f->in6;
    struct rte_mbuf *other[BURST_MAX];
    uint32_t n4 = 0, n6 = 0, n_other = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned is4 = mask4 >> i & 1, is6 = mask6 >> i & 1;
        struct rte_mbuf *m = b4->pkt[i];
        uint8_t *ip = b4->ip[i];
        uint16_t len = b4->len[i];

        b4->pkt[n4] = b6->pkt[n6] = other[n_other] = m;
        b4->ip[n4] = b6->ip[n6] = ip;
        b4->len[n4] = b6->len[n6] = len;
        b6->iface[n6] = port->untagged;
        n4 += is4;
        n6 += is6;
        n_other += !(is4 | is6);
    }
    b4->n = n4;
    b6->n = n6;
    for (unsigned i = 0; i < n_other; i++) {
        struct counter_iface *own = &f->counter->iface[port->untagged]; // where ether_in has counted it
        own->rx_packets--;
        own->rx_bytes -= other[i]->pkt_len;
        ether_one(f, port, other[i]);
    }
}

uint64_t ether_in(struct forwarder *f, uint16_t port_id, unsigned n)
{
    const struct port *port = port_get(port_id);
    const struct iface *own = iface_get(port->untagged);
    const uint64_t mac = own_mac(own);
    struct burst *b = &f->in4;
    uint64_t mask4 = 0, mask6 = 0, bytes = 0, all_flags = ~0ull, any_flags = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct rte_mbuf *m = b->pkt[i];
        uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

        if (i + PREFETCH_AHEAD < n)
            rte_prefetch0(rte_pktmbuf_mtod(b->pkt[i + PREFETCH_AHEAD], void *));
        // Loads lie inside the buffer of any mbuf; what is behind data_len decides nothing.
        uint64_t dst = load64(frame) & MAC_MASK, flags = m->ol_flags;
        uint16_t type = load16(frame + 12);
        uint32_t len = m->pkt_len, first = m->data_len;
        uint64_t whole = (first >= HEADERS_MAX) | ((first == len) & (first >= ETHER_HDR + IP4_HDR));
        uint64_t ours = (dst == mac) & whole & !(flags & RTE_MBUF_F_RX_VLAN_STRIPPED);

        b->ip[i] = frame + ETHER_HDR;
        b->len[i] = (uint16_t)(len - ETHER_HDR);
        mask4 = mask_next(mask4, ours & (type == ETHER_TYPE_IP4));
        mask6 = mask_next(mask6, ours & (type == ETHER_TYPE_IP6));
        bytes += len;
        all_flags &= flags;
        any_flags |= flags;
    }
    mask4 = mask_end(mask4, n);
    mask6 = mask_end(mask6, n);
    for (unsigned i = 0; i < n; i++)
        b->iface[i] = port->untagged;
    f->counter->iface[port->untagged].rx_packets += n;
    f->counter->iface[port->untagged].rx_bytes += bytes;
    b->vr = f->in6.vr = own->vr;
    b->mixed = f->in6.mixed = false;
    b->summed = ((all_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD) | (any_flags & RTE_MBUF_F_RX_IP_CKSUM_BAD)) ==
                RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    b->n = n;
    f->in6.n = 0;
    if (mask4 != mask_end(~0ull, n))
        ether_sort(f, port, n, mask4, mask6);
    return bytes;
}
