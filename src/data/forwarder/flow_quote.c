// SPDX-License-Identifier: BSD-3-Clause
// flow_quote.c - finds the flow of an ICMP error (flow_hash.h); called only for errors
//
// An error quotes the beginning of the packet that caused it, and returns to its sender. So its
// flow is that of the quoted packet with addresses and ports exchanged: the error takes the same
// member of a group as the flow's own packets in that direction. Errors are unreachable, time
// exceeded and parameter problem (RFC 792), and for ICMPv6 all types below 128 (RFC 4443 2.1).
// Without ports in the quote, the ports are 0.
#include "forwarder/flow_hash.h"
#include "forwarder/forbidden.h"

#define ICMP_HDR 8u

static uint32_t ports_swapped(uint32_t ports)
{
    return ports >> 16 | ports << 16;
}

bool flow_quote4(const uint8_t *ip, uint32_t n, struct flow_quote *q)
{
    const uint32_t errors = 1u << 3 | 1u << 11 | 1u << 12; // unreachable, time exceeded, parameter
    uint32_t hlen = (ip[0] & 15) * 4u;
    const uint8_t *icmp = ip + hlen, *quoted = icmp + ICMP_HDR;

    if (hlen < IP4_HDR || n < hlen + ICMP_HDR + IP4_HDR || icmp[0] > 12 ||
        !(errors >> icmp[0] & 1) || quoted[0] >> 4 != 4)
        return false;
    uint32_t quoted_hlen = (quoted[0] & 15) * 4u;
    bool later = load16(quoted + 6) & RTE_BE16(0x1fff);
    memcpy(q->src, quoted + 16, 4);
    memcpy(q->dst, quoted + 12, 4);
    q->proto = quoted[9];
    q->ports = 0;
    if (!later && proto_has_ports(q->proto) && n >= hlen + ICMP_HDR + quoted_hlen + 4)
        q->ports = ports_swapped(load32(quoted + quoted_hlen));
    return true;
}

bool flow_quote6(const uint8_t *ip, uint32_t n, struct flow_quote *q)
{
    const uint8_t *icmp = ip + IP6_HDR, *quoted = icmp + ICMP_HDR;

    if (n < IP6_HDR + ICMP_HDR + IP6_HDR || icmp[0] >= 128 || quoted[0] >> 4 != 6)
        return false;
    memcpy(q->src, quoted + 24, 16);
    memcpy(q->dst, quoted + 8, 16);
    q->proto = quoted[6];
    q->ports = 0;
    if (proto_has_ports(q->proto) && n >= IP6_HDR + ICMP_HDR + IP6_HDR + 4)
        q->ports = ports_swapped(load32(quoted + IP6_HDR));
    return true;
}
