// SPDX-License-Identifier: BSD-3-Clause
// multicast.h - multicast routes: by which interface a group's packets must come, and to which they
// are copied
//
// A hash table per virtual router and family, keyed by source and group; no source means any,
// (*,G). The same table has the groups that the host has joined on an interface, and its link-local
// addresses, keyed by address and interface. A router that listens to nothing has no table. An
// entry never changes: it is replaced, and retired after a grace period; its counters go over to
// the new one. Written by rib_manager, read by every forwarder (src/data/forwarder/multicast.c).
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

struct multicast_key { // without padding
    uint8_t source[16]; // network order, IPv4 in the first four; zeros: any
    uint8_t group[16];
    uint16_t iface;  // of a join; 0 in routes
    uint16_t family; // enum ip_family
};
_Static_assert(sizeof(struct multicast_key) == 36, "compared and hashed as bytes");

enum multicast_flag {
    MULTICAST_KERNEL = 1, // the kernel's route: a packet now and then goes its way, so that the
                          // routing daemon sees traffic
    MULTICAST_SLOW = 2, // it has an output that is none of ours, such as a PIM register tunnel: the
                        // kernel forwards
    MULTICAST_TREE = 4, // packets may come by any of the outputs too, as the kernel's (*,G) say
    MULTICAST_JOIN = 8, // no route: the host has joined the group, or has the link-local address,
                        // on the interface
};

struct multicast_out {
    uint16_t iface;
    uint8_t ttl; // packets with a larger one pass
};

// Forwarders share it: groups are few, and a group's packets mostly come by one queue.
struct multicast_counter {
    uint64_t packets, bytes, wrong; // bytes from the IP header on; wrong: came by another interface
    uint64_t sampled, told; // TSC when a packet last went the kernel's way; when a wrong one did
} __attribute__((aligned(64)));

struct multicast_entry {
    struct multicast_entry *next; // of the bucket; rcu_load
    struct multicast_key key;
    uint16_t in; // interface by which packets must come, 0 = none of ours
    uint8_t flags, n_out;
    struct multicast_out out[MULTICAST_OUT_MAX];
    struct multicast_counter *counter; // NULL in a join
    struct rcu_retired retired;
    bool last; // no entry has taken the counter over
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
// Of each interface: a multicast routing daemon wants packets for groups without a route; bit 0
// IPv4, bit 1 IPv6.
extern uint8_t multicast_daemon[IFACE_MAX];
// TSC: at most one packet of a route goes up in so long.
extern uint64_t multicast_sample_cycles, multicast_told_cycles;

// --- rib_manager ---
// Adds the entry or replaces the one of its key: key, in, flags, out are taken. 0, -ENOSPC or
// -ENOMEM.
int multicast_set(uint16_t vr, const struct multicast_entry *e);
void multicast_del(uint16_t vr, const struct multicast_key *k);
void multicast_clear(uint16_t vr); // the whole router's, both families
void multicast_daemon_set(uint16_t iface, uint8_t family, bool runs);

// --- any reader ---
const struct multicast_entry *multicast_find(const struct multicast_table *t,
                                             const struct multicast_key *k);

#endif
