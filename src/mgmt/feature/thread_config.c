// SPDX-License-Identifier: BSD-3-Clause
// thread_config.c - configured assignment of queues to threads
//
// While ports change, threads keep only the queues that stay: others leave before ports are
// removed, and new ones are added when their ports exist.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "core/thread.h"
#include "model/model.h"
#include "thread/thread_manager.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- reading -------------------------------------------------------------------------------------

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

const struct feature_config thread_config = {
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
