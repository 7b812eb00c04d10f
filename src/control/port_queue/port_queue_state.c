// SPDX-License-Identifier: BSD-3-Clause
// port_queue_state.c - present state of the queues of ports, for readers of the state
//
// Clients are listed in the order of the configuration, then virtual routers that have sent through
// the port without being configured there. Counters come from the queue manager, rates and waiting
// times from port_queue_watch.c; the owner is looked up in the plans that forwarders have now.
#include <stdio.h>
#include <string.h>

#include "core/thread.h"
#include "port_queue/port_queue_entry.h"
#include "table/plan.h"
#include "table/vr.h"

static int owner_core(const struct port_queue *q)
{
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        const struct plan *plan = forwarder_slot[f].plan;

        for (unsigned i = 0; plan && i < plan->n_owned; i++)
            if (plan->queue[plan->owned[i]] == q)
                return forwarder_slot[f].cpu;
    }
    return -1;
}

bool port_queue_manager_at(unsigned i, struct port_queue_state *s)
{
    thread_must_be(ROLE_CONTROL);
    if (i >= port_queues.entry.n)
        return false;
    const struct port_queue_entry *e = port_queues.entry.item[i];
    const struct port_queue *q = e->queue;
    *s = (struct port_queue_state){
        .rate_bps = port_queue_rate(e),
        .configured_bps = e->config.rate_bps,
        .lowered = e->lowered_bps != 0,
        .core = owner_core(q),
        .packets_max = port_queue_packets_max(&e->config),
        .waiting_packets = queue_waiting(q->manager),
        .refused_port = queue_refused(q->manager),
        .device_refused = __atomic_load_n(&q->device_refused, __ATOMIC_RELAXED),
    };
    s->active = s->core >= 0;
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        s->refused_ring += __atomic_load_n(&q->refused_ring[f], __ATOMIC_RELAXED);
    snprintf(s->port, sizeof s->port, "%s", e->config.port);
    return true;
}

static void fill_client(struct port_queue_entry *e, unsigned client,
                        struct port_queue_client_state *s)
{
    queue_stats(e->queue->manager, (uint16_t)client, &s->total);
    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        queue_class_stats(e->queue->manager, (uint16_t)client, k, &s->class[k].total);
        port_queue_watched(e, client, k, &s->class[k]);
        s->rate_bps += s->class[k].rate_bps;
    }
}

// Returns the i-th virtual router that has sent through the port without being configured there, or
// -1.
static int other_client(struct port_queue_entry *e, unsigned i)
{
    bool configured[PORT_QUEUE_CLIENTS] = {false};

    for (unsigned k = 0; k < e->client.n; k++) {
        int client = port_queue_client_id(e, &e->client.item[k]);
        if (client >= 0)
            configured[client] = true;
    }
    for (unsigned vr = 0; vr < VR_MAX; vr++)
        if (e->watched[vr] && vr_get((uint16_t)vr)->used && !configured[vr] && !i--)
            return (int)vr;
    return -1;
}

bool port_queue_manager_client(const char *port, unsigned i, struct port_queue_client_state *s)
{
    struct port_queue_entry *e = port_queue_find(port);

    thread_must_be(ROLE_CONTROL);
    if (!e)
        return false;
    memset(s, 0, sizeof *s);
    if (i < e->client.n) {
        const struct port_queue_client *c = &e->client.item[i];
        int client = port_queue_client_id(e, c);

        memcpy(s->vr, c->vr, sizeof s->vr);
        memcpy(s->vport, c->vport, sizeof s->vport);
        s->configured = true;
        s->config = c->config;
        if (client >= 0)
            fill_client(e, (unsigned)client, s);
        return true;
    }
    int client = other_client(e, i - (unsigned)e->client.n);
    if (client < 0)
        return false;
    snprintf(s->vr, sizeof s->vr, "%s", vr_get((uint16_t)client)->name);
    s->config = e->config.other;
    fill_client(e, (unsigned)client, s);
    return true;
}
