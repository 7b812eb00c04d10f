// SPDX-License-Identifier: BSD-3-Clause
// show_thread.c - threads: role, core, queues, what they did and what it cost
#include <string.h>

#include "port/port_manager.h"
#include "port/thread_manager.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/plan.h"
#include "table/port.h"

static void write_counter(struct jwrite *j, const char *key, const uint64_t *word)
{
    jwrite_u64(j, key, __atomic_load_n(word, __ATOMIC_RELAXED)); // its thread goes on counting
}

static void write_statistics(struct jwrite *j, const struct thread_state *t)
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

// Bursts by size; each entry begins at `packets` and ends before the next one.
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

static void write_stages(struct jwrite *j, const struct counter_block *c)
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

static void write_queues(struct jwrite *j, const struct thread_state *t)
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

int show_thread(struct show *s)
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
        write_queues(j, &t[i]);
        write_statistics(j, &t[i]);
        if (t[i].forwarder >= 0) {
            write_burst_sizes(j, counter_of_slot(t[i].slot));
            write_stages(j, counter_of_slot(t[i].slot));
        }
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}
