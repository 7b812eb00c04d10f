// SPDX-License-Identifier: BSD-3-Clause
// thread.c - threads: role, core, queues, work and cost
#include <rte_cycles.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mgmt/feature.h"
#include "port/port_manager.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/plan.h"
#include "table/port.h"
#include "thread/thread_manager.h"

static uint64_t load_counter(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED); // its thread keeps counting
}

static void write_counter(struct jwrite *j, const char *key, const uint64_t *word)
{
    jwrite_u64(j, key, load_counter(word));
}

static void write_thread_statistics(struct jwrite *j, const struct thread_state *t)
{
    const struct counter_block *c = counter_of_slot(t->slot);
    uint64_t drops = 0;

    for (int r = 1; r < DROP_N; r++)
        drops += __atomic_load_n(&c->drop[r], __ATOMIC_RELAXED);
    jwrite_begin(j, "statistics", '{');
    write_counter(j, "rx-packets", &c->rx);
    write_counter(j, "tx-packets", &c->tx);
    write_counter(j, "punt-packets", &c->punt);
    write_counter(j, "inject-packets", &c->inject);
    jwrite_u64(j, "drop-packets", drops);
    write_counter(j, "held-packets", &c->held);
    if (t->forwarder >= 0) {
        write_counter(j, "polls", &c->polls);
        write_counter(j, "polls-idle", &c->polls_idle);
        write_counter(j, "bursts", &c->bursts);
        write_counter(j, "busy-cycles", &c->busy_cycles);
        write_counter(j, "idle-cycles", &c->idle_cycles);
    }
    jwrite_end(j, '}');
}

// Bursts by size; each entry starts at `packets` and ends before the next one.
static void write_burst_sizes(struct jwrite *j, const struct counter_block *c)
{
    jwrite_begin(j, "burst-size", '[');
    for (unsigned i = 0; i < BURST_SIZE_N; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "packets", 1 << i);
        write_counter(j, "bursts", &c->burst_size[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_stage_states(struct jwrite *j, const struct counter_block *c)
{
    jwrite_begin(j, "stage", '[');
    for (unsigned i = 0; i < STAGE_N; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", stage_name[i]);
        write_counter(j, "calls", &c->stage[i].calls);
        write_counter(j, "packets", &c->stage[i].packets);
        write_counter(j, "cycles", &c->stage[i].cycles);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_depth(struct jwrite *j, const struct plan_rx_stats *stats)
{
    if (!__atomic_load_n(&stats->depth_samples, __ATOMIC_RELAXED))
        return;
    jwrite_int(j, "depth", __atomic_load_n(&stats->depth, __ATOMIC_RELAXED));
    jwrite_int(j, "depth-max", __atomic_load_n(&stats->depth_max, __ATOMIC_RELAXED));
}

static bool is_remote(const struct thread_state *t, uint16_t port)
{
    int socket = thread_manager_port_socket(port);

    return t->socket >= 0 && socket >= 0 && t->socket != socket;
}

static void write_queue_states(struct jwrite *j, const struct thread_state *t)
{
    jwrite_begin(j, "queue", '[');
    for (unsigned i = 0; t->plan && i < t->plan->n_rx; i++) {
        const struct plan_rx *rx = &t->plan->rx[i];
        const struct plan_rx_stats *stats =
            &forwarder_slot[t->forwarder].rx_stats[rx->port][rx->queue];

        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "port", port_get(rx->port)->name);
        jwrite_int(j, "queue", rx->queue);
        write_counter(j, "packets", &stats->packets);
        write_counter(j, "bytes", &stats->bytes);
        jwrite_bool(j, "remote", is_remote(t, rx->port));
        jwrite_string(
            j, "rx-mode",
            port_rx_mode_name(plan_wakes(t->plan, *rx) ? PORT_RX_INTERRUPT : PORT_RX_POLL));
        write_depth(j, stats);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static int show_thread(struct show *s)
{
    struct thread_state t[THREAD_SLOT_MAX];
    struct jwrite *j = &s->out;
    unsigned n = thread_manager_list(t, THREAD_SLOT_MAX);

    jwrite_begin(j, s->name, '[');
    for (unsigned i = 0; i < n; i++) {
        if (s->key[0] && strcmp(s->key[0], t[i].name))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", t[i].name);
        jwrite_string(j, "role", t[i].role);
        jwrite_int(j, "core", t[i].core);
        jwrite_int(j, "socket", t[i].socket);
        jwrite_u64(j, "cpu-time", t[i].cpu_time_ns);
        write_queue_states(j, &t[i]);
        write_thread_statistics(j, &t[i]);
        if (t[i].forwarder >= 0) {
            write_burst_sizes(j, counter_of_slot(t[i].slot));
            write_stage_states(j, counter_of_slot(t[i].slot));
        }
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}

// --- metrics -------------------------------------------------------------------------------------

struct threads {
    struct thread_state item[THREAD_SLOT_MAX];
    unsigned n;
};

static void write_cpu_family(struct metrics *m, const struct threads *t)
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

// Counter words of forwarders that are one number each.
static void write_counter_families(struct metrics *m, const struct threads *t)
{
#define FIELD(member, name, unit, help)                                                            \
    {                                                                                              \
        name, unit, help, offsetof(struct counter_block, member)                                   \
    }
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
                metric_u64(
                    m,
                    load_counter((const uint64_t *)((const char *)counter_of_slot(t->item[i].slot) +
                                                    field[f].at)),
                    "thread", t->item[i].name, NULL);
    }
}

static void write_burst_histogram(struct metrics *m, const struct threads *t)
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
            bursts += load_counter(&c->burst_size[b]);
            metric_part(m, "_bucket", (double)bursts, "thread", t->item[i].name, "le", le[b], NULL);
        }
        metric_part(m, "_count", (double)bursts, "thread", t->item[i].name, NULL);
        metric_part(m, "_sum", (double)load_counter(&c->rx), "thread", t->item[i].name, NULL);
    }
}

static void write_stage_families(struct metrics *m, const struct threads *t)
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
                metric_u64(m, load_counter((const uint64_t *)((const char *)c + field[f].at)),
                           "thread", t->item[i].name, "stage", stage_name[s], NULL);
            }
        }
    }
}

static void write_thread_metrics(struct metrics *m, const void *kept)
{
    struct threads t;

    t.n = thread_manager_list(t.item, THREAD_SLOT_MAX);
    write_cpu_family(m, &t);
    write_counter_families(m, &t);
    write_burst_histogram(m, &t);
    write_stage_families(m, &t);
    metric_family(m, METRIC_GAUGE, "tsc_hertz", "hertz", "TSC frequency.");
    metric_u64(m, rte_get_tsc_hz(), NULL);
}

extern const struct feature_config thread_config;
const struct feature thread_feature = {
    "thread",
    .config = &thread_config,
    .state = (const struct feature_state[]){{"thread", .write = show_thread}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_thread_metrics},
};
