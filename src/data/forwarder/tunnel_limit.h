// SPDX-License-Identifier: BSD-3-Clause
// tunnel_limit.h - how many more IPv6 tunnels an IPv6 packet may enter
#ifndef FORWARDER_TUNNEL_LIMIT_H
#define FORWARDER_TUNNEL_LIMIT_H

#include "forwarder/packet.h"
#include "forwarder/state.h"

// Can a header of that kind contain a limit, or precede one?
static inline bool tunnel_limit_may_be(uint8_t proto)
{
    return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_DSTOPTS;
}

// Offset of the packet's limit from its IPv6 header; 0: none.
uint32_t tunnel_limit_at(const uint8_t *ip, uint32_t readable);
// Ends IPv6 packets of b, which have next hops, that would enter a tunnel in spite of a limit of 0.
void tunnel_limits(struct forwarder *f, struct burst *b);

#endif
