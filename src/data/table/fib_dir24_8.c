// SPDX-License-Identifier: BSD-3-Clause
// fib_dir24_8.c - DPDK's librte_fib: DIR-24-8 for IPv4, its trie for IPv6
//
// Words have 4 bytes, because words of 2 hold only 32,767 next hops. DPDK picks the lookup function
// by CPU and max-simd-bitwidth. fib_dpdk.c describes the faults of DPDK 22.11 under readers and
// under churn, and our remedies.
#include <arpa/inet.h>
#include <rte_fib.h>
#include <rte_fib6.h> // addresses: bytes until DPDK 24.11, then a type of their own
#include <rte_memory.h>

#include "table/fib_dpdk.h"

static void *dir24_8_create4(const char *name, const struct fib_capacity *c)
{
    struct rte_fib_conf conf = {
        .type = RTE_FIB_DIR24_8,
        .max_routes = (int)c->routes,
        .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = c->tbl8},
    };

    return rte_fib_create(name, SOCKET_ID_ANY, &conf);
}

static void dir24_8_destroy4(void *table)
{
    rte_fib_free(table);
}

static int dir24_8_add4(void *table, const struct prefix *p, uint32_t nexthop)
{
    return rte_fib_add(table, ntohl(p->ip4), p->len, nexthop);
}

static int dir24_8_del4(void *table, const struct prefix *p)
{
    return rte_fib_delete(table, ntohl(p->ip4), p->len);
}

static void dir24_8_find4(void *table, const void *dst, uint32_t *nexthop, unsigned n)
{
    const ip4_t *addr = dst;
    uint32_t host[FIB_DPDK_BURST];
    uint64_t found[FIB_DPDK_BURST];

    for (unsigned i = 0; i < n; i++)
        host[i] = ntohl(addr[i]);
    rte_fib_lookup_bulk(table, host, found, (int)n);
    for (unsigned i = 0; i < n; i++)
        nexthop[i] = (uint32_t)found[i];
}

static void *dir24_8_create6(const char *name, const struct fib_capacity *c)
{
    struct rte_fib6_conf conf = {
        .type = RTE_FIB6_TRIE,
        .max_routes = (int)c->routes,
        .trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = c->tbl8},
    };

    return rte_fib6_create(name, SOCKET_ID_ANY, &conf);
}

static void dir24_8_destroy6(void *table)
{
    rte_fib6_free(table);
}

static int dir24_8_add6(void *table, const struct prefix *p, uint32_t nexthop)
{
    return rte_fib6_add(table, (const void *)p->b, p->len, nexthop);
}

static int dir24_8_del6(void *table, const struct prefix *p)
{
    return rte_fib6_delete(table, (const void *)p->b, p->len);
}

static void dir24_8_find6(void *table, const void *dst, uint32_t *nexthop, unsigned n)
{
    uint64_t found[FIB_DPDK_BURST];

    // DPDK's parameter lacks a const; the function does not write.
    rte_fib6_lookup_bulk(table, (void *)dst, found, (int)n);
    for (unsigned i = 0; i < n; i++)
        nexthop[i] = (uint32_t)found[i];
}

const struct fib_dpdk_kind fib_dir24_8_kind4 = {.create = dir24_8_create4,
                                                .destroy = dir24_8_destroy4,
                                                .add = dir24_8_add4,
                                                .del = dir24_8_del4,
                                                .find = dir24_8_find4,
                                                .any_change_moves = true,
                                                .route_bytes = 256};

const struct fib_dpdk_kind fib_dir24_8_kind6 = {.create = dir24_8_create6,
                                                .destroy = dir24_8_destroy6,
                                                .add = dir24_8_add6,
                                                .del = dir24_8_del6,
                                                .find = dir24_8_find6,
                                                .any_change_moves = true,
                                                .route_bytes = 256};
