// SPDX-License-Identifier: BSD-3-Clause
// port.c - see port.h
#include "forward/port.h"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST_AHEAD 128 // lines

struct replay replay;
uint64_t replay_sent;

static struct rte_mempool *pool_of[64];
static void *queue_of[64][RTE_MAX_QUEUES_PER_PORT];
static uint32_t at; // next line

static uint16_t replay_rx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    struct rte_mempool **pool = queue;

    if (rte_pktmbuf_alloc_bulk(*pool, pkt, n))
        return 0;
    for (uint16_t i = 0; i < n; i++) {
        memcpy(rte_pktmbuf_mtod(pkt[i], void *), replay.line[at++ & (replay.n_lines - 1)],
               REPLAY_LINE);
        pkt[i]->data_len = replay.bytes;
        pkt[i]->pkt_len = replay.bytes;
        pkt[i]->ol_flags = replay.ol_flags;
        rte_prefetch0(
            replay.line[(at + BURST_AHEAD) & (replay.n_lines - 1)]); // a NIC writes into the cache
    }
    return n;
}

static uint16_t replay_tx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    rte_pktmbuf_free_bulk(pkt, n);
    replay_sent += n;
    return n;
}

uint16_t replay_port_new(unsigned index, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};
    char name[32];

    snprintf(name, sizeof name, "replay%u", index);
    struct rte_ring *r = rte_ring_create(name, 64, SOCKET_ID_ANY, 0);
    int id = r ? rte_eth_from_rings(name, &r, 1, &r, 1, 0) : -1;
    if (id < 0 || rte_eth_dev_configure((uint16_t)id, 1, 1, &conf) ||
        rte_eth_rx_queue_setup((uint16_t)id, 0, 64, 0, NULL, pool) ||
        rte_eth_tx_queue_setup((uint16_t)id, 0, 64, 0, NULL) || rte_eth_dev_start((uint16_t)id)) {
        fprintf(stderr, "forward_bench: cannot create a net_ring port\n");
        exit(1);
    }
    pool_of[id] = pool;
    queue_of[id][0] = &pool_of[id];
    struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];
    ops->rx_pkt_burst = replay_rx;
    ops->tx_pkt_burst = replay_tx;
    ops->rxq.data = queue_of[id];
    ops->txq.data = queue_of[id];
    return (uint16_t)id;
}
