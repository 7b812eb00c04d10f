// SPDX-License-Identifier: BSD-3-Clause
// metrics_thread.c - threads: CPU, polls, cycles, bursts by size, what the stages cost
#include <rte_cycles.h>
#include <stddef.h>
#include <stdio.h>

#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "port/thread_manager.h"
#include "table/counter.h"

struct threads {
    struct thread_state item[THREAD_SLOT_MAX];
    unsigned n;
};

static uint64_t word(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED); // its thread goes on counting
}

static void write_role(struct metrics *m, const struct threads *t)
{
    metric_family(m, METRIC_COUNTER, "thread_cpu_seconds", "seconds", "CPU time of the thread.");
    for (unsigned i = 0; i < t->n; i++) {
        char core[12] = "any";

        if (t->item[i].core >= 0)
            snprintf(core, sizeof core, "%d", t->item[i].core);
        metric_real(m, (double)t->item[i].cpu_time_ns / 1e9, "thread", t->item[i].name, "role",
                    t->item[i].role, "core", core, NULL);
    }
}

// The words of forwarders' counter blocks that are one number each.
static void write_words(struct metrics *m, const struct threads *t)
{
#define FIELD(member, name, unit, help) {name, unit, help, offsetof(struct counter_block, member)}
    static const struct {
        const char *name, *unit, *help;
        size_t at;
    } field[] = {
        FIELD(rx, "thread_rx_packets", "packets",
              "Packets the forwarder took from receive queues."),
        FIELD(tx, "thread_tx_packets", "packets",
              "Packets the forwarder put into transmit queues."),
        FIELD(polls, "thread_polls", "polls", "Iterations of the poll loop."),
        FIELD(polls_idle, "thread_idle_polls", "polls",
              "Iterations of the poll loop that found no packets."),
        FIELD(busy_cycles, "thread_busy_cycles", "cycles",
              "TSC cycles spent in iterations that found packets."),
        FIELD(idle_cycles, "thread_idle_cycles", "cycles",
              "TSC cycles spent in iterations that found no packets."),
    };
#undef FIELD

    for (unsigned f = 0; f < sizeof field / sizeof *field; f++) {
        metric_family(m, METRIC_COUNTER, field[f].name, field[f].unit, field[f].help);
        for (unsigned i = 0; i < t->n; i++)
            if (t->item[i].forwarder >= 0)
                metric_u64(m,
                           word((const uint64_t *)((const char *)counter_of_slot(t->item[i].slot) +
                                                   field[f].at)),
                           "thread", t->item[i].name, NULL);
    }
}

static void write_bursts(struct metrics *m, const struct threads *t)
{
    static const char *const le[BURST_SIZE_N] = {"1", "3", "7", "15", "31", "63", "+Inf"};

    metric_family(m, METRIC_HISTOGRAM, "thread_burst_packets", "packets",
                  "Number of packets per burst.");
    for (unsigned i = 0; i < t->n; i++) {
        const struct counter_block *c = counter_of_slot(t->item[i].slot);
        uint64_t bursts = 0;

        if (t->item[i].forwarder < 0)
            continue;
        for (unsigned b = 0; b < BURST_SIZE_N; b++) {
            bursts += word(&c->burst_size[b]);
            metric_part(m, "_bucket", (double)bursts, "thread", t->item[i].name, "le", le[b], NULL);
        }
        metric_part(m, "_count", (double)bursts, "thread", t->item[i].name, NULL);
        metric_part(m, "_sum", (double)word(&c->rx), "thread", t->item[i].name, NULL);
    }
}

static void write_stages(struct metrics *m, const struct threads *t)
{
    static const struct {
        const char *name, *unit, *help;
        size_t at;
    } field[] = {
        {"stage_calls", "calls", "Sampled calls of the stage (one burst in 61).",
         offsetof(struct counter_stage, calls)},
        {"stage_packets", "packets", "Packets in sampled calls of the stage.",
         offsetof(struct counter_stage, packets)},
        {"stage_cycles", "cycles", "TSC cycles spent in sampled calls of the stage.",
         offsetof(struct counter_stage, cycles)},
    };

    for (unsigned f = 0; f < sizeof field / sizeof *field; f++) {
        metric_family(m, METRIC_COUNTER, field[f].name, field[f].unit, field[f].help);
        for (unsigned i = 0; i < t->n; i++) {
            if (t->item[i].forwarder < 0)
                continue;
            for (unsigned s = 0; s < STAGE_N; s++) {
                const struct counter_stage *c = &counter_of_slot(t->item[i].slot)->stage[s];
                metric_u64(m, word((const uint64_t *)((const char *)c + field[f].at)), "thread",
                           t->item[i].name, "stage", stage_name[s], NULL);
            }
        }
    }
}

void metrics_thread(struct metrics *m)
{
    struct threads t;

    t.n = thread_manager_list(t.item, THREAD_SLOT_MAX);
    write_role(m, &t);
    write_words(m, &t);
    write_bursts(m, &t);
    write_stages(m, &t);
    metric_family(m, METRIC_GAUGE, "tsc_hertz", "hertz", "TSC frequency.");
    metric_u64(m, rte_get_tsc_hz(), NULL);
}
