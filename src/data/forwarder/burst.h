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
//     ether_in    pkt ip iface vr, mixed, features, chained, l2, size, len; of plain packets also
//     bytes, and what ip4/6_in sets ip4/6_in    len (as the header says) dst hop features sometimes
//     nh ahead of fwd, found fwd         nh word header out_iface out_port hop_out size, out_ports,
//     in_place, same
//
// Arrays have room for a block more than a burst: the vector code of lanes works
// on whole blocks, and what it writes behind the last packet means nothing.
#ifndef FORWARDER_BURST_H
#define FORWARDER_BURST_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/iface.h"
#include "table/limits.h"

#define BURST_BLOCK 8
#define BURST_ROOM (BURST_MAX + BURST_BLOCK)

enum burst_kind {
    BURST_TRANSIT, // received, to be forwarded
    BURST_LOCAL,   // received, may be delivered here but not forwarded: otherwise drop with why[]
    BURST_ORIGIN,  // made by us (ICMP errors): causes no error in turn
    BURST_RESUMED, // was held for its neighbor: next hop known, TTL already lowered
};

struct burst {
    uint32_t n;
    uint8_t kind;   // enum burst_kind
    uint8_t family; // enum ip_family
    bool mixed;     // packets of several virtual routers
    bool chained;   // some packet may have more than one segment
    bool found;     // nh[] is what the FIB says: looked up ahead of ip4_fwd
    bool in_place;  // each frame leaves with as many bytes in front of the IP header as it came
                    // with, l2
    bool same;      // and with the length that it came with: the mbufs stay as they are
    uint8_t l2;     // bytes in front of the IP header of each frame, 0 = not the same for all
    uint16_t features; // enum iface_flag, of all interfaces they came in by
    uint32_t bytes;    // of the frames of plain packets, as they came
    uint64_t out_ports; // bit p: a packet may leave by port p
    struct rte_mbuf *pkt[BURST_ROOM] __attribute__((aligned(64)));
    uint8_t *ip[BURST_ROOM];     // IP header, in the first segment
    uint64_t word[BURST_ROOM];   // next hop's word as it was when the packet was looked at
    const uint8_t *header[BURST_ROOM]; // the end of its next hop's rewrite: the new Ethernet
                                       // header, but for the EtherType, is in front of that
    uint32_t nh[BURST_ROOM];     // next-hop id
    uint32_t hop[BURST_ROOM]; // bytes 8..11 of the IPv4 header, 4..7 of the IPv6 header: with the
                              // TTL, as received
    uint32_t hop_out[BURST_ROOM]; // the same as it will be sent
    uint16_t iface[BURST_ROOM];  // came in by
    uint16_t vr[BURST_ROOM];     // virtual router of that interface
    uint16_t out_iface[BURST_ROOM], out_port[BURST_ROOM]; // leaves by
    uint16_t len[BURST_ROOM];  // bytes from `ip` on: at first of the frame, then of the packet
                               // (frames may be padded)
    uint16_t size[BURST_ROOM]; // bytes of the frame: as it came (0 = not known), then as it leaves
    uint8_t why[BURST_ROOM];     // BURST_LOCAL: enum drop_reason when the packet is not for us
    union {
        ip4_t dst4[BURST_ROOM];
        uint8_t dst6[BURST_ROOM][16];
    };
} __attribute__((aligned(64)));

static inline void burst_reset(struct burst *b)
{
    b->n = 0;
    b->mixed = false;
    b->chained = false;
    b->found = false;
    b->l2 = 0;
    b->features = 0;
    b->bytes = 0;
}

// Where `hop` lies in an IP header.
static inline unsigned burst_hop_at(const struct burst *b)
{
    return b->family == IP4 ? 8 : 4;
}

// The burst has another packet, of that interface, at place i.
static inline void burst_joins(struct burst *b, unsigned i, const struct iface *iface)
{
    b->vr[i] = iface->vr;
    b->mixed |= b->vr[i] != b->vr[0];
    b->features |= iface->flags & IFACE_FEATURES;
}

// Appends a packet; its place. The caller knows that there is room.
static inline unsigned burst_add(struct burst *b, struct rte_mbuf *m, uint8_t *ip, uint16_t iface)
{
    unsigned i = b->n++;

    burst_joins(b, i, iface_get(iface));
    b->chained |= m->nb_segs > 1;
    b->pkt[i] = m;
    b->ip[i] = ip;
    b->iface[i] = iface;
    memcpy(&b->hop[i], ip + burst_hop_at(b), 4);
    return i;
}

// Takes the packets of mask `gone` out; the rest keep their order.
void burst_remove(struct burst *b, uint64_t gone);

#endif
