// SPDX-License-Identifier: BSD-3-Clause
// Exit punt: packets for the control plane, sorted into classes
//
// A frame is punted as received, without VLAN tags, which the TAP of a sub-interface does not show.
// If more packets come than the control plane can handle, the class (table/punt.h) decides which
// wait and which are dropped: a flood of one class fills its own queue and uses up its own rate. A
// packet's class follows from its content, not from its sender's claims: DSCP is ignored, and a BFD
// packet that may come from afar is not in the BFD class.
//
// The virtual router's own budget (table/vr_budget.h) applies before the class: a flooded virtual
// router drops its own packets here, and leaves the classes' queues and rates to the others.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/watch.h"
#include "table/vr_budget.h"
#include "forwarder/forbidden.h"

void punt(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum punt_class class)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    struct collect *c = &f->punt[class];
    uint16_t vr = iface_get(iface)->vr;

    if (unlikely(!vr_budget_punt(vr, class, f->now, f->dry))) {
        packet_drop(f, m, iface, DROP_VR_PUNT_BUDGET);
        return;
    }
    while (unlikely(is_tag(load16(frame + 12)))) { // ether_in has checked them and the next bytes
        frame = memmove(frame + VLAN_HDR, frame, 12);
        rte_pktmbuf_adj(m, VLAN_HDR);
    }
    *packet_meta(m) = (struct packet_meta){.iface = iface, .vr = vr, .owner = vr};
    if (c->n == COLLECT_MAX)
        punt_flush(f);
    c->pkt[c->n++] = m;
    f->punt_n++;
}

// Enqueues as many as the class takes; drops the rest here, where it costs least.
static void class_flush(struct forwarder *f, enum punt_class class)
{
    struct collect *c = &f->punt[class];
    struct rte_ring *ring = exchange_punt[class];
    uint32_t limit = __atomic_load_n(&punt_policy[class].limit.queue, __ATOMIC_RELAXED);
    uint32_t used = rte_ring_count(ring), room = used < limit ? limit - used : 0;
    uint32_t sent = rte_ring_enqueue_burst(ring, (void **)c->pkt, RTE_MIN(c->n, room), NULL);

    for (uint32_t i = sent; i < c->n; i++)
        packet_drop(f, c->pkt[i], packet_meta(c->pkt[i])->iface, DROP_PUNT_RING_FULL);
    f->counter->punt_class[class].full += c->n - sent;
    c->n = 0;
}

void punt_flush(struct forwarder *f)
{
    if (likely(!f->punt_n))
        return;
    if (unlikely(watch_bits(&watch_punt)))
        watch_punted(f);
    for (unsigned class = 0; class < PUNT_CLASS_N; class++)
        if (f->punt[class].n)
            class_flush(f, class);
    f->punt_n = 0;
}

// Is it BFD, by its destination port? Single-hop BFD (RFC 5881 5: control 3784; on a LAG, RFC 7130:
// 6784; echo 3785, which the neighbor has looped back) only with a TTL that a host farther away
// cannot produce.
static bool is_bfd(uint8_t ttl, uint16_t port_host)
{
    if (port_host == 4784 || port_host == 7784) // multihop (RFC 5883), seamless (RFC 7881)
        return true;
    if (port_host == 3785)
        return ttl >= 254;
    return ttl == 255 && (port_host == 3784 || port_host == 6784);
}

// TCP: BGP 179, MSDP 639, LDP 646. UDP: LDP 646, RIP 520, RIPng 521, Babel 6696.
static bool is_routing_port(uint8_t proto, uint16_t port_host)
{
    if (proto == PROTO_TCP)
        return port_host == 179 || port_host == 639 || port_host == 646;
    return port_host == 646 || port_host == 520 || port_host == 521 || port_host == 6696;
}

// `ports`: the first four bytes after the IP headers.
static enum punt_class class_of_ports(uint8_t proto, uint8_t ttl, const uint8_t *ports)
{
    uint16_t src = load16_host(ports), dst = load16_host(ports + 2);

    if (proto == PROTO_UDP && is_bfd(ttl, dst))
        return PUNT_BFD;
    if (is_routing_port(proto, dst) || (proto == PROTO_TCP && is_routing_port(proto, src)))
        return PUNT_ROUTING;
    return PUNT_OTHER;
}

static bool is_routing_proto(uint8_t proto)
{
    return proto == PROTO_OSPF || proto == PROTO_PIM || proto == PROTO_VRRP ||
           proto == PROTO_EIGRP || proto == PROTO_RSVP;
}

static bool has_ports(uint8_t proto)
{
    return proto == PROTO_TCP || proto == PROTO_UDP;
}

static enum punt_class class_of_ip4(const struct rte_mbuf *m, const uint8_t *ip)
{
    uint32_t hlen = (ip[0] & 15) * 4u;
    bool first = !(load16(ip + 6) & RTE_BE16(0x1fff)); // a later fragment has no ports
    uint8_t proto = ip[9];

    if (is_routing_proto(proto))
        return PUNT_ROUTING;
    if (proto == PROTO_IGMP)
        return PUNT_NEIGH;
    if (proto == PROTO_ICMP)
        return PUNT_ICMP;
    if (has_ports(proto) && first && packet_readable(m, ip) >= hlen + 4)
        return class_of_ports(proto, ttl_of(ip, IP4), ip + hlen);
    return PUNT_OTHER;
}

// RS, RA, NS, NA, redirect (RFC 4861, only with hop limit 255: 6.1, 7.1); MLD (RFC 2710, RFC 3810).
static bool is_link_icmp6(uint8_t type, uint8_t hop_limit)
{
    return (type >= 133 && type <= 137 && hop_limit == 255) || (type >= 130 && type <= 132) ||
           type == 143;
}

static enum punt_class class_of_ip6(const struct rte_mbuf *m, const uint8_t *ip)
{
    uint32_t readable = packet_readable(m, ip), at = IP6_HDR;
    uint8_t proto = ip[6], hop_limit = ttl_of(ip, IP6);

    if (proto == PROTO_HOPOPTS && readable >= at + 8) { // MLD follows a router alert
        proto = ip[at];
        at += 8u * (ip[at + 1] + 1u);
    }
    if (is_routing_proto(proto))
        return PUNT_ROUTING;
    if (proto == PROTO_ICMP6)
        return readable > at && is_link_icmp6(ip[at], hop_limit) ? PUNT_NEIGH : PUNT_ICMP;
    if (has_ports(proto) && readable >= at + 4)
        return class_of_ports(proto, hop_limit, ip + at);
    return PUNT_OTHER;
}

enum punt_class punt_class_of_ip(const struct rte_mbuf *m, const uint8_t *ip, uint8_t family)
{
    return family == IP4 ? class_of_ip4(m, ip) : class_of_ip6(m, ip);
}

void punt_ip(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface,
             uint8_t family)
{
    punt(f, m, iface, punt_class_of_ip(m, ip, family));
}
