// SPDX-License-Identifier: BSD-3-Clause
// neigh_limit.h - how many neighbors the kernel has room for
//
// One ARP table and one ND table serve all namespaces of a machine; each holds gc_thresh3 entries.
// When one is full, the kernel resolves no new neighbor, and evicts entries that nobody refreshes.
// We ask every few seconds (RTM_GETNEIGHTBL), and warn the operator when it gets tight. Hosts that
// are being resolved may fill half of a table, so that a scan leaves room for those that answer.
// All calls: rib_manager.
#ifndef RIB_NEIGH_LIMIT_H
#define RIB_NEIGH_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct nlmsghdr;

struct neigh_table {
    uint32_t entries, limit; // limit: gc_thresh3, 0 = not known
    uint64_t refused;        // entries that the kernel's full table refused, since start
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
