// SPDX-License-Identifier: BSD-3-Clause
// port_memory.c - see port_memory.h
//
// A net_ring device lends its port id; its burst functions are replaced.
#include "lib/port_memory.h"

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>
#include <stdio.h>
#include <string.h>

#define LINES_AHEAD 128u

struct source source[SOURCE_PORTS][SOURCE_QUEUES];
struct sink sink[SOURCE_PORTS][SOURCE_QUEUES];
static void *rx_queue[SOURCE_PORTS][RTE_MAX_QUEUES_PER_PORT],
    *tx_queue[SOURCE_PORTS][RTE_MAX_QUEUES_PER_PORT];
static const uint8_t payload[2048];

// What has arrived since we looked last joins those that wait, or is lost.
static void arrive(struct source *s)
{
    double now = (double)rte_rdtsc();

    if (now < s->next)
        return;
    uint64_t n = (uint64_t)((now - s->next) / s->apart) + 1;
    uint32_t room = SOURCE_DEPTH - s->waiting, taken = n < room ? (uint32_t)n : room;
    for (uint32_t i = 0; i < taken; i++)
        s->arrived[(s->first + s->waiting + i) % SOURCE_DEPTH] = (uint64_t)(s->next + i * s->apart);
    s->waiting += taken;
    s->offered += n;
    s->lost += n - taken;
    s->next += (double)n * s->apart;
}

static void frame_write(struct source *s, struct rte_mbuf *m)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

    memcpy(frame, s->line[s->at], SOURCE_LINE);
    if (++s->at == s->n_lines)
        s->at = 0;
    uint32_t ahead = s->at + LINES_AHEAD;
    rte_prefetch0(s->line[ahead < s->n_lines ? ahead : 0]); // a NIC writes into the cache
    if (s->whole && s->bytes > SOURCE_LINE)
        memcpy(frame + SOURCE_LINE, payload, s->bytes - SOURCE_LINE);
    m->data_len = s->bytes;
    m->pkt_len = s->bytes;
    m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
}

static uint16_t source_rx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    struct source *s = queue;

    n = RTE_MIN(n, s->burst);
    if (s->ring)
        return (uint16_t)rte_ring_sc_dequeue_burst(s->ring, (void **)pkt, n, NULL);
    if (s->apart > 0) {
        arrive(s);
        n = (uint16_t)RTE_MIN(n, s->waiting);
    }
    if (!s->line || !n || rte_pktmbuf_alloc_bulk(s->pool, pkt, n))
        return 0;
    for (uint16_t i = 0; i < n; i++)
        frame_write(s, pkt[i]);
    if (s->apart > 0) {
        for (uint16_t i = 0; i < n; i++)
            memcpy(rte_pktmbuf_mtod_offset(pkt[i], void *, SOURCE_STAMP),
                   &s->arrived[(s->first + i) % SOURCE_DEPTH], 8);
        s->first = (s->first + n) % SOURCE_DEPTH;
        s->waiting -= n;
    }
    return n;
}

static void delays_add(struct sink *k, struct rte_mbuf **pkt, uint16_t n)
{
    uint64_t now = rte_rdtsc();

    for (uint16_t i = 0; i < n; i++) {
        uint64_t then;
        memcpy(&then, rte_pktmbuf_mtod_offset(pkt[i], void *, SOURCE_STAMP), 8);
        uint64_t delay = now - then;
        k->delay_sum += delay;
        k->delay_min = RTE_MIN(k->delay_min, delay);
        k->delay_max = RTE_MAX(k->delay_max, delay);
    }
    k->n_delays += n;
}

static void payload_read(struct sink *k, const struct rte_mbuf *m)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

    for (uint32_t at = SOURCE_LINE; at + 8 <= m->data_len; at += 8) {
        uint64_t word;
        memcpy(&word, frame + at, 8);
        k->read += word;
    }
}

static uint16_t sink_tx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    struct sink *k = queue;

    if (k->stamped)
        delays_add(k, pkt, n);
    if (k->whole)
        for (uint16_t i = 0; i < n; i++)
            payload_read(k, pkt[i]);
    rte_pktmbuf_free_bulk(pkt, n);
    k->sent += n;
    return n;
}

int source_port_new(unsigned index, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};
    char name[32];

    snprintf(name, sizeof name, "source%u", index);
    struct rte_ring *r = rte_ring_create(name, 64, SOCKET_ID_ANY, 0);
    int id = r ? rte_eth_from_rings(name, &r, 1, &r, 1, 0) : -1;
    if (id < 0 || rte_eth_dev_configure((uint16_t)id, 1, 1, &conf) ||
        rte_eth_rx_queue_setup((uint16_t)id, 0, 64, 0, NULL, pool) ||
        rte_eth_tx_queue_setup((uint16_t)id, 0, 64, 0, NULL) || rte_eth_dev_start((uint16_t)id))
        return -1;
    for (unsigned q = 0; q < SOURCE_QUEUES; q++) {
        source[index][q].pool = pool;
        rx_queue[index][q] = &source[index][q];
        tx_queue[index][q] = &sink[index][q];
    }
    struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];
    ops->rx_pkt_burst = source_rx;
    ops->tx_pkt_burst = sink_tx;
    ops->rxq.data = rx_queue[index];
    ops->txq.data = tx_queue[index];
    return id;
}

void source_start(struct source *s, double mpps)
{
    s->apart = mpps > 0 ? (double)rte_get_tsc_hz() / (mpps * 1e6) : 0;
    s->next = (double)rte_rdtsc();
    s->first = s->waiting = 0;
    s->offered = s->lost = 0;
}
