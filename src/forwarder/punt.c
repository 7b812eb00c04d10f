// SPDX-License-Identifier: BSD-3-Clause
// Exit punt: packets for the control plane, sorted into classes
//
// A frame goes up whole: with its Ethernet header, as it was received, but for
// the VLAN tag, which the TAP of a sub-interface does not show. The class decides who
// waits when the control plane is slow (strict priority, table/exchange.h): a
// flood of pings must not cut BGP, so what keeps adjacencies up goes first, what keeps
// neighbours second, the rest last.
#include "forwarder/forwarder_priv.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

void punt(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum punt_class class)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    struct collect *c = &f->punt[class];

    if (load16(frame + 12) == ETHER_TYPE_VLAN) {
        memmove(frame + VLAN_HDR, frame, 12);
        rte_pktmbuf_adj(m, VLAN_HDR);
    }
    *packet_meta(m) = (struct packet_meta){.iface = iface, .vr = iface_get(iface)->vr};
    if (c->n == COLLECT_MAX)
        punt_flush(f);
    c->pkt[c->n++] = m;
}

void punt_flush(struct forwarder *f)
{
    for (unsigned class = 0; class < PUNT_CLASS_N; class++) {
        struct collect *c = &f->punt[class];
        if (!c->n)
            continue;
        unsigned sent = rte_ring_enqueue_burst(exchange_punt[class], (void **)c->pkt, c->n, NULL);
        for (unsigned i = sent; i < c->n; i++)
            packet_drop(f, c->pkt[i], packet_meta(c->pkt[i])->iface, DROP_PUNT_RING_FULL);
        c->n = 0;
    }
}

// Ports of the protocols that keep routing alive: BGP 179, LDP 646 (both), RIP 520 and RIPng 521, BFD 3784 (RFC 5881),
// echo 3785, multihop 4784 (RFC 5883), S-BFD 7784.
static bool is_routing_port(uint8_t proto, uint16_t port_host)
{
    if (proto == PROTO_TCP)
        return port_host == 179 || port_host == 646;
    return port_host == 646 || port_host == 520 || port_host == 521 || port_host == 3784 ||
           port_host == 3785 || port_host == 4784 || port_host == 7784;
}

static bool is_routing_proto(uint8_t proto)
{
    return proto == PROTO_OSPF || proto == PROTO_PIM || proto == PROTO_VRRP || proto == PROTO_IGMP;
}

static bool has_routing_port(uint8_t proto, const uint8_t *ports)
{
    if (proto == PROTO_TCP)
        return is_routing_port(proto, load16_host(ports)) || is_routing_port(proto, load16_host(ports + 2));
    return proto == PROTO_UDP && is_routing_port(proto, load16_host(ports + 2));
}

#define DSCP_CS6 48 // network control, RFC 2474

void punt_ip4(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface)
{
    uint32_t hlen = (ip[0] & 15) * 4u;
    bool first = !(load16(ip + 6) & RTE_BE16(0x1fff)); // a later fragment has no ports

    if (is_routing_proto(ip[9]) || ip[1] >> 2 == DSCP_CS6 ||
        (first && packet_readable(m, ip) >= hlen + 4 && has_routing_port(ip[9], ip + hlen)))
        punt(f, m, iface, PUNT_ROUTING);
    else
        punt(f, m, iface, PUNT_LOCAL);
}

static bool is_nd(uint8_t type)
{
    return type >= 133 && type <= 137; // RS, RA, NS, NA, redirect (RFC 4861)
}

static bool is_mld(uint8_t type)
{
    return (type >= 130 && type <= 132) || type == 143; // RFC 2710, RFC 3810: IPv6's IGMP
}

void punt_ip6(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface)
{
    uint32_t readable = packet_readable(m, ip), at = IP6_HDR;
    uint8_t proto = ip[6];
    enum punt_class class = PUNT_LOCAL;

    if (proto == PROTO_HOPOPTS && readable >= at + 8) { // MLD hides behind a router alert
        proto = ip[at];
        at += 8u * (ip[at + 1] + 1u);
    }
    if (is_routing_proto(proto) || (load16_host(ip) >> 6 & 63) == DSCP_CS6)
        class = PUNT_ROUTING;
    else if (readable >= at + 4 && proto == PROTO_ICMP6)
        class = is_nd(ip[at]) ? PUNT_NEIGH : is_mld(ip[at]) ? PUNT_ROUTING : PUNT_LOCAL;
    else if (readable >= at + 4 && has_routing_port(proto, ip + at))
        class = PUNT_ROUTING;
    punt(f, m, iface, class);
}
