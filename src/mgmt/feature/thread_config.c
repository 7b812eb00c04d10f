// SPDX-License-Identifier: BSD-3-Clause
// model_thread.c - which thread polls which queues in a configuration: read, and judged by what the
// schema cannot say
#include "model/model_thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model/model_leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static void read_thread_port(struct model *m, int core, const struct lyd_node *entry)
{
    const struct lysc_node *queue = yang_child(entry->schema, "rx-queue", true);
    struct lyd_nodes v = {0};

    config_children(lyd_child(entry), queue, &v);
    for (size_t i = 0; i < v.n; i++) {
        struct thread_assignment *a = vec_push(&m->thread);

        memset(a, 0, sizeof *a);
        a->core = core;
        leaf_copy(a->port, sizeof a->port, lyd_child(entry), "name", "");
        a->queue = (uint16_t)strtoul(lyd_get_value(v.item[i]), NULL, 10);
        *vec_push(&m->thread_line) = config_line_of(v.item[i]);
    }
    free(v.item);
}

void model_read_thread(struct model *m, const struct lyd_node *entry)
{
    int core = (int)leaf_number(lyd_child(entry), "core", 0);
    const struct lysc_node *forwarder = yang_child(entry->schema, "forwarder", true);
    const struct lyd_node *f = config_find(lyd_child(entry), forwarder, NULL);
    struct lyd_nodes v = {0};

    config_children(lyd_child(f), yang_child(forwarder, "port", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_thread_port(m, core, v.item[i]);
    free(v.item);
}

static int compare_queue(const void *pa, const void *pb)
{
    const struct thread_assignment *a = *(const struct thread_assignment *const *)pa,
                                   *b = *(const struct thread_assignment *const *)pb;
    int d = strcmp(a->port, b->port);

    return d ? d : a->queue != b->queue ? a->queue - b->queue : a->core - b->core;
}

void model_check_threads(const struct model *m, struct errors *e)
{
    const struct thread_assignment **by = malloc((m->thread.n + 1) * sizeof *by);

    bug_on(!by);
    for (size_t i = 0; i < m->thread.n; i++)
        by[i] = &m->thread.item[i];
    qsort(by, m->thread.n, sizeof *by, compare_queue);
    for (size_t i = 1; i < m->thread.n; i++)
        if (!strcmp(by[i - 1]->port, by[i]->port) && by[i - 1]->queue == by[i]->queue)
            errors_add(e, m->thread_line.item[by[i] - m->thread.item],
                       "thread %d: port '%s' rx-queue '%u' already belongs to thread %d, expected "
                       "a queue of its own",
                       by[i]->core, by[i]->port, by[i]->queue, by[i - 1]->core);
    for (size_t i = 0; i < m->thread.n; i++) {
        const struct thread_assignment *a = &m->thread.item[i];
        const struct model_port *p = model_find_port(m, a->port);

        if (p && p->config.rx_queues && a->queue >= p->config.rx_queues)
            errors_add(e, m->thread_line.item[i],
                       "thread %d: port '%s' rx-queue '%u' does not exist, expected 0..%u: the "
                       "port has %u receive queues",
                       a->core, a->port, a->queue, p->config.rx_queues - 1, p->config.rx_queues);
    }
    free(by);
}
