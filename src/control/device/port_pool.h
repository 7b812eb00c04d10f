// SPDX-License-Identifier: BSD-3-Clause
// port_pool.h - packet buffers of ports
//
// Most ports share exchange_pool. Buffers of a closed port may still be in rings, hold queues or
// transmit queues of other ports. So a port's own pool waits until all its buffers are back, and
// meanwhile can serve a later port with the same shape of buffers. Used by port_device.c; control
// role.
#ifndef DEVICE_PORT_POOL_H
#define DEVICE_PORT_POOL_H

#include <rte_mempool.h>
#include <stdbool.h>
#include <stdint.h>

// Returns a pool of n buffers with `data_room` bytes (headroom included), preferably on memory node
// `socket`. `within_pages`: no buffer crosses a page, because the driver shares the buffers with
// the kernel (net_af_xdp). NULL with errno on failure.
struct rte_mempool *port_pool_get(unsigned n, uint16_t data_room, int socket, bool within_pages);
void port_pool_put(struct rte_mempool *pool, unsigned n); // n as in port_pool_get; or NULL
uint64_t port_pool_bytes(unsigned n, uint16_t data_room); // memory that such a pool takes
void port_pool_fini(void);                                // all ports must be closed

#endif
