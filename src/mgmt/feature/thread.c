// SPDX-License-Identifier: BSD-3-Clause
// thread.c - threads: assignment of queues, role, core, work and cost
//
// Each forwarder counts in its own block, which goes on while it is read: every counter is right,
// but two of them may be some packets apart.
#include <ctype.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "core/thread.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "port/port_manager.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/plan.h"
#include "table/port.h"
#include "thread/thread_manager.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------
//
// While ports change, threads keep only the queues that stay: others leave before ports are
// removed, and new ones are added when their ports exist.-

static void read_queue(struct model_threads *t, int core, const struct lyd_node *port,
                       const struct lyd_node *queue)
{
    struct thread_assignment *a = vec_push(&t->queue);

    memset(a, 0, sizeof *a);
    a->core = core;
    leaf_copy(a->port, sizeof a->port, lyd_child(port), "name", "");
    a->queue = (uint16_t)strtoul(lyd_get_value(queue), NULL, 10);
    *vec_push(&t->line) = config_line_of(queue);
}

static void read_thread(struct model *m, void *part, const struct lyd_node *entry)
{
    int core = (int)leaf_number(lyd_child(entry), "core", 0);
    const struct lysc_node *forwarder = yang_child(entry->schema, "forwarder", true);

    leaf_foreach (leaf_inside(lyd_child(entry), entry->schema, forwarder->name), forwarder, "port",
                  port)
        leaf_foreach (lyd_child(port), port->schema, "rx-queue", queue)
            read_queue(part, core, port, queue);
}

// --- rules ---------------------------------------------------------------------------------------

static int compare_queue(const void *pa, const void *pb)
{
    const struct thread_assignment *a = *(const struct thread_assignment *const *)pa,
                                   *b = *(const struct thread_assignment *const *)pb;
    int d = strcmp(a->port, b->port);

    return d ? d : a->queue != b->queue ? a->queue - b->queue : a->core - b->core;
}

static void check_unique_queue(const struct model_threads *t, struct errors *e)
{
    const struct thread_assignment **by = model_sorted_in(&t->queue, compare_queue);

    for (size_t i = 1; i < t->queue.n; i++)
        if (!strcmp(by[i - 1]->port, by[i]->port) && by[i - 1]->queue == by[i]->queue)
            errors_add(e, t->line.item[by[i] - t->queue.item],
                       "thread %d: port '%s' rx-queue '%u' already belongs to thread %d, expected "
                       "a queue of its own",
                       by[i]->core, by[i]->port, by[i]->queue, by[i - 1]->core);
    free(by);
}

static void check_queue(const struct model *m, const struct thread_assignment *a, unsigned line,
                        struct errors *e)
{
    const struct model_port *p = model_find_port(m, a->port);

    if (p && p->config.lag.mode)
        errors_add(
            e, line,
            "thread %d: port '%s' is a LAG, which has no queues, expected one of its members",
            a->core, a->port);
    else if (p && p->config.rx_queues && a->queue >= p->config.rx_queues)
        errors_add(e, line,
                   "thread %d: port '%s' rx-queue '%u' does not exist, expected 0..%u: the port "
                   "has %u receive queues",
                   a->core, a->port, a->queue, p->config.rx_queues - 1, p->config.rx_queues);
}

static void check_threads(const struct model *m, struct errors *e)
{
    const struct model_threads *t = model_threads(m);

    check_unique_queue(t, e);
    for (size_t i = 0; i < t->queue.n; i++)
        check_queue(m, &t->queue.item[i], t->line.item[i], e);
}

