// SPDX-License-Identifier: BSD-3-Clause
// tunnel_limit.c - how many more IPv6 tunnels an IPv6 packet may enter (RFC 2473 4.1.1)
//
// An encapsulated packet may have a tunnel encapsulation limit, an option of a destination options
// header. With 0 it enters no tunnel, and its sender is told where the 0 is; otherwise the outer
// packet gets one less (tunnel_out.c). kamueed adds no limit of its own: it counts tunnels in its
// own way (table/metalink.h).

#include "base/ip6_chain.h"
#include "forwarder/drop.h"
#include "forwarder/icmp.h"
#include "forwarder/tunnel.h"
#include "table/tunnel.h"
#include "forwarder/forbidden.h"

enum { ICMP6_PARAMETER = 4, OPTION_LIMIT = 4 };

// Searches the options from `at` to `end`.
static uint32_t option_at(const uint8_t *ip, uint32_t at, uint32_t end)
{
    while (at + 2 < end) {
        if (ip[at] == OPTION_LIMIT)
            return ip[at + 1] == 1 ? at + 2 : 0;
        at += ip[at] ? 2u + ip[at + 1] : 1u;
    }
    return 0;
}

uint32_t tunnel_limit_at(const uint8_t *ip, uint32_t readable)
{
    uint32_t at = IP6_HDR, found = 0;
    uint8_t proto = ip[6];

    for (unsigned n = 0; n < IP6_CHAIN_MAX && tunnel_limit_may_be(proto) && readable >= at + 8;
         n++) {
        const uint32_t end = at + 8u * (ip[at + 1] + 1u);
        if (end > readable)
            break;
        if (proto == PROTO_DSTOPTS && (found = option_at(ip, at + 2, end)))
            break;
        proto = ip[at];
        at = end;
    }
    return found;
}

void tunnel_limits(struct forwarder *f, struct burst *b)
{
    uint64_t gone = 0;

    if (!burst_enters_tunnels(b))
        return;
    for (unsigned i = 0; i < b->n; i++) {
        const struct iface *out = iface_get(b->out_iface[i]);
        const uint8_t *ip = b->ip[i];
        if (!tunnel_limit_may_be(ip[6]) || out->kind != IFACE_TUNNEL ||
            tunnel_get(tunnel_of_iface(out))->id.family != IP6)
            continue;
        const uint32_t at = tunnel_limit_at(ip, packet_readable(b->pkt[i], ip));
        if (!at || ip[at])
            continue;
        icmp6_error(f, b, i, ICMP6_PARAMETER, 0, at);
        packet_drop_of(f, b, i, DROP_TUNNEL_RECURSION);
        gone |= 1ull << i;
    }
    if (gone)
        burst_remove(b, gone);
}
