// SPDX-License-Identifier: BSD-3-Clause
// lanes.h - what is done to all packets of a burst alike: is it plain, does its next hop take it?
//
// Four sets of functions with equal results, chosen when forwarders start: one packet
// after the other (any machine), and eight at a time, header bytes of eight frames straight into
// registers: with AVX2, and with AVX-512 by gathers or by loads. tests/path/lanes/lanes_test.c
// compares them.
#ifndef FORWARDER_LANES_H
#define FORWARDER_LANES_H

#include "forwarder/burst.h"
#include "table/port.h"

enum tag {
    UNTAGGED,
    TAGGED,          // one, in the frame
    STRIPPED,        // one, taken off by the port, into the mbuf
    DOUBLE,          // two, in the frame
    DOUBLE_STRIPPED, // two, the outer one in the mbuf
    TAG_N
};

struct arrivals { // received by one port, not yet looked at
    uint32_t n;
    struct rte_mbuf *pkt[BURST_ROOM];
    uint8_t *frame[BURST_ROOM]; // where each begins
};

struct lanes {
    const char *name;
    // Which of the frames are plain packets (ether_in.c) of this family and tag? They are appended
    // to b, with pkt ip iface vr len size(of the frame) hop dst; b->mixed, features, chained,
    // bytes. Returns the mask of those that are not.
    uint64_t (*plain4)(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b);
    uint64_t (*plain6)(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b);
    // nh, len, size, hop -> word, header, out_iface, out_port, hop_out, size of the frame that
    // leaves; b->out_ports, in_place, same. Returns the mask of packets that the next hop does not
    // simply take. `lower`: TTL by one.
    uint64_t (*take)(struct burst *b, bool lower);
};

// The best that this CPU can run and that `simd_bits`, 0 = no limit, allows.
const struct lanes *lanes_choose(unsigned simd_bits);
const struct lanes *lanes_of(const char *name); // NULL: not here

#endif
