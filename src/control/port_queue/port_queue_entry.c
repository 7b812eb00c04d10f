// SPDX-License-Identifier: BSD-3-Clause
// port_queue_entry.c - what the files of queues know of each port with a queue
//
// Finds the entry of a port, the rate in force and the numbers of its clients. The rate is the
// configured one, but never more than 99.5 % of the link, so that packets wait in the queue and not
// in the device's ring, and never more than the device takes (port_queue_watch.c).
#include "port_queue/port_queue_entry.h"

#include <rte_common.h>
#include <stdio.h>
#include <string.h>

#include "port/port_state.h"
#include "table/exchange.h"
#include "table/vr.h"

#define RATE_UNKNOWN_BPS 10000000000ull // of a port whose speed is unknown

struct port_queues port_queues;

struct port_queue_entry *port_queue_find(const char *port)
{
    vec_foreach (&port_queues.entry, e)
        if (!strcmp((*e)->config.port, port))
            return *e;
    return NULL;
}

uint64_t port_queue_link_bps(const char *port)
{
    struct port_state s;

    return port_manager_state(port, &s) ? 0 : s.speed_mbps * 1000000ull;
}

uint64_t port_queue_rate(const struct port_queue_entry *e)
{
    uint64_t link = port_queue_link_bps(e->config.port), most = link / 1000 * PER_MILLE_OF_LINK;
    uint64_t rate = e->config.rate_bps;

    if (!rate || (link && rate > most))
        rate = link ? most : RATE_UNKNOWN_BPS;
    return e->lowered_bps && e->lowered_bps < rate ? e->lowered_bps : rate;
}

uint32_t port_queue_packets_max(const struct port_queue_config *c)
{
    uint32_t all = exchange_pool ? exchange_pool->size : 4096;

    return c->packets_max ? RTE_MIN(c->packets_max, all / 2) : all / 4;
}

// Place of a sub-interface among the port's clients. It stays reserved after the queue is removed,
// since packets may wait there, until another sub-interface needs it. -1: none is free.
static int vport_place(struct port_queue_entry *e, const char *name)
{
    int empty = -1;

    for (unsigned i = 0; i < e->vport.n; i++) {
        if (!strcmp(e->vport.item[i].name, name))
            return (int)i;
        if (!e->vport.item[i].wanted && empty < 0)
            empty = (int)i;
    }
    if (empty < 0 && e->vport.n == PORT_QUEUE_VPORTS_MAX)
        return -1;
    if (empty < 0) {
        empty = (int)e->vport.n;
        vec_push(&e->vport);
    }
    struct port_queue_vport *v = &e->vport.item[empty];
    memset(v, 0, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", name);
    return empty;
}

int port_queue_client_id(struct port_queue_entry *e, const struct port_queue_client *c)
{
    if (c->vport[0]) {
        int place = vport_place(e, c->vport);

        if (place >= 0)
            e->vport.item[place].wanted = true;
        return place < 0 ? -1 : VR_MAX + place;
    }
    const struct vr *v = vr_find(c->vr);
    return v ? v->id : -1;
}
