// SPDX-License-Identifier: BSD-3-Clause
// neigh_limit.h - how many neighbors the kernel has room for
//
// One ARP table and one ND table serve all namespaces of a machine. From gc_thresh2 entries on the
// kernel evicts those that nobody refreshes, and beyond gc_thresh3 it resolves no new neighbor. It
// counts neither permanent entries nor externally learned ones, of which kamueed makes some for
// each interface (neigh_groups.c), and tells only how many there are with these. So what it did is
// looked at, not how many entries there are: we ask every few seconds (RTM_GETNEIGHTBL), and warn
// the operator when it refused or evicted. Hosts that are being resolved may fill half of a table,
// so that a scan leaves room for those that answer. All calls: rib_manager.
#ifndef RIB_NEIGH_LIMIT_H
#define RIB_NEIGH_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct nlmsghdr;

struct neigh_table {
    uint32_t entries;      // with those that the limits do not count
    uint32_t full, limit;  // gc_thresh2, gc_thresh3; limit 0: not known
    uint64_t refused;      // entries that the kernel's full table refused, since start
    uint64_t evictions;    // times that it made room because there were more than gc_thresh2
};

int neigh_limit_init(void); // without an answer the kernel's defaults are believed; 0 or -errno
void neigh_limit_fini(void);
void neigh_limit_tick(uint64_t now_ns); // asks, takes answers, tells the operator
void neigh_limit_refused(void);         // the kernel's table is full: an entry was refused
// Hosts that may be being resolved at a time; on one link half of them.
unsigned neigh_limit_pending(uint8_t family);
const struct neigh_table *neigh_limit_table(uint8_t family);

// One message of the answer: 0 when it is not a table of ours. For the fuzzer and tests, too.
uint8_t neigh_limit_parse(const struct nlmsghdr *h, struct neigh_table *t); // enum ip_family

#endif
