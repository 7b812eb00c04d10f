// SPDX-License-Identifier: BSD-3-Clause
// port_pool.h - packet buffers of ports
//
// Most ports share exchange_pool. Buffers of a closed port may still be in rings, hold queues or
// other ports' transmit queues: its own pool waits until all are back, and meanwhile serves a later
// port of the same shape. port_device.c's helper; control role.
#ifndef PORT_PORT_POOL_H
#define PORT_PORT_POOL_H

#include <rte_mempool.h>
#include <stdbool.h>
#include <stdint.h>

// n buffers with `data_room` bytes (headroom included), preferably on memory node `socket`.
// `within_pages`: no buffer crosses a page, because the driver shows them to the kernel
// (net_af_xdp). NULL with errno.
struct rte_mempool *port_pool_get(unsigned n, uint16_t data_room, int socket, bool within_pages);
void port_pool_put(struct rte_mempool *pool, unsigned n); // n of port_pool_get; NULL does nothing
uint64_t port_pool_bytes(unsigned n, uint16_t data_room); // memory such a pool takes
void port_pool_fini(void);                                // all ports are closed

#endif
