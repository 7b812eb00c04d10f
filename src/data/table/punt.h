// SPDX-License-Identifier: BSD-3-Clause
// punt.h - classes of packets for the control plane, and their limits
//
// Control writes the limits; forwarders read the length of the queue, tap_manager reads the rate
// and owns the buckets. By default no class can starve a better one, and all of them together leave
// most of a core to the routing daemons (docs/features/punt.md has the reasons).
#ifndef TABLE_PUNT_H
#define TABLE_PUNT_H

#include <stdint.h>

#include "table/token_bucket.h"

// Strict priority; the first is the best.
enum punt_class {
    PUNT_BFD,     // BFD: its sessions time out within tens of milliseconds
    PUNT_ROUTING, // BGP, OSPF, IS-IS, RIP, LDP, PIM, VRRP, LACP, LLDP: sessions and adjacencies
                  // that time out within minutes
    PUNT_NEIGH,   // ARP, neighbor discovery, IGMP and MLD: hosts of the link announce themselves
    PUNT_ICMP,    // other ICMP for our addresses
    PUNT_OTHER,   // everything else
    PUNT_MULTICAST, // packets of groups for the kernel's multicast routing daemon
    PUNT_CLASS_N
};
extern const char *const punt_class_name[PUNT_CLASS_N];

#define PUNT_QUEUE_MAX 4096

struct punt_limit {
    uint32_t per_s, burst; // packets to the kernel
    uint32_t queue; // waiting packets, <= PUNT_QUEUE_MAX; several forwarders may exceed it by a
                    // burst each
};
extern const struct punt_limit punt_limit_default[PUNT_CLASS_N];

struct punt_policy {
    struct punt_limit limit;
    struct token_bucket_rate rate; // of `limit`
};
extern struct punt_policy punt_policy[PUNT_CLASS_N];

void punt_policy_init(void);                                              // the defaults
void punt_policy_set(enum punt_class class, const struct punt_limit *to); // control

#endif
