// SPDX-License-Identifier: BSD-3-Clause
// flow_hash.h - selects the member of a next-hop group for a packet
//
// All packets of a flow give the same value, so they take the same path and stay in order. The
// virtual router defines a flow (struct flow_hash):
//
//     l4         addresses, protocol and ports; for IPv6 also the flow label (RFC 6438)
//     l3         addresses; for IPv6 also the flow label
//     symmetric  like l4, but equal for both directions, so without the flow label
//
// Only the first fragment has ports, so all fragments are hashed on addresses and protocol (and the
// label, which all have). An ICMP error is hashed like the flow in the opposite direction of the
// packet that it quotes, without a label: so it takes the path to the host that sent that packet,
// even if several hosts share an address (RFC 7690). The seed differs between virtual routers and
// machines, so routers in a row do not split alike. RFC 2992 explains why a hash is used.
#ifndef FORWARDER_FLOW_HASH_H
#define FORWARDER_FLOW_HASH_H

#include "base/hash.h"
#include "forwarder/packet.h"
#include "table/vr.h"

// Does the protocol's header begin with two 16-bit ports?
static inline bool proto_has_ports(uint8_t proto)
{
    return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP ||
           proto == PROTO_UDPLITE;
}

// Equal for both directions: the smaller port first.
static inline uint32_t ports_sorted(uint32_t ports)
{
    uint16_t a = (uint16_t)ports, b = (uint16_t)(ports >> 16);

    return a < b ? ports : (uint32_t)a << 16 | b;
}

// The packet quoted by an ICMP error, with its ends swapped; flow_quote.c.
struct flow_quote {
    uint8_t src[16], dst[16]; // IPv4: the first four bytes
    uint32_t ports;           // 0: none
    uint8_t proto;
};
// `n`: readable bytes from ip on. Returns false if it is not an error, or does not quote enough.
bool flow_quote4(const uint8_t *ip, uint32_t n, struct flow_quote *q);
bool flow_quote6(const uint8_t *ip, uint32_t n, struct flow_quote *q);

// `readable`: bytes from ip to the end of the first segment; `len`: length of the packet.
static inline __attribute__((always_inline)) uint32_t
flow_hash4(const uint8_t *ip, uint32_t readable, uint32_t len, struct flow_hash how)
{
    uint32_t hlen = (ip[0] & 15) * 4u, src = load32(ip + 12), dst = load32(ip + 16), ports = 0;
    bool fragment = load16(ip + 6) & RTE_BE16(0x3fff); // more fragments, or an offset
    uint64_t rest = 0;
    uint8_t proto = ip[9];
    struct flow_quote q;

    if (unlikely(proto == PROTO_ICMP) && !fragment &&
        flow_quote4(ip, RTE_MIN(readable, len), &q)) {
        src = load32(q.src);
        dst = load32(q.dst);
        ports = q.ports;
        proto = q.proto;
    } else if (!fragment && proto_has_ports(proto) && hlen + 4 <= RTE_MIN(readable, len)) {
        ports = load32(ip + hlen);
    }
    if (how.mode != FLOW_HASH_L3) {
        if (how.mode == FLOW_HASH_SYMMETRIC) {
            ports = ports_sorted(ports);
            if (src > dst)
                RTE_SWAP(src, dst);
        }
        rest = (uint64_t)proto << 32 | ports;
    }
    uint64_t h = hash_mix64(((uint64_t)dst << 32 | src) ^ how.seed);
    return (uint32_t)(hash_mix64(h ^ rest) >> 32);
}

static inline uint32_t flow_hash6(const uint8_t *ip, uint32_t readable, uint32_t len,
                                  struct flow_hash how)
{
    uint64_t a[2] = {load64(ip + 8), load64(ip + 16)}, b[2] = {load64(ip + 24), load64(ip + 32)},
             rest = 0;
    uint32_t ports = 0, label = load32(ip) & RTE_BE32(0x000fffff);
    uint8_t proto = ip[6];
    struct flow_quote q;

    if (unlikely(proto == PROTO_ICMP6) && flow_quote6(ip, RTE_MIN(readable, len), &q)) {
        memcpy(a, q.src, 16);
        memcpy(b, q.dst, 16);
        ports = q.ports;
        proto = q.proto;
        label = 0;
    } else if (proto_has_ports(proto) && IP6_HDR + 4 <= RTE_MIN(readable, len)) {
        ports = load32(ip + IP6_HDR);
    }
    if (how.mode != FLOW_HASH_L3) {
        // The next header differs between fragments and other packets of a flow anyway (44), never
        // between fragments of one packet.
        if (how.mode == FLOW_HASH_SYMMETRIC) {
            ports = ports_sorted(ports);
            if (a[0] > b[0] || (a[0] == b[0] && a[1] > b[1])) {
                RTE_SWAP(a[0], b[0]);
                RTE_SWAP(a[1], b[1]);
            }
        }
        rest = (uint64_t)proto << 56 ^ ports;
    }
    if (how.label && how.mode != FLOW_HASH_SYMMETRIC)
        rest ^= (uint64_t)label << 20;
    uint64_t h = hash_mix64(a[0] ^ how.seed);
    h = hash_mix64(h ^ a[1]);
    h = hash_mix64(h ^ b[0]);
    h = hash_mix64(h ^ b[1]);
    return (uint32_t)(hash_mix64(h ^ rest) >> 32);
}

static inline uint32_t flow_hash_ip(uint8_t family, const uint8_t *ip, uint32_t readable,
                                    uint32_t len, struct flow_hash how)
{
    return family == IP4 ? flow_hash4(ip, readable, len, how) : flow_hash6(ip, readable, len, how);
}

#endif
