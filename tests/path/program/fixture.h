// SPDX-License-Identifier: BSD-3-Clause
// fixture.h - three virtual routers with packet programs in one router in memory
//
//             default   red       blue
//   in        port 0    VLAN 10   VLAN 20    packets come from here
//   out       port 1    VLAN 10   VLAN 20    20.0.0.0/8, 2001:db8:b::/48
//   aside     port 2    VLAN 10   VLAN 20    30.0.0.0/8, 2001:db8:c::/48
//   copies    port 3                         mirror session "copy"
//
// Programs are loaded by program_manager, as kamueed does it. Each packet carries its number, which
// a program finds by number_of.
#ifndef PATH_PROGRAM_FIXTURE_H
#define PATH_PROGRAM_FIXTURE_H

#include "harness.h"
#include "native.h"
#include "program_manager/program_manager.h"

enum { DEFAULT, RED, BLUE, NETS };
struct net {
    const char *name;
    uint16_t vr, vlan, in, out, aside;
    uint16_t in2; // packets come from here, too: VLAN + 1
};
extern struct net net[NETS];

#define OUT_NEIGHBOR 1
#define ASIDE_NEIGHBOR 3
#define ASIDE4 "30.0.0.9" // addresses for next hops of programs
#define ASIDE6 "2001:db8:c::9"

uint32_t ifindex_of(uint16_t iface);

// Packet `number`, below 256, from `in` to `out`: UDP with so many bytes behind its header, TTL 64.
struct frame packet(unsigned n, bool six, unsigned number, unsigned payload);
// A frame of that EtherType, whose payload begins with `number` (2 bytes, network order).
struct frame typed(unsigned n, uint16_t type, unsigned number, unsigned payload);
unsigned number_of(const struct kamuee_packet *p);
// Sends it to port 0 and lets the router run.
void forward(const struct frame *f);
// The packet as it leaves by `out` or `aside`: Ethernet header, tag of the virtual router, TTL one
// less, checksum.
struct frame forwarded(const struct frame *f, unsigned n, bool aside);
bool punted(struct frame *f); // of any class
void assert_frame(const struct frame *is, const struct frame *expected);
// The next frame that port sends is this one, and then none comes.
void assert_sent(unsigned port, const struct frame *expected);

struct native {
    const char *name;      // NULL: "one"
    unsigned net;
    enum program_hook hook;
    const char *declared;  // NULL: nothing
    native_code *code;
    uint16_t order, ether_type;
    bool passes;           // with a fault, instead of dropping
    bool mirrors;          // it has session "copy"
    const char *next_hop[4];
};
void native_add(const struct native *n);
void native_again(const struct native *n); // its file is loaded again
struct program_status native_status(const char *name);

// A program that looks at packets, and does with each what `does` says.
#define LOOKS 64
extern struct kamuee_packet look[LOOKS]; // what it has seen, in order
extern unsigned looks;
void does(uint64_t verdict, void (*change)(struct kamuee_packet *p)); // and has seen nothing
struct native at_hook(enum program_hook hook); // with two reasons, and ways to ASIDE4 and ASIDE6

int programs_setup(void **state);
int programs_teardown(void **state);
#define program_path_test(f)                                                                       \
    cmocka_unit_test_setup_teardown(f, programs_setup, programs_teardown)

#endif
