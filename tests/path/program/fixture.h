// SPDX-License-Identifier: BSD-3-Clause
// fixture.h - three virtual routers with packet programs, in one router in memory
//
//             default   red       blue
//   in        port 0    VLAN 10   VLAN 20    packets arrive here
//   out       port 1    VLAN 10   VLAN 20    20.0.0.0/8, 2001:db8:b::/48
//   aside     port 2    VLAN 10   VLAN 20    30.0.0.0/8, 2001:db8:c::/48
//   copies    port 3                         mirror session "copy"
//
// program_manager loads the programs, as in kamueed. Each packet carries its number, which a
// program reads by number_of.
#ifndef PATH_PROGRAM_FIXTURE_H
#define PATH_PROGRAM_FIXTURE_H

#include "harness.h"
#include "native.h"
#include "program_manager/program_manager.h"

enum { DEFAULT, RED, BLUE, NETS };
struct net {
    const char *name;
    uint16_t vr, vlan, in, out, aside;
    uint16_t in2; // packets also arrive here: VLAN + 1
};
extern struct net net[NETS];

#define OUT_NEIGHBOR 1
#define ASIDE_NEIGHBOR 3
#define ASIDE4 "30.0.0.9" // addresses for programs' next hops
#define ASIDE6 "2001:db8:c::9"

uint32_t ifindex_of(uint16_t iface);

// Packet `number`, below 256, from `in` to `out`: UDP with `payload` bytes, TTL 64.
struct frame packet(unsigned n, bool six, unsigned number, unsigned payload);
// A frame of EtherType `type` whose payload starts with `number` (2 bytes, network order).
struct frame typed(unsigned n, uint16_t type, unsigned number, unsigned payload);
unsigned number_of(const struct kamuee_packet *p);
// Sends the frame to port 0 and runs the router.
void forward(const struct frame *f);
// The packet as it leaves by `out` or `aside`: with new Ethernet header and VLAN tag, TTL and
// checksum.
struct frame forwarded(const struct frame *f, unsigned n, bool aside);
bool punted(struct frame *f); // in any class
void assert_frame(const struct frame *is, const struct frame *expected);
// The port sends this frame next, and no other.
void assert_sent(unsigned port, const struct frame *expected);

struct native {
    const char *name;      // NULL = "one"
    unsigned net;
    enum program_hook hook;
    const char *declared;  // NULL = nothing
    native_code *code;
    uint16_t order, ether_type;
    bool passes;           // a fault lets packets pass instead of dropping them
    bool mirrors;          // has session "copy"
    const char *next_hop[4];
};
void native_add(const struct native *n);
void native_again(const struct native *n); // loads its file again
struct program_status native_status(const char *name);

// A program that records packets and handles each as `does` says.
#define LOOKS 64
extern struct kamuee_packet look[LOOKS]; // recorded packets, in order
extern unsigned looks;
void does(uint64_t verdict, void (*change)(struct kamuee_packet *p)); // also clears the record
struct native at_hook(enum program_hook hook); // two reasons, next hops to ASIDE4 and ASIDE6

int programs_setup(void **state);
int programs_teardown(void **state);
#define program_path_test(name) unit_test_of(name, programs_setup, programs_teardown)

#endif
