// SPDX-License-Identifier: BSD-3-Clause
// router_queue.c - see router_queue.h
#include "lib/router_queue.h"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ring_elem.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/bench.h"
#include "table/port_queue.h"

#define RATE_BPS 400000000000ull
#define LIMIT_BYTES (1u << 24)
#define STRICT 2u
#define OVERHEAD 24u
#define FRAME_MAX 1542u

static struct queue_client_config client_config(unsigned vrs, unsigned flows)
{
    struct queue_client_config c = {
        .guarantee_bps = RATE_BPS / 100 * 90 / vrs, .weight = 1, .limit_bytes = LIMIT_BYTES};

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k] =
            (struct queue_class_config){.weight = k < STRICT ? 0 : 1,
                                        .discipline = flows ? QUEUE_FQ_CODEL : QUEUE_TAIL_DROP,
                                        .flows = (uint16_t)flows,
                                        .limit_bytes = LIMIT_BYTES,
                                        .target_us = 5000,
                                        .interval_us = 100000};
    return c;
}

static struct port_queue_settings *settings_new(unsigned vrs, unsigned packets_max, unsigned flows)
{
    struct port_queue_settings *s = calloc(1, sizeof *s);

    bench_check(s, "no memory for a queue's settings");
    s->rate_bps = RATE_BPS;
    s->packets_max = packets_max;
    s->overhead = OVERHEAD;
    for (unsigned d = 0; d < 64; d++)
        s->map.of_dscp[d] = (uint8_t)(d >> 3);
    s->n = vrs;
    for (unsigned i = 0; i < vrs; i++) {
        s->client[i] = client_config(vrs, flows);
        s->has_flows[i] = flows ? 0xff : 0;
    }
    return s;
}

static struct rte_ring *ring_new(unsigned owner)
{
    static unsigned serial;
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof name, "queue%u-%u", serial++, owner);
    return rte_ring_create_elem(name, sizeof(struct port_queue_element), PORT_QUEUE_RING_SIZE,
                                SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

// As the owner applies new settings at its first poll.
static void settings_apply(struct port_queue *q)
{
    const struct port_queue_settings *s = q->settings;

    for (unsigned i = 0; i < s->n; i++) {
        bench_check(!queue_configure(q->manager, (uint16_t)i, &s->client[i], rte_rdtsc()),
                    "a queue manager refuses its configuration");
        q->current[i] = s->client[i];
    }
    q->applied_bps = s->rate_bps;
    q->applied = q->settings->serial = 1;
}

struct port_queue *router_queue_new(unsigned vrs, unsigned packets_max, unsigned flows)
{
    struct port_queue *q = calloc(1, sizeof *q);

    bench_check(q, "no memory for a queue");
    q->settings = settings_new(vrs, packets_max, flows);
    q->manager = queue_make(&(struct queue_config){.ticks_hz = rte_get_tsc_hz(),
                                                   .rate_bps = RATE_BPS,
                                                   .clients = PORT_QUEUE_CLIENTS,
                                                   .packets_max = packets_max,
                                                   .frame_max = FRAME_MAX});
    q->current = calloc(PORT_QUEUE_CLIENTS, sizeof *q->current);
    q->full = calloc(PORT_QUEUE_CLIENTS, 1);
    bench_check(q->manager && q->current && q->full, "no memory for a queue manager");
    settings_apply(q);
    return q;
}

void router_queue_plan(struct plan *plan, struct port_queue *q, uint16_t port, unsigned owner,
                       unsigned self)
{
    plan->tx_owner[port] = PLAN_TX_QUEUE;
    plan->queue[port] = q;
    plan->queue_owner[port] = (uint8_t)owner;
    if (owner == self)
        plan->owned[plan->n_owned++] = (uint8_t)port;
    else if (!q->ring[self])
        bench_check((q->ring[self] = ring_new(self)), "no memory for the ring to a queue");
}
