// SPDX-License-Identifier: BSD-3-Clause
// router.h - a router in one process, with tables written as by its managers
//
// For the benchmarks and for the path tests (tests/path/harness.c). One thread plays all writers:
// router_role selects the present one.
#ifndef BENCH_LIB_ROUTER_H
#define BENCH_LIB_ROUTER_H

#include <stdint.h>

#include "core/thread.h"
#include "table/iface.h"

struct rte_mempool;
struct rte_ring;

void router_role(enum thread_role role);
// Creates all tables, empty except for the virtual router "default"; 0 or -errno. `packets`: of the
// exchange.
int router_tables_init(unsigned packets);
void router_tables_fini(void); // after rcu_barrier()

// Creates a DPDK port on rings, a pair per queue: returns its id, or -1.
int router_port_new(const char *name, struct rte_ring **rx, struct rte_ring **tx, uint16_t queues,
                    uint16_t descriptors, struct rte_mempool *pool);
// Creates an interface that is up, MTU 1500: of the port, or of its VLAN (inside an outer one); tag
// 0 = none. NULL: no room.
struct iface *router_iface_new(const char *name, uint16_t port, uint16_t outer, uint16_t vlan,
                               const uint8_t mac[6]);
// Creates a metalink: two ends, up, MTU 1500. 0, or -1: no room.
int router_metalink_new(unsigned index, const uint16_t vr[2], uint16_t end[2]);
// Creates a tunnel: its interface in virtual router `vr`, up, MTU 1400, and the next hop of its
// outer packets. Returns the interface id; 0: no room.
struct tunnel_settings;
uint16_t router_tunnel_new(const struct tunnel_settings *s, uint16_t vr, uint32_t nexthop);
// Creates a resolved next hop on this interface; 0: no room.
uint32_t router_adjacency_new(uint16_t iface, const uint8_t mac[6]);

#endif
