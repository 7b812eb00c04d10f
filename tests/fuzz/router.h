// SPDX-License-Identifier: BSD-3-Clause
// router.h - the router that is fuzzed, and how frames get into it and out
//
// One of everything: the router of random.h (ports, sub-interfaces, two virtual routers, next hops
// of all kinds, small MTUs) with default routes over ECMP groups, own addresses and all features
// that are switched by bits; the switches change between bursts. Used by packet_fuzz.c and
// packet_storm.c.
#ifndef FUZZ_ROUTER_H
#define FUZZ_ROUTER_H

#include "random.h"

#define FUZZ_HOPS 14u // 10.K.0.0/16 and 2001:db8:K::/48: one next hop each
#define FUZZ_LABEL 100u // and the following ones: one operation each, then a group
#define FUZZ_LABELS 8u
#define FUZZ_OWN4 "10.2.0.1"
#define FUZZ_OWN6 "2001:db8:2::1"

void fuzz_router(void);

// How the driver of a port hands a frame over.
struct fuzz_arrival {
    uint8_t port;
    bool stripped, sum_good; // tag in the mbuf; the header checksum was found good
    uint16_t tag;
    uint16_t segment; // bytes of a segment at most
    uint8_t behind;   // what lies behind the data
};
void fuzz_send(const struct fuzz_arrival *a, const struct frame *f);

// Another state of the switches, the same for the same `state`.
void fuzz_switch(uint32_t state);

// Polls until nothing is left in the router; held packets come back or not, as the bits of `fate`
// say. Ends the program when the ledger is not at 0, something is held or a buffer is missing.
void fuzz_settle(uint32_t fate);

// Frames of each class that went to the control plane so far.
extern uint64_t fuzz_punted[PUNT_CLASS_N];

#endif
