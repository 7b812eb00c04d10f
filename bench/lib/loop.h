// SPDX-License-Identifier: BSD-3-Clause
// loop.h - sends a burst through one forwarder again and again, and compares cases
//
// The router has one port whose queues are rings: a burst is written, received from a ring, sent
// into a ring, and taken from there. A case is a kind of packets, or a path through the router; the
// first case is the reference, round by round. Cycles are TSC cycles of CPU time. Used by
// tunnel_bench and program_bench.
#ifndef BENCH_LIB_LOOP_H
#define BENCH_LIB_LOOP_H

#include <stdint.h>

#include "lib/bench.h"
#include "lib/stat.h"

#define LOOP_BURST 64u

struct loop_case {
    char name[2][16];
    // Its packets: `n` frames, a power of two, of `bytes`, `stride` bytes apart; 64 bytes of each
    // are copied, or 128 if they are longer.
    const uint8_t *frame;
    unsigned n, bytes, stride;
    double cycles[ROUNDS_MAX]; // per packet, of each round
};

struct loop_settings {
    const char *word;   // subject: "tunnel"
    const char *key[2]; // meaning of the two names: "kind", "direction"
    unsigned rounds, round_ms;
    unsigned polls; // instead of round_ms; 0 = by time
    bool json;
};
extern struct loop_settings loop; // rounds 21, round_ms 20
#define LOOP_OPTIONS                                                                               \
    OPTION_NUMBER("rounds", &loop.rounds, 1, ROUNDS_MAX),                                          \
        OPTION_NUMBER("polls", &loop.polls, 0, 0), OPTION_DO("quick", loop_quick),                 \
        OPTION_FLAG("json", &loop.json)
void loop_quick(const char *unused);

// Creates tables, the port, and its interface; returns the interface id.
uint16_t loop_router(void);
// Routes all IPv4 addresses; takes role control.
void loop_route_all(uint16_t vr, uint32_t nexthop);
// Call it after the cases are prepared. In each round `begin` sets up the path of the case's
// packets, in role control; a case without frames is left out.
void loop_measure(struct loop_case *cases, unsigned n, void (*begin)(unsigned k));
void loop_report(const struct loop_case *cases, unsigned n);

#endif