// Whether a list of ranges such as "0-3,8" has the number.
static bool range_has(const char *ranges, long wanted)
{
    for (const char *p = ranges; isdigit((unsigned char)*p);) {
        char *end;
        long from = strtol(p, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;

        if (wanted >= from && wanted <= to)
            return true;
        p = end + (*end == ',');
    }
    return false;
}

static bool core_is_used(const struct model *m, int core)
{
    vec_foreach (&model_threads(m)->queue, a)
        if (a->core == core)
            return true;
    return false;
}

static void check_cores(const struct model *from, const struct model *to, struct errors *e)
{
    const struct model_threads *t = model_threads(to);
    char online[256];

    host_line("/sys/devices/system/cpu/online", online, sizeof online);
    for (size_t i = 0; *online && i < t->queue.n; i++) {
        int core = t->queue.item[i].core;

        if (i && t->queue.item[i - 1].core == core)
            continue;
        if (!core_is_used(from, core) && !range_has(online, core))
            errors_add(e, t->line.item[i],
                       "thread %d: core %d does not exist or is offline, expected one of %s", core,
                       core, online);
    }
}

// --- steps ---------------------------------------------------------------------------------------

static int run_threads(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_threads *t = to;

    return thread_manager_assign(t->queue.item, (unsigned)t->queue.n, err, n);
}

static bool same_queues(const struct model_threads *a, const struct model_threads *b)
{
    return a->queue.n == b->queue.n &&
           (!a->queue.n ||
            !memcmp(a->queue.item, b->queue.item, a->queue.n * sizeof *a->queue.item));
}

static bool has_queue(const struct model_threads *t, const struct thread_assignment *wanted)
{
    vec_foreach (&t->queue, a)
        if (!memcmp(a, wanted, sizeof *a))
            return true;
    return false;
}

// Queues that stay assigned while ports change: those before and after. An empty set would mean
// automatic assignment, so then nothing is taken away. Lives as long as the change.
static const struct model_threads *staying_queues(struct change *c)
{
    const struct model_threads *from = model_threads(c->from), *to = model_threads(c->to);
    struct model_threads *staying = calloc(1, sizeof *staying);

    bug_on(!staying);
    vec_foreach (&from->queue, a)
        if (has_queue(to, a))
            *vec_push(&staying->queue) = *a;
    *vec_push(&c->kept) = staying;
    if (!staying->queue.n)
        return from;
    *vec_push(&c->kept) = staying->queue.item;
    return staying;
}

static const struct step_kind threads_kind = {"thread", run_threads};

static void plan_remove(struct change *c)
{
    const struct model_threads *from = model_threads(c->from), *staying = staying_queues(c);

    if (!same_queues(from, staying))
        step_add(c, &threads_kind, "", from, staying, 0);
}

static void plan_add(struct change *c)
{
    const struct model_threads *staying = staying_queues(c), *to = model_threads(c->to);

    if (!same_queues(staying, to))
        step_add(c, &threads_kind, "", staying, to, to->line.n ? to->line.item[0] : 0);
}

// --- completion ----------------------------------------------------------------------------------

#define CORES_LOOKED_AT 1024

static void each_core(name_fn *fn, void *ctx)
{
    char word[12];

    for (int core = 0; core < CORES_LOOKED_AT; core++) {
        if (!thread_core_exists(core))
            continue;
        snprintf(word, sizeof word, "%d", core);
        fn(ctx, word, "");
    }
}

static const struct feature_config thread_config = {
    .part_size = sizeof(struct model_threads),
    .lists =
        (const struct feature_list[]){{.node = "thread", .read = read_thread},
                                      {.node = "thread", LIST_ROWS(struct model_threads, queue)},
                                      {.node = "thread", LIST_ROWS(struct model_threads, line)},
                                      {0}},
    .check = check_threads,
    .check_host = check_cores,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_THREADS, plan_remove},
                                             {PHASE_ADD_THREADS, plan_add},
                                             {0}},
    .names = (const struct feature_names[]){{"core", each_core}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column thread_columns[] = {
    COLUMN(struct thread_state, name, "name"),
    COLUMN(struct thread_state, role, "role"),
    COLUMN(struct thread_state, core, "core"),
    COLUMN(struct thread_state, socket, "socket"),
    COUNTER(struct thread_state, cpu_time_ns, "cpu-time", "seconds", "CPU time of the thread.",
            .family = "cpu_seconds", .per_unit = 1e9),
    {0}};
static const struct column traffic_columns[] = {
    COUNTER(struct counter_block, rx, "rx-packets", "packets",
            "Packets the forwarder took from receive queues."),
    COUNTER(struct counter_block, tx, "tx-packets", "packets",
            "Packets the forwarder put into transmit queues."),
    COLUMN(struct counter_block, punt, "punt-packets"),
    COLUMN(struct counter_block, inject, "inject-packets"),
    {0}};
static const struct column work_columns[] = { // of forwarders
    COUNTER(struct counter_block, polls, "polls", "polls", "Iterations of the poll loop."),
    COUNTER(struct counter_block, polls_idle, "polls-idle", "polls",
            "Iterations of the poll loop that found no packets.", .family = "idle_polls"),
    COLUMN(struct counter_block, bursts, "bursts"),
    COUNTER(struct counter_block, busy_cycles, "busy-cycles", "cycles",
            "TSC cycles spent in iterations that found packets."),
    COUNTER(struct counter_block, idle_cycles, "idle-cycles", "cycles",
            "TSC cycles spent in iterations that found no packets."),
    {0}};
static const struct column stage_columns[] = {
    COUNTER(struct counter_stage, calls, "calls", "calls",
            "Sampled calls of the stage (one burst in 61)."),
    COUNTER(struct counter_stage, packets, "packets", "packets",
            "Packets in sampled calls of the stage."),
    COUNTER(struct counter_stage, cycles, "cycles", "cycles",
            "TSC cycles spent in sampled calls of the stage."),
    {0}};
static const struct column queue_columns[] = {
    COLUMN(struct plan_rx_stats, packets, "packets"),
    COLUMN(struct plan_rx_stats, bytes, "bytes"),
    {0}};
static const struct column depth_columns[] = {
    COLUMN(struct plan_rx_stats, depth, "depth"),
    COLUMN(struct plan_rx_stats, depth_max, "depth-max"),
    {0}};

static uint64_t load_counter(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED); // its thread keeps counting
}

