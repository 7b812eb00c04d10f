// SPDX-License-Identifier: BSD-3-Clause
// fib_dpdk.h - interface of fib_dpdk.c to one of DPDK's lookup structures
//
// All four are alike: 2^24 words for the first 24 bits, then groups of 256 words ("tbl8") for each
// further eight bits; their number is fixed at creation. They never hold the default route.
#ifndef TABLE_FIB_DPDK_H
#define TABLE_FIB_DPDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

#define FIB_DPDK_BURST 64

struct fib_capacity {
    uint32_t routes, tbl8;
};

struct fib_dpdk_kind {
    void *(*create)(const char *name, const struct fib_capacity *c); // NULL with rte_errno
    void (*destroy)(void *table);
    int (*add)(void *table, const struct prefix *p, uint32_t nexthop); // insert or replace
    int (*del)(void *table, const struct prefix *p);
    // n <= FIB_DPDK_BURST addresses of the family; 0 = no route
    void (*find)(void *table, const void *dst, uint32_t *nexthop, unsigned n);
    bool any_change_moves; // insertions free groups too, and withdrawals take some
    uint32_t max_routes;  // further routes are refused with -E2BIG; 0 = no limit but memory
    unsigned route_bytes; // DPDK memory per route of capacity, besides the words
};

extern const struct fib_dpdk_kind fib_dir24_8_kind4, fib_dir24_8_kind6; // fib_dir24_8.c
extern const struct fib_dpdk_kind fib_lpm_kind4, fib_lpm_kind6;         // fib_lpm.c

#endif
