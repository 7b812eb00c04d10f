// SPDX-License-Identifier: BSD-3-Clause
// burst.h - the packets that pass through a stage together
//
// Structure of arrays: entry i of each array belongs to packet i. All packets
// of a burst have one family and one kind. A stage marks the packets that may
// not go on in a 64-bit mask, gives each of them to its exit (drop, punt, hold,
// icmp_error), and then closes the gaps once with burst_remove(): a burst
// without exceptions is never moved.
//
//     set by      field
//     ether_in    pkt ip iface len, vr, mixed and summed
//     ip4/6_in    len (as the header says) dst
//     fwd         nh word
#ifndef FORWARDER_BURST_H
#define FORWARDER_BURST_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/iface.h"
#include "table/limits.h"

enum burst_kind {
    BURST_TRANSIT, // received, to be forwarded
    BURST_LOCAL,   // received, may be delivered here but not forwarded: otherwise drop with why[]
    BURST_ORIGIN,  // made by us (ICMP errors): causes no error in turn
    BURST_RESUMED, // was held for its neighbour: next hop known, TTL already lowered
};

struct burst {
    uint32_t n;
    uint8_t kind;   // enum burst_kind
    uint8_t family; // enum ip_family
    bool mixed;     // packets of several virtual routers: each one's interface tells
    bool summed;    // the port has found the IPv4 header checksum of each packet right
    uint16_t vr;    // the one virtual router unless mixed
    struct rte_mbuf *pkt[BURST_MAX];
    uint8_t *ip[BURST_MAX];    // IP header, in the first segment
    uint16_t iface[BURST_MAX]; // came in by
    uint16_t len[BURST_MAX];   // bytes from `ip` on: at first of the frame, then of the packet (frames may be padded)
    uint16_t word[BURST_MAX];  // next hop's word as it was when the packet was looked at
    uint8_t why[BURST_MAX];    // BURST_LOCAL: enum drop_reason when the packet is not for us
    uint32_t nh[BURST_MAX];    // next-hop id
    union {
        ip4_t dst4[BURST_MAX];
        uint8_t dst6[BURST_MAX][16];
    };
} __attribute__((aligned(64)));

static inline void burst_reset(struct burst *b)
{
    b->n = 0;
    b->mixed = false;
    b->summed = false;
}

// Appends a packet; its place. The caller knows that there is room.
static inline unsigned burst_add(struct burst *b, struct rte_mbuf *m, uint8_t *ip, uint16_t iface)
{
    uint16_t vr = iface_get(iface)->vr;
    unsigned i = b->n++;

    if (i == 0)
        b->vr = vr;
    b->mixed |= vr != b->vr;
    b->pkt[i] = m;
    b->ip[i] = ip;
    b->iface[i] = iface;
    return i;
}

// A mask of packets is made in order of the packets, bit by bit: mask = mask_next(mask, bit) for each of n, then
// mask_end(mask, n). Shifts by constants are one instruction; a shift by i is three on older targets.
static inline uint64_t mask_next(uint64_t mask, uint64_t bit)
{
    return mask >> 1 | bit << 63;
}

static inline uint64_t mask_end(uint64_t mask, unsigned n)
{
    return n ? mask >> (64 - n) : 0;
}

// Virtual router of packet i.
static inline uint16_t burst_vr(const struct burst *b, unsigned i)
{
    return b->mixed ? iface_get(b->iface[i])->vr : b->vr;
}

// Takes the packets of mask `gone` out; the rest keep their order.
void burst_remove(struct burst *b, uint64_t gone);

#endif
