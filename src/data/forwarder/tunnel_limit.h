// SPDX-License-Identifier: BSD-3-Clause
// tunnel_limit.h - how often an IPv6 packet may still enter tunnels over IPv6
#ifndef FORWARDER_TUNNEL_LIMIT_H
#define FORWARDER_TUNNEL_LIMIT_H

#include "forwarder/packet.h"
#include "forwarder/state.h"

// May there be one in or behind a header of that kind?
static inline bool tunnel_limit_may_be(uint8_t proto)
{
    return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_DSTOPTS;
}

// Where the packet's limit is, counted from its IPv6 header; 0: it has none.
uint32_t tunnel_limit_at(const uint8_t *ip, uint32_t readable);
// IPv6 packets of b, which have next hops: those that may enter no tunnel more, and would, end.
void tunnel_limits(struct forwarder *f, struct burst *b);

#endif
