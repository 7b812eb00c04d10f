// SPDX-License-Identifier: BSD-3-Clause
// model_check.c - rules of the configuration that the schema cannot say
//
// They cross lists (a name that is a port and a vport), compare values of two
// entries, or would cost XPath a product of two lists. Each is n log n here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mgmt/config_tree.h"
#include "mgmt/model.h"

static void check_interfaces(const struct model *m, struct errors *e)
{
    vec_foreach (&m->interface, i) {
        if (model_find_port(m, i->name) || model_find_vport(m, i->name))
            continue;
        if (i->line)
            errors_add(e, i->line,
                       "interface %s: no such interface, expected the name of a port or vport",
                       i->name);
        else
            errors_add(e, 0,
                       "interface %s: 'set interface %s' still speaks of it: delete that first",
                       i->name, i->name);
    }
}

static int compare_vlan(const void *pa, const void *pb)
{
    const struct model_vport *a = *(const struct model_vport *const *)pa,
                             *b = *(const struct model_vport *const *)pb;
    int d = strcmp(a->port, b->port);

    return d ? d : a->tags.outer != b->tags.outer ? a->tags.outer - b->tags.outer : a->tags.vlan - b->tags.vlan;
}

// "vlan '7'", or "outer-vlan '100' vlan '7'".
static const char *vlan_words(const struct model_vport *v, char *buf, size_t n)
{
    if (v->tags.outer)
        snprintf(buf, n, "outer-vlan '%u' vlan '%u'", v->tags.outer, v->tags.vlan);
    else
        snprintf(buf, n, "vlan '%u'", v->tags.vlan);
    return buf;
}

static void check_unique_vlan(const struct model *m, struct errors *e)
{
    const struct model_vport **by = malloc((m->vport.n + 1) * sizeof *by);

    bug_on(!by);
    for (size_t i = 0; i < m->vport.n; i++)
        by[i] = &m->vport.item[i];
    qsort(by, m->vport.n, sizeof *by, compare_vlan);
    for (size_t i = 1; i < m->vport.n; i++) {
        // Blame the later line of the two.
        const struct model_vport *a = by[i - 1], *b = by[i];
        char words[48];

        if (compare_vlan(&a, &b))
            continue;
        if (a->line > b->line)
            a = by[i], b = by[i - 1];
        errors_add(
            e, b->line,
            "vport %s: port '%s' %s already belongs to vport %s, expected another VLAN",
            b->name, b->port, vlan_words(b, words, sizeof words), a->name);
    }
    free(by);
}

static void check_vports(const struct model *m, struct errors *e)
{
    vec_foreach (&m->vport, v) {
        const struct model_port *p = model_find_port(m, v->port);

        if (model_find_port(m, v->name))
            errors_add(e, v->line,
                       "vport %s: the name belongs to a port, expected another name (e.g. %s.%u)",
                       v->name, v->port, v->tags.vlan);
        if (v->has_tpid && !v->tags.outer)
            errors_add(e, v->line, "vport %s: 'tpid' is the type of an outer tag, expected an 'outer-vlan' as well", v->name);
        if (p && v->mtu > p->config.mtu)
            errors_add(e, v->line,
                       "vport %s: 'mtu' is '%u', expected at most %u, the mtu of port %s", v->name,
                       v->mtu, p->config.mtu, v->port);
    }
    check_unique_vlan(m, e);
}

// At most 64: compared in pairs.
static void check_unique_device(const struct model *m, struct errors *e)
{
    for (size_t i = 0; i < m->port.n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct model_port *a = &m->port.item[k], *b = &m->port.item[i];

            if (strcmp(a->config.devargs, b->config.devargs) ||
                strcmp(a->config.netns, b->config.netns))
                continue;
            if (a->line > b->line)
                a = &m->port.item[i], b = &m->port.item[k];
            errors_add(e, b->line,
                       "port %s: 'devargs' is '%s', which already belongs to port %s, expected "
                       "another device",
                       b->config.name, b->config.devargs, a->config.name);
        }
}

static void check_ports(const struct model *m, struct errors *e)
{
    static const uint8_t zero[6];

    vec_foreach (&m->port, p) {
        if (p->config.has_mac && (p->config.mac[0] & 1 || !memcmp(p->config.mac, zero, 6)))
            errors_add(e, p->line,
                       "port %s: 'mac' is a multicast or zero address, expected a unicast MAC "
                       "address such as 02:00:00:00:00:01",
                       p->config.name);
        if (!strcmp(p->config.name, ".") || !strcmp(p->config.name, ".."))
            errors_add(e, p->line,
                       "port %s: Linux has no interface of this name, expected another name",
                       p->config.name);
    }
    check_unique_device(m, e);
}

static int compare_backing(const struct model_vr *a, const char *netns, uint32_t table)
{
    return strcmp(a->netns, netns) || a->table != table;
}

// Two virtual routers of one kernel table would fight over its routes. At most 256: compared in
// pairs.
static void check_vrs(const struct model *m, struct errors *e)
{
    for (size_t i = 0; i < m->vr.n; i++) {
        const struct model_vr *v = &m->vr.item[i];

        if (!compare_backing(v, "", 254))
            errors_add(e, v->line,
                       "vr %s: expected a 'namespace' or a 'table' of its own: the main table of "
                       "kamueed's namespace belongs to '" VR_DEFAULT_NAME "'",
                       v->name);
        for (size_t j = 0; j < i; j++)
            if (!compare_backing(&m->vr.item[j], v->netns, v->table))
                errors_add(e, v->line,
                           "vr %s: expected another 'namespace' or 'table' than those of vr %s",
                           v->name, m->vr.item[j].name);
    }
}

static int compare_queue(const void *pa, const void *pb)
{
    const struct thread_assignment *a = *(const struct thread_assignment *const *)pa,
                                   *b = *(const struct thread_assignment *const *)pb;
    int d = strcmp(a->port, b->port);

    return d ? d : a->queue != b->queue ? a->queue - b->queue : a->core - b->core;
}

static void check_threads(const struct model *m, struct errors *e)
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
                       "thread %d: port '%s' rx-queue '%u' is not there, expected 0..%u: the port "
                       "has %u receive queues",
                       a->core, a->port, a->queue, p->config.rx_queues - 1, p->config.rx_queues);
    }
    free(by);
}

void model_check(const struct model *m, struct errors *e)
{
    check_ports(m, e);
    check_vports(m, e);
    check_vrs(m, e);
    check_interfaces(m, e);
    check_threads(m, e);
    model_check_mirrors(m, e);
    model_check_multicast(m, e);
}
