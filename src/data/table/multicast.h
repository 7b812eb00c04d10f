// SPDX-License-Identifier: BSD-3-Clause
// multicast.h - multicast routes: required input interface and outputs of a group's packets
//
// A hash table per virtual router and family, keyed by source and group; no source means any,
// (*,G). The same table has the groups that the host has joined on an interface, and its link-local
// addresses, keyed by address and interface. A router without any of these has no table. Entries
// are immutable: they are replaced, and retired after a grace period; counters move to the new
// entry. Written by rib_manager, read by every forwarder (src/data/forwarder/multicast.c).
#ifndef TABLE_MULTICAST_H
#define TABLE_MULTICAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "core/rcu.h"
#include "table/limits.h"

#define MULTICAST_OUT_MAX 32     // outputs of a route; as many as Linux has
#define MULTICAST_MAX 16384      // entries of a table
#define MULTICAST_BUCKETS 8192u

struct multicast_key { // no padding
    uint8_t source[16]; // network order, IPv4 in the first four bytes; zeros: any
    uint8_t group[16];
    uint16_t iface;  // of a join; 0 in routes
    uint16_t family; // enum ip_family
};
_Static_assert(sizeof(struct multicast_key) == 36, "compared and hashed as bytes");

enum multicast_flag {
    MULTICAST_KERNEL = 1, // the kernel has the route: sends it a packet now and then, so that the
                          // routing daemon sees traffic
    MULTICAST_SLOW = 2, // has an output unknown to us, such as a PIM register tunnel: the kernel
                        // forwards
    MULTICAST_TREE = 4, // packets may also come in by any output, as for the kernel's (*,G)
    MULTICAST_JOIN = 8, // not a route: the host has joined the group, or has the link-local
                        // address, on the interface
};

struct multicast_out {
    uint16_t iface;
    uint8_t ttl; // packets with a larger TTL pass
};

// Shared by forwarders: groups are few, and packets of a group mostly come by one queue.
struct multicast_counter {
    uint64_t packets, bytes, wrong; // bytes from the IP header on; wrong: came by another interface
    uint64_t sampled, told; // TSC when a packet last went to the kernel as a sample; as a wrong one
} __attribute__((aligned(64)));

struct multicast_entry {
    struct multicast_entry *next; // in the bucket; rcu_load
    struct multicast_key key;
    uint16_t in; // required input interface, 0 = unknown to us
    uint8_t flags, n_out;
    struct multicast_out out[MULTICAST_OUT_MAX];
    struct multicast_counter *counter; // NULL in a join
    struct rcu_retired retired;
    bool last; // no other entry has taken over the counter
};

struct multicast_table {
    uint64_t seed;
    uint32_t n;
    struct multicast_entry *bucket[MULTICAST_BUCKETS];
};

int multicast_init(void); // after eal_init; 0
void multicast_fini(void);
// [IPv4, IPv6]; rcu_load
extern struct multicast_table *multicast_table[VR_MAX][2];
// By interface: a multicast routing daemon wants packets of groups without a route; bit 0 IPv4, bit
// 1 IPv6.
extern uint8_t multicast_daemon[IFACE_MAX];
// TSC cycles: at most one packet of a route goes to the kernel in this time.
extern uint64_t multicast_sample_cycles, multicast_told_cycles;

// --- rib_manager ---
// Adds the entry or replaces the one with its key; copies key, in, flags, out. 0, -ENOSPC or
// -ENOMEM.
int multicast_set(uint16_t vr, const struct multicast_entry *e);
void multicast_del(uint16_t vr, const struct multicast_key *k);
void multicast_clear(uint16_t vr); // all of the router, both families
void multicast_daemon_set(uint16_t iface, uint8_t family, bool runs);

// --- any reader ---
const struct multicast_entry *multicast_find(const struct multicast_table *t,
                                             const struct multicast_key *k);

#endif
