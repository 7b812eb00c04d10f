// SPDX-License-Identifier: BSD-3-Clause
// flow_hash.h - which member of a next-hop group a packet takes
//
// All packets of a flow give the same value, so they take the same way and stay
// in order. Fragments carry no ports but for the first one, so every fragment,
// the first included, is hashed on addresses and protocol alone. IPv6 adds the
// flow label (RFC 6438). The seed differs between virtual routers and machines:
// routers in a row do not all split alike. RFC 2992 for why by hash.
#ifndef FORWARDER_FLOW_HASH_H
#define FORWARDER_FLOW_HASH_H

#include "base/hash.h"
#include "forwarder/packet.h"

// Protocols whose header begins with two 16-bit ports.
static inline bool proto_has_ports(uint8_t proto)
{
    return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP || proto == PROTO_UDPLITE;
}

// `readable`: bytes from ip to the end of the first segment; `len`: of the packet.
static inline uint32_t flow_hash4(const uint8_t *ip, uint32_t readable, uint32_t len, uint32_t seed)
{
    uint32_t hlen = (ip[0] & 15) * 4u, ports = 0;
    bool fragment = load16(ip + 6) & RTE_BE16(0x3fff); // more fragments, or an offset

    if (!fragment && proto_has_ports(ip[9]) && hlen + 4 <= RTE_MIN(readable, len))
        ports = load32(ip + hlen);
    uint64_t h = hash_mix64(load64(ip + 12) ^ seed);
    return (uint32_t)(hash_mix64(h ^ ((uint64_t)ip[9] << 32 | ports)) >> 32);
}

static inline uint32_t flow_hash6(const uint8_t *ip, uint32_t readable, uint32_t len, uint32_t seed)
{
    uint32_t label = load32(ip) & RTE_BE32(0x000fffff), ports = 0;
    uint8_t proto = ip[6];

    if (proto_has_ports(proto) && IP6_HDR + 4 <= RTE_MIN(readable, len))
        ports = load32(ip + IP6_HDR);
    // Next header differs between fragments and the rest of a flow anyway (44), never between fragments of one packet.
    uint64_t h = hash_mix64(load64(ip + 8) ^ seed);
    h = hash_mix64(h ^ load64(ip + 16));
    h = hash_mix64(h ^ load64(ip + 24));
    h = hash_mix64(h ^ load64(ip + 32));
    return (uint32_t)(hash_mix64(h ^ ((uint64_t)proto << 56) ^ ((uint64_t)label << 20) ^ ports) >> 32);
}

#endif
