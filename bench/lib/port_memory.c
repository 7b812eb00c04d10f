// SPDX-License-Identifier: BSD-3-Clause
// port_memory.c - see port_memory.h
#include "lib/port_memory.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>
#include <stdio.h>
#include <string.h>

#include "lib/bench.h"
#include "lib/router.h"

#define LINES_AHEAD 128u

struct source source[SOURCE_PORTS][SOURCE_QUEUES];
struct sink sink[SOURCE_PORTS][SOURCE_QUEUES];
static void *rx_queue[SOURCE_PORTS][RTE_MAX_QUEUES_PER_PORT],
    *tx_queue[SOURCE_PORTS][RTE_MAX_QUEUES_PER_PORT];
static const uint8_t payload[2048];

// --- queues, an offered load, a clock ---

// New arrivals join the waiting packets, or are lost.
static void packets_arrive(struct source *s)
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
        packets_arrive(s);
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
    s->given += n;
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

// --- one table for all ports ---

struct port_lines port_lines;
uint64_t port_lines_sent;

static inline __attribute__((always_inline)) void lines_write(struct rte_mbuf **pkt, uint16_t n,
                                                              size_t stride)
{
    static uint32_t at; // next line
    const uint32_t last = port_lines.n_lines - 1;

    for (uint16_t i = 0; i < n; i++) {
        memcpy(rte_pktmbuf_mtod(pkt[i], void *), port_lines.line + (at++ & last) * stride, stride);
        pkt[i]->data_len = port_lines.bytes;
        pkt[i]->pkt_len = port_lines.bytes;
        pkt[i]->ol_flags = port_lines.ol_flags;
        for (size_t part = 0; part < stride; part += SOURCE_LINE)
            rte_prefetch0(port_lines.line + ((at + LINES_AHEAD) & last) * stride + part);
    }
}

static uint16_t lines_rx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    struct rte_mempool **pool = queue;

    if (rte_pktmbuf_alloc_bulk(*pool, pkt, n))
        return 0;
    if (port_lines.stride == SOURCE_LINE)
        lines_write(pkt, n, SOURCE_LINE);
    else
        lines_write(pkt, n, 2 * SOURCE_LINE);
    return n;
}

static uint16_t lines_tx(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    rte_pktmbuf_free_bulk(pkt, n);
    port_lines_sent += n;
    return n;
}

// --- ports ---

static uint16_t port_new(unsigned index, struct rte_mempool *pool, eth_rx_burst_t rx,
                         eth_tx_burst_t tx)
{
    char name[32];

    snprintf(name, sizeof name, "memory%u", index);
    struct rte_ring *r = rte_ring_create(name, 64, SOCKET_ID_ANY, 0);
    int id = r ? router_port_new(name, &r, &r, 1, 64, pool) : -1;
    bench_check(id >= 0, "DPDK makes no net_ring port");
    struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];
    ops->rx_pkt_burst = rx;
    ops->tx_pkt_burst = tx;
    ops->rxq.data = rx_queue[index];
    ops->txq.data = tx_queue[index];
    return (uint16_t)id;
}

uint16_t port_lines_new(unsigned index, struct rte_mempool *pool)
{
    static struct rte_mempool *pool_of[SOURCE_PORTS];

    pool_of[index] = pool;
    rx_queue[index][0] = &pool_of[index];
    return port_new(index, pool, lines_rx, lines_tx);
}

uint16_t source_port_new(unsigned index, struct rte_mempool *pool)
{
    for (unsigned q = 0; q < SOURCE_QUEUES; q++) {
        source[index][q].pool = pool;
        rx_queue[index][q] = &source[index][q];
        tx_queue[index][q] = &sink[index][q];
    }
    return port_new(index, pool, source_rx, sink_tx);
}

void source_start(struct source *s, double mpps)
{
    s->apart = mpps > 0 ? (double)rte_get_tsc_hz() / (mpps * 1e6) : 0;
    s->next = (double)rte_rdtsc();
    s->first = s->waiting = 0;
    s->offered = s->lost = 0;
}
