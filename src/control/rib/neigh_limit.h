// SPDX-License-Identifier: BSD-3-Clause
// neigh_limit.h - capacity of the kernel's neighbor tables
//
// One ARP table and one ND table serve all namespaces of a machine. From gc_thresh2 entries on, the
// kernel evicts entries that are not refreshed; beyond gc_thresh3 it resolves no new neighbor. The
// limits do not count permanent and externally learned entries (kamueed makes some of these for
// each interface, neigh_groups.c), but the reported number of entries includes them. So we watch
// refusals and evictions instead of the number: we ask every few seconds (RTM_GETNEIGHTBL) and warn
// the operator of either. Hosts being resolved may fill half of a table, so that a scan leaves room
// for hosts that answer. All calls: rib_manager.
#ifndef RIB_NEIGH_LIMIT_H
#define RIB_NEIGH_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct nlmsghdr;

struct neigh_table {
    uint32_t entries;      // including those not counted by the limits
    uint32_t full, limit;  // gc_thresh2, gc_thresh3; limit 0: unknown
    uint64_t refused;      // entries refused by the kernel's full table, since start
    uint64_t evictions;    // times that the kernel made room because it had more than gc_thresh2
};

int neigh_limit_init(void); // uses the kernel's defaults until it answers; 0 or -errno
void neigh_limit_fini(void);
void neigh_limit_tick(uint64_t now_ns); // sends requests, reads answers, warns the operator
void neigh_limit_refused(void);         // the kernel's table is full: it refused an entry
// Hosts that may be resolved at the same time; half of them on one link.
unsigned neigh_limit_pending(uint8_t family);
const struct neigh_table *neigh_limit_table(uint8_t family);

// Parses one message of the answer: 0 if it is not for one of our tables. Also for the fuzzer and
// tests.
uint8_t neigh_limit_parse(const struct nlmsghdr *h, struct neigh_table *t); // enum ip_family

#endif
