// SPDX-License-Identifier: BSD-3-Clause
// fib_lpm.c - DPDK's librte_lpm: rte_lpm for IPv4, rte_lpm6 for IPv6
//
// A next hop has 24 bits in rte_lpm and 21 in rte_lpm6, enough for any id. rte_lpm keeps its rules
// in one array for each prefix length and searches it at every change: loading a full Internet
// table takes minutes, during which rib_manager could do nothing else. So it is limited to
// MAX_ROUTES4. Its lookup of four addresses at once uses SSE; --force-max-simd-bitwidth=64 makes it
// look up one by one.
#define ALLOW_EXPERIMENTAL_API // rte_vect_get_max_simd_bitwidth
#include <arpa/inet.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla" // in one of its inline functions
#include <rte_lpm.h>
#pragma GCC diagnostic pop
#include <rte_lpm6.h> // void * for addresses: see fib_dir24_8.c
#include <rte_memory.h>
#include <rte_vect.h>

#include "table/fib_dpdk.h"
#include "table/limits.h"

#define MAX_ROUTES4 150000 // loads within seconds, for any prefix lengths

_Static_assert(NEXTHOP_MAX <= 1u << 21, "rte_lpm6 has room for any next-hop id");

static void *lpm_create4(const char *name, const struct fib_capacity *c)
{
    struct rte_lpm_config conf = {.max_rules = c->routes, .number_tbl8s = c->tbl8};

    return rte_lpm_create(name, SOCKET_ID_ANY, &conf);
}

static void lpm_destroy4(void *table)
{
    rte_lpm_free(table);
}

static int lpm_add4(void *table, const struct prefix *p, uint32_t nexthop)
{
    return rte_lpm_add(table, ntohl(p->ip4), p->len, nexthop);
}

static int lpm_del4(void *table, const struct prefix *p)
{
    return rte_lpm_delete(table, ntohl(p->ip4), p->len);
}

static void lpm_find4(void *table, const void *dst, uint32_t *nexthop, unsigned n)
{
    const ip4_t *addr = dst;
    unsigned i = 0, by_four = rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_128 ? n : 0;

    for (; i + 4 <= by_four; i += 4) {
        uint32_t host[4] __attribute__((aligned(16))) = {ntohl(addr[i]), ntohl(addr[i + 1]),
                                                         ntohl(addr[i + 2]), ntohl(addr[i + 3])};
        rte_lpm_lookupx4(table, *(const xmm_t *)host, nexthop + i, 0);
    }
    for (; i < n; i++)
        if (rte_lpm_lookup(table, ntohl(addr[i]), &nexthop[i]))
            nexthop[i] = 0;
}

static void *lpm_create6(const char *name, const struct fib_capacity *c)
{
    struct rte_lpm6_config conf = {.max_rules = c->routes, .number_tbl8s = c->tbl8};

    return rte_lpm6_create(name, SOCKET_ID_ANY, &conf);
}

static void lpm_destroy6(void *table)
{
    rte_lpm6_free(table);
}

static int lpm_add6(void *table, const struct prefix *p, uint32_t nexthop)
{
    return rte_lpm6_add(table, (const void *)p->b, p->len, nexthop);
}

static int lpm_del6(void *table, const struct prefix *p)
{
    return rte_lpm6_delete(table, (const void *)p->b, p->len);
}

static void lpm_find6(void *table, const void *dst, uint32_t *nexthop, unsigned n)
{
    int32_t found[FIB_DPDK_BURST];

    // DPDK's parameter lacks a const; the function does not write.
    rte_lpm6_lookup_bulk_func(table, (void *)dst, found, n);
    for (unsigned i = 0; i < n; i++)
        nexthop[i] = found[i] < 0 ? 0 : (uint32_t)found[i];
}

const struct fib_dpdk_kind fib_lpm_kind4 = {.create = lpm_create4,
                                            .destroy = lpm_destroy4,
                                            .add = lpm_add4,
                                            .del = lpm_del4,
                                            .find = lpm_find4,
                                            .max_routes = MAX_ROUTES4,
                                            .route_bytes = 8};

const struct fib_dpdk_kind fib_lpm_kind6 = {.create = lpm_create6,
                                            .destroy = lpm_destroy6,
                                            .add = lpm_add6,
                                            .del = lpm_del6,
                                            .find = lpm_find6,
                                            .route_bytes = 128};