static void write_thread_statistics(struct jwrite *j, const struct thread_state *t)
{
    const struct counter_block *c = counter_of_slot(t->slot);
    uint64_t drops = 0;

    for (int r = 1; r < DROP_N; r++)
        drops += load_counter(&c->drop[r]);
    jwrite_begin(j, "statistics", '{');
    columns_write(j, traffic_columns, c);
    jwrite_u64(j, "drop-packets", drops);
    jwrite_u64(j, "held-packets", load_counter(&c->held));
    if (t->forwarder >= 0)
        columns_write(j, work_columns, c);
    jwrite_end(j, '}');
}

// Bursts by size; each entry starts at `packets` and ends before the next one.
static void write_burst_sizes(struct jwrite *j, const struct counter_block *c)
{
    jwrite_begin(j, "burst-size", '[');
    for (unsigned i = 0; i < BURST_SIZE_N; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "packets", 1 << i);
        jwrite_u64(j, "bursts", load_counter(&c->burst_size[i]));
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
        columns_write(j, stage_columns, &c->stage[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
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
        columns_write(j, queue_columns, stats);
        jwrite_bool(j, "remote", is_remote(t, rx->port));
        jwrite_string(
            j, "rx-mode",
            port_rx_mode_name(plan_wakes(t->plan, *rx) ? PORT_RX_INTERRUPT : PORT_RX_POLL));
        if (load_counter(&stats->depth_samples))
            columns_write(j, depth_columns, stats);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void list_threads(struct show *s)
{
    struct thread_state t[THREAD_SLOT_MAX];
    struct jwrite *j = &s->out;
    unsigned n = thread_manager_list(t, THREAD_SLOT_MAX);

    for (unsigned i = 0; i < n; i++) {
        if (!show_wants(s, t[i].name))
            continue;
        jwrite_begin(j, NULL, '{');
        columns_write(j, thread_columns, &t[i]);
        write_queue_states(j, &t[i]);
        write_thread_statistics(j, &t[i]);
        if (t[i].forwarder >= 0) {
            write_burst_sizes(j, counter_of_slot(t[i].slot));
            write_stage_states(j, counter_of_slot(t[i].slot));
        }
        jwrite_end(j, '}');
    }
}

// --- metrics -------------------------------------------------------------------------------------

struct threads {
    struct thread_state item[THREAD_SLOT_MAX];
    unsigned n;
};

static void write_cpu_family(struct metrics *m, const struct threads *t)
{
    const struct column *c = column_family(m, "thread", thread_columns);

    for (unsigned i = 0; i < t->n; i++) {
        char core[12] = "any";

        if (t->item[i].core >= 0)
            snprintf(core, sizeof core, "%d", t->item[i].core);
        column_metric(m, c, &t->item[i], "thread", t->item[i].name, "role", t->item[i].role,
                      "core", core, NULL);
    }
}

static void write_forwarder_families(struct metrics *m, const struct threads *t,
                                     const struct column *columns)
{
    for (const struct column *c = columns; (c = column_family(m, "thread", c)); c++)
        for (unsigned i = 0; i < t->n; i++)
            if (t->item[i].forwarder >= 0)
                column_metric(m, c, counter_of_slot(t->item[i].slot), "thread", t->item[i].name,
                              NULL);
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
    for (const struct column *c = stage_columns; (c = column_family(m, "stage", c)); c++)
        for (unsigned i = 0; i < t->n; i++)
            for (unsigned s = 0; t->item[i].forwarder >= 0 && s < STAGE_N; s++)
                column_metric(m, c, &counter_of_slot(t->item[i].slot)->stage[s], "thread",
                              t->item[i].name, "stage", stage_name[s], NULL);
}

static void write_thread_metrics(struct metrics *m, const void *kept)
{
    struct threads t;

    t.n = thread_manager_list(t.item, THREAD_SLOT_MAX);
    write_cpu_family(m, &t);
    write_forwarder_families(m, &t, traffic_columns);
    write_forwarder_families(m, &t, work_columns);
    write_burst_histogram(m, &t);
    write_stage_families(m, &t);
    metric_family(m, METRIC_GAUGE, "tsc_hertz", "hertz", "TSC frequency.");
    metric_u64(m, rte_get_tsc_hz(), NULL);
}

const struct feature thread_feature = {
    "thread",
    .config = &thread_config,
    .state = (const struct feature_state[]){{"thread", .list = list_threads}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_thread_metrics},
};
