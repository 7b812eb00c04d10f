// SPDX-License-Identifier: BSD-3-Clause
// measure.c - measurements on a timed burst: cycles of each stage, depth of its queue, latency
//
// If configured, one timed burst in so many is also measured from its receive queue to the transmit
// queues (table/latency.h).
//
// f->lap is the time at which the previous stage ended; each stage adds the difference and moves it
// on. A burst chosen for latency keeps its start; the flush records its age for each port, with the
// number of packets sent there.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "forwarder/stages.h"
#include "forwarder/tx.h"
#include "table/latency.h"
#include "forwarder/forbidden.h"

__attribute__((cold)) void measure_stage(struct forwarder *f, enum stage stage, unsigned n)
{
    struct counter_stage *c = &f->counter->stage[stage];
    uint64_t now = rte_rdtsc();

    c->calls++;
    c->packets += n;
    c->cycles += now - f->lap;
    f->lap = now;
}

// Samples the number of packets in the queue: the burst plus the remaining packets.
static void sample_depth(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];
    int rest = rte_eth_rx_queue_count(q->port, q->queue); // negative: not supported by the driver

    if (rest < 0)
        return;
    stats->depth = n + (unsigned)rest;
    stats->depth_max = RTE_MAX(stats->depth_max, stats->depth);
    stats->depth_samples++;
}

// Sets f->taken if this timed burst's latency is to be measured.
static void choose_for_latency(struct forwarder *f, uint16_t port)
{
    uint32_t every = __atomic_load_n(&latency_every, __ATOMIC_ACQUIRE); // partner: latency_start

    f->taken = 0;
    if (!every)
        return;
    f->until_latency = RTE_MIN(f->until_latency, every - 1); // `every` may have been larger
    if (f->until_latency--)
        return;
    f->until_latency = every - 1;
    f->taken = f->lap;
    f->taken_from = port;
}

__attribute__((cold)) void measure_start(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    choose_for_latency(f, q->port);
    measure_stage(f, STAGE_RX, n);
    sample_depth(f, q, n);
    f->lap = rte_rdtsc();
}

__attribute__((cold)) void measure_tx_flush(struct forwarder *f, unsigned n)
{
    uint64_t ports = f->tx_ports;
    uint16_t sent[PORT_MAX];

    for (uint64_t p = ports; p; p &= p - 1)
        sent[__builtin_ctzll(p)] = (uint16_t)tx_word_n(f->tx_word[__builtin_ctzll(p)]);
    tx_flush(f);
    measure_stage(f, STAGE_TX, n);
    for (uint64_t p = f->taken ? ports : 0; p; p &= p - 1)
        if (sent[__builtin_ctzll(p)])
            latency_add(f->index, f->taken_from, (uint16_t)__builtin_ctzll(p), f->lap - f->taken,
                        sent[__builtin_ctzll(p)]);
}
