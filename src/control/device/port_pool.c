// SPDX-License-Identifier: BSD-3-Clause
// port_pool.c - packet buffers of ports
// Ports with buffers of the common size share exchange_pool while it has enough for all: with a
// single pool, drivers can free sent buffers without looking at them (MBUF_FAST_FREE). Other ports
// get a pool of their own, and from then on buffers are mixed (exchange_mixed).
#include "device/port_device.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <stdio.h>

#include "base/vec.h"
#include "table/exchange.h"

#define EXCHANGE_OWN 4095 // buffers of exchange_pool that no port may reserve

static unsigned n_reserved; // buffers of exchange_pool for ports
static VEC(struct rte_mempool *) free_when_full;
static unsigned serial; // for names that differ from waiting pools

uint64_t port_pool_bytes(unsigned n, uint16_t data_room)
{
    return (uint64_t)n *
           (sizeof(struct rte_mbuf) + sizeof(struct packet_meta) + data_room + PACKET_BEHIND +
            RTE_CACHE_LINE_SIZE);
}

// Frees pools whose buffers are all back; returns a waiting pool that can replace a new one.
static struct rte_mempool *reuse_or_free_pools(unsigned n, uint16_t data_room)
{
    struct rte_mempool *fit = NULL;

    for (size_t i = 0; i < free_when_full.n;) {
        struct rte_mempool *p = free_when_full.item[i];
        bool fits =
            !fit && p->size >= n && p->size / 2 <= n && rte_pktmbuf_data_room_size(p) == data_room;
        if (fits)
            fit = p;
        else if (rte_mempool_full(p))
            rte_mempool_free(p);
        else {
            i++;
            continue;
        }
        vec_del_swap(&free_when_full, i);
    }
    return fit;
}

struct rte_mempool *port_pool_get(unsigned n, uint16_t data_room, int socket, bool within_pages)
{
    char name[RTE_MEMPOOL_NAMESIZE];

    if (!within_pages && data_room == rte_pktmbuf_data_room_size(exchange_pool) &&
        n_reserved + n + EXCHANGE_OWN <= exchange_pool->size) {
        n_reserved += n;
        return exchange_pool;
    }
    exchange_mix();
    // A waiting pool may have buffers that cross pages.
    struct rte_mempool *p = reuse_or_free_pools(within_pages ? UINT32_MAX : n, data_room);
    if (p)
        return p;
    snprintf(name, sizeof name, "port-%u", serial++);
    p = packet_pool_new(name, n, EXCHANGE_CACHE, data_room, socket, within_pages);
    if (!p && socket != SOCKET_ID_ANY)
        p = packet_pool_new(name, n, EXCHANGE_CACHE, data_room, SOCKET_ID_ANY, within_pages);
    if (!p)
        errno = rte_errno ? rte_errno : ENOMEM;
    return p;
}

void port_pool_put(struct rte_mempool *pool, unsigned n)
{
    if (!pool)
        return;
    if (pool == exchange_pool)
        n_reserved -= n;
    else if (rte_mempool_full(pool))
        rte_mempool_free(pool);
    else
        *vec_push(&free_when_full) = pool;
}

// Buffers that are still out are in rings, which end with the process.
void port_pool_fini(void)
{
    reuse_or_free_pools(0, 0);
    vec_free(&free_when_full);
}
