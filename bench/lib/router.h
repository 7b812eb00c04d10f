// SPDX-License-Identifier: BSD-3-Clause
// router.h - a router in one process: its tables, written as its managers write them
//
// For the benchmarks and for the path tests (tests/path/harness.c). One thread plays all writers:
// router_role says which one it is for the moment.
#ifndef BENCH_LIB_ROUTER_H
#define BENCH_LIB_ROUTER_H

#include <stdint.h>

#include "core/thread.h"
#include "table/iface.h"

struct rte_mempool;
struct rte_ring;

void router_role(enum thread_role role);
// All tables, empty but for the virtual router "default"; 0 or -errno. `packets`: of the exchange.
int router_tables_init(unsigned packets);
void router_tables_fini(void); // after rcu_barrier()

// A DPDK port on rings, a pair for each queue: its id, or -1.
int router_port_new(const char *name, struct rte_ring **rx, struct rte_ring **tx, uint16_t queues,
                    uint16_t descriptors, struct rte_mempool *pool);
// An interface that is up, MTU 1500: of the port, or of its VLAN (behind an outer one); NULL: no
// room. 0: no tag.
struct iface *router_iface_new(const char *name, uint16_t port, uint16_t outer, uint16_t vlan,
                               const uint8_t mac[6]);
// A metalink: its two ends, up, MTU 1500. 0, or -1: no room.
int router_metalink_new(unsigned index, const uint16_t vr[2], uint16_t end[2]);
// A tunnel: its interface in virtual router `vr`, up, MTU 1400, and its outer packets' next hop.
// The interface's id; 0: no room.
struct tunnel_settings;
uint16_t router_tunnel_new(const struct tunnel_settings *s, uint16_t vr, uint32_t nexthop);
// A next hop on this interface whose MAC is known; 0: no room.
uint32_t router_adjacency_new(uint16_t iface, const uint8_t mac[6]);

#endif
