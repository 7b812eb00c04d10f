// SPDX-License-Identifier: BSD-3-Clause
// metrics_packet.c - where packets end: drops by reason, punt classes, ICMP errors, the ledger
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "table/counter.h"
#include "table/exchange.h"

#define LEDGER_TRIES 20 // as in show_ledger.c

static void write_drops(struct metrics *m)
{
    metric_family(m, METRIC_COUNTER, "drop_packets", "packets",
                  "Packets dropped, by reason ('kamuee show drops' explains each).");
    for (int r = DROP_NONE + 1; r < DROP_N; r++)
        metric_u64(m, counter_sum_drop((enum drop_reason)r), "reason", drop_info[r].name,
                   "severity", drop_info[r].severity, NULL);
}

static void write_punt(struct metrics *m)
{
    struct counter_punt sum[PUNT_CLASS_N];

    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        sum[c] = counter_sum_punt(c);
    metric_family(m, METRIC_COUNTER, "punt_passed_packets", "packets",
                  "Packets passed to the kernel for the control plane.");
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        metric_u64(m, sum[c].passed, "class", punt_class_name[c], NULL);
    metric_family(m, METRIC_COUNTER, "punt_policed_packets", "packets",
                  "Packets for the control plane dropped because they exceeded the rate limit.");
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        metric_u64(m, sum[c].policed, "class", punt_class_name[c], NULL);
    metric_family(
        m, METRIC_COUNTER, "punt_queue_full_packets", "packets",
        "Packets for the control plane dropped because the queue to the kernel was full.");
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        metric_u64(m, sum[c].full, "class", punt_class_name[c], NULL);
    metric_family(m, METRIC_GAUGE, "punt_queued_packets", "packets",
                  "Packets in the queue to the kernel.");
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        metric_u64(m, exchange_punt[c] ? rte_ring_count(exchange_punt[c]) : 0, "class",
                   punt_class_name[c], NULL);
}

static void write_icmp(struct metrics *m)
{
    struct counter_icmp c = counter_sum_icmp();

    metric_family(m, METRIC_COUNTER, "icmp_errors", "errors",
                  "ICMP errors the router generated: sent; suppressed by the rate limit (limited); "
                  "not allowed for such a packet (forbidden).");
    metric_u64(m, c.sent, "result", "sent", NULL);
    metric_u64(m, c.limited, "result", "limited", NULL);
    metric_u64(m, c.forbidden, "result", "forbidden", NULL);
}

static void write_ledger(struct metrics *m)
{
    struct ledger l;

    ledger_read(&l, LEDGER_TRIES);
    metric_family(
        m, METRIC_COUNTER, "ledger_packets", "packets",
        "Packets by where they came from and went: rx + inject = tx + punt + held + drops.");
    metric_u64(m, l.rx, "side", "rx", NULL);
    metric_u64(m, l.inject, "side", "inject", NULL);
    metric_u64(m, l.tx, "side", "tx", NULL);
    metric_u64(m, l.punt, "side", "punt", NULL);
    metric_u64(m, l.drops, "side", "drops", NULL);
    metric_family(m, METRIC_GAUGE, "held_packets", "packets",
                  "Packets now inside the router: in rings, hold queues and unsent bursts.");
    metric_u64(m, l.held, NULL);
    metric_family(m, METRIC_GAUGE, "ledger_imbalance_packets", "packets",
                  "Difference between the two sides of the ledger: 0 without traffic; under "
                  "traffic, packets between two counters.");
    metric_real(m, (double)l.imbalance, NULL);
}

void metrics_packet(struct metrics *m)
{
    write_drops(m);
    write_punt(m);
    write_icmp(m);
    write_ledger(m);
}
