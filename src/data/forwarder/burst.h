// SPDX-License-Identifier: BSD-3-Clause
// burst.h - contents of a burst
//
// A burst is up to BURST_MAX packets that pass a stage together: of one family and one kind, so
// that a stage decides about both once. Stages exchange nothing else. It is a structure of arrays,
// entry i of each belonging to packet i: eight entries of an array are one vector register.
//
//   Packets           pkt[], ip[] (the header, in the first segment), input iface[] and its vr[];
//                     set by ether_in.
//   Lookup            dst4[] or dst6[], copied from the headers, so that the lookup reads no frame;
//                     hop[], the header's word with the TTL, for the same reason; set by ether_in,
//                     or ip4_in and ip6_in.
//   Result            nh[], the id of the next hop, by the lookup; and a snapshot of its entry:
//                     word[], header[], out_iface[], out_port[], hop_out[] with the TTL one
//                     lower. ether_out uses only these copies, so a next hop that changes meanwhile
//                     does not tear a packet. Set by ip4_fwd and ip6_fwd.
//   Lengths           len[], of the packet, and size[], of the frame, with padding and tags.
//   Drop reason       why[], for packets that may only be delivered here.
//   Decisions         decided, redirected[]: next hops chosen ahead of the lookup.
//
// Flags of the whole burst (mixed, chained, features, l2, in_place, same, out_ports) let a
// stage take a shortcut without looking at each packet. A false `mixed` or `features` must hold for
// every packet; a true one may be too cautious.
//
// A stage collects exceptional packets in a 64-bit mask, passes each to its exit (drop, punt, hold,
// icmp_error), and closes the gaps once, with burst_remove(): a burst without exceptions is never
// moved. Arrays have room for one more block: vector code works on whole blocks, and whatever it
// writes after the last packet is meaningless.
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

// Family of a burst of packets with labels: ip[] is the top entry of the stack, hop[] its word.
enum { LABELS = IP_NONE };

enum burst_kind {
    BURST_TRANSIT, // received, to be forwarded
    BURST_LOCAL,   // received; may be delivered here but not forwarded: otherwise drop with why[]
    BURST_ORIGIN,  // made by us (ICMP errors): never causes an error
    BURST_RESUMED, // was held for its neighbor: next hop known, TTL already decremented
    BURST_TUNNEL,  // outer packets of tunnels: the same, and never cause an error
};

// Next hops that stages ahead of the lookup have chosen.
struct decided {
    bool looked_up;       // nh[] has the results of the lookup: by an access list, or a GPU
    uint8_t n_redirected; // packets that a list or program sends to another next hop; the later
                          // entry of a packet wins
};

struct redirected {
    uint8_t at;        // index in the burst
    uint16_t redirect; // acl_target.h
    uint32_t nexthop;
};
#define REDIRECTED_MAX (3 * BURST_MAX) // by a program, a list, and another program
_Static_assert(REDIRECTED_MAX <= UINT8_MAX, "n_redirected");

struct burst {
    uint32_t n;
    uint8_t kind;   // enum burst_kind
    uint8_t family; // enum ip_family, or LABELS
    bool mixed;         // packets of several virtual routers
    bool chained;       // some packet may have more than one segment
    struct decided decided;
    bool in_place;      // every frame leaves with as many bytes before the IP header as it came
                        // with, l2
    bool same;          // in_place, and lengths stay, too: mbufs are not written
    uint8_t l2;         // bytes before the IP header of each frame, 0 = they differ
    uint16_t features;  // enum iface_flag, of all input interfaces
    uint32_t bytes;     // of the frames of plain packets, as received
    uint64_t out_ports; // bit p: a packet may leave by port p
    struct rte_mbuf *pkt[BURST_ROOM] __attribute__((aligned(64)));
    uint8_t *ip[BURST_ROOM];           // IP header, in the first segment
    uint64_t word[BURST_ROOM];         // the next hop's word when it was read
    const uint8_t *header[BURST_ROOM]; // end of the new Ethernet header, without the EtherType
    uint32_t nh[BURST_ROOM];           // next-hop id
    uint32_t hop[BURST_ROOM]; // as received: bytes 8..11 of the IPv4, 4..7 of the IPv6 header
    uint32_t hop_out[BURST_ROOM];      // the same as it will be sent
    uint16_t iface[BURST_ROOM];        // input interface
    uint16_t vr[BURST_ROOM];           // its virtual router
    uint16_t out_iface[BURST_ROOM], out_port[BURST_ROOM]; // output
    uint16_t len[BURST_ROOM];  // bytes from `ip` on: of the frame at first, then of the packet
    uint16_t size[BURST_ROOM]; // bytes of the frame: as received (0 = unknown), then as sent
    uint8_t why[BURST_ROOM];   // BURST_LOCAL: enum drop_reason if the packet is not for us
    union {
        ip4_t dst4[BURST_ROOM];
        uint8_t dst6[BURST_ROOM][16];
    };
    struct redirected redirected[REDIRECTED_MAX];
} __attribute__((aligned(64)));

static inline void burst_reset(struct burst *b)
{
    b->n = 0;
    b->mixed = false;
    b->chained = false;
    b->decided = (struct decided){0};
    b->l2 = 0;
    b->features = 0;
    b->bytes = 0;
}

// Made by us: causes no error.
static inline bool burst_is_own(const struct burst *b)
{
    return b->kind == BURST_ORIGIN || b->kind == BURST_TUNNEL;
}

// Does it leave with its present TTL?
static inline bool burst_ttl_is_final(const struct burst *b)
{
    return b->kind == BURST_RESUMED || b->kind == BURST_TUNNEL;
}

// Offset of `hop` in an IP header, or in a label stack.
static inline unsigned burst_hop_at(const struct burst *b)
{
    return b->family == IP4 ? 8 : b->family == IP6 ? 4 : 0;
}

// Packet i came in by `iface`: sets its vr and the burst's flags.
static inline void burst_set_iface(struct burst *b, unsigned i, const struct iface *iface)
{
    b->vr[i] = iface->vr;
    b->mixed |= b->vr[i] != b->vr[0];
    b->features |= iface->flags & IFACE_FEATURES;
}

// Appends a packet and returns its index. The caller ensures that there is room.
static inline unsigned burst_add(struct burst *b, struct rte_mbuf *m, uint8_t *ip, uint16_t iface)
{
    unsigned i = b->n++;

    burst_set_iface(b, i, iface_get(iface));
    b->chained |= m->nb_segs > 1;
    b->pkt[i] = m;
    b->ip[i] = ip;
    b->iface[i] = iface;
    memcpy(&b->hop[i], ip + burst_hop_at(b), 4);
    return i;
}

// Packet i takes that next hop instead of the lookup's.
static inline void burst_redirect(struct burst *b, unsigned i, uint16_t redirect, uint32_t nexthop)
{
    b->redirected[b->decided.n_redirected++] = (struct redirected){(uint8_t)i, redirect, nexthop};
}

// Copies all that is set before the lookup, and nh.
void burst_copy(struct burst *to, const struct burst *from);
// Removes the packets of mask `gone`; the others keep their order.
void burst_remove(struct burst *b, uint64_t gone);

#endif
