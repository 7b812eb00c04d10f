// SPDX-License-Identifier: BSD-3-Clause
// lanes.h - parallel decisions for all packets of a burst: plain packets, and next hops
//
// Four sets of functions with equal results; lanes_choose() picks one when forwarders start. One
// handles packet after packet, on any machine (lanes.c, the specification); the others handle eight
// at a time, with AVX2, or with AVX-512 by gathers or by loads. tests/path/lanes compares them.
#ifndef FORWARDER_LANES_H
#define FORWARDER_LANES_H

#include "forwarder/burst.h"
#include "program/program.h"
#include "table/port.h"

// Bytes of a frame in its first buffer, if it has as many: VLAN tags, IPv4 with options or IPv6
// with some extensions, and ports.
#define HEADERS_MAX 128u

enum tag {
    UNTAGGED,
    TAGGED,          // one, in the frame
    STRIPPED,        // one, stripped by the port into the mbuf
    DOUBLE,          // two, in the frame
    DOUBLE_STRIPPED, // two, the outer one in the mbuf
    TAG_N
};

struct arrivals { // received by one port, not examined yet
    uint32_t n;
    struct rte_mbuf *pkt[BURST_ROOM];
    uint8_t *frame[BURST_ROOM]; // start of each frame
};

struct lanes {
    const char *name;
    // Appends the frames that are plain packets (lanes.c) of this family and tag to b: pkt ip iface
    // vr len size(of the frame) hop dst; mixed, features, chained, bytes. Returns the mask of the
    // others.
    uint64_t (*append_plain4)(const struct arrivals *a, const struct port *port, enum tag tag,
                              struct burst *b);
    uint64_t (*append_plain6)(const struct arrivals *a, const struct port *port, enum tag tag,
                              struct burst *b);
    // The same for untagged frames with labels (EtherType MPLS, one segment): hop is the top entry.
    uint64_t (*append_labels)(const struct arrivals *a, const struct port *port, struct burst *b);
    // Appends those packets `of` a burst of packets with labels which are plain behind their first
    // label to `to`: pkt ip iface len size hop dst. Returns the mask of these.
    uint64_t (*append_below4)(const struct burst *from, uint64_t of, struct burst *to);
    uint64_t (*append_below6)(const struct burst *from, uint64_t of, struct burst *to);
    // From nh, len, size, hop: sets word, header, out_iface, out_port, hop_out, size of the
    // outgoing frame; out_ports, in_place, same. `lower`: decrements the TTL. Returns the mask of
    // packets that the next hop does not take as they are: not an adjacency, TTL expired, larger
    // than its MTU.
    uint64_t (*apply_nexthops)(struct burst *b, bool lower);
    // Fills slots of a packet program, one for each of b's n packets from `first` on: the first 32
    // bytes are *head with the packet's length, readable bytes (also in `readable`) and class,
    // followed by its bytes up to LANES_WINDOW, then zeros. `readable` NULL: no bytes. NULL in sets
    // without anything better than packet after packet (program_fill.c).
    void (*fill_slots)(const struct burst *b, unsigned first, unsigned n,
                       struct kamuee_packet *slot, const void *head, uint16_t *readable);
};
#define LANES_WINDOW 64u

// Returns the best set that this CPU can run and `simd_bits` (0 = no limit) allows.
const struct lanes *lanes_choose(unsigned simd_bits);
const struct lanes *lanes_by_name(const char *name); // NULL: not available here

#endif
