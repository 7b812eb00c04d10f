// SPDX-License-Identifier: BSD-3-Clause
// fake_queue.c - queues of ports that hold their settings, for unit tests of mgmt
//
// Each configured virtual router and sub-interface has sent a little in class 1 and dropped a
// little in class 6; so has the virtual router "default", configured or not.
#include "fake/fake_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fake/fake_call.h"
#include "fake/fake_managers.h"

#define QUEUES 8

static struct fake_queue {
    struct port_queue_config config;
    struct port_queue_client client[256];
} queues[QUEUES];
static unsigned n_queues;
uint64_t fake_queue_takes_bps;

static struct fake_queue *find(const char *port)
{
    for (unsigned i = 0; i < n_queues; i++)
        if (!strcmp(queues[i].config.port, port))
            return &queues[i];
    return NULL;
}

const struct port_queue_config *fake_queue(const char *port)
{
    return find(port) ? &find(port)->config : NULL;
}

const struct port_queue_client *fake_queue_client(const char *port, const char *name)
{
    const struct fake_queue *q = find(port);

    for (unsigned i = 0; q && i < q->config.n_clients; i++)
        if (!strcmp(q->client[i].vr, name) || !strcmp(q->client[i].vport, name))
            return &q->client[i];
    return NULL;
}

bool fake_queue_names(const char *name)
{
    for (unsigned i = 0; i < n_queues; i++)
        if (fake_queue_client(queues[i].config.port, name))
            return true;
    return false;
}

void fake_queue_reset(void)
{
    n_queues = 0;
    fake_queue_takes_bps = 0;
}

static uint32_t sum_of(const void *bytes, size_t n)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < n; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return sum;
}

static int compare_queues(const void *a, const void *b)
{
    return strcmp(((const struct fake_queue *)a)->config.port,
                  ((const struct fake_queue *)b)->config.port);
}

void fake_queue_state(struct text *t)
{
    qsort(queues, n_queues, sizeof *queues, compare_queues);
    for (unsigned i = 0; i < n_queues; i++) {
        const struct port_queue_config *c = &queues[i].config;

        text_printf(t, "queue %s rate=%lu core=%d packets=%u overhead=%u map=%x other=%x", c->port,
                    (unsigned long)c->rate_bps, c->core, c->packets_max, c->overhead,
                    sum_of(&c->map, sizeof c->map), sum_of(&c->other, sizeof c->other));
        for (unsigned k = 0; k < c->n_clients; k++)
            text_printf(t, " %s%s=%x", queues[i].client[k].vr, queues[i].client[k].vport,
                        sum_of(&queues[i].client[k], sizeof queues[i].client[k]));
        text_printf(t, "\n");
    }
}

static void config_judge(const struct port_queue_config *c)
{
    bug_on(!fake_has_port(c->port) || c->n_clients > 256);
    for (unsigned i = 0; i < c->n_clients; i++) {
        const struct port_queue_client *k = &c->client[i];

        bug_on(!k->vr[0] == !k->vport[0]);
        bug_on(k->vr[0] && !fake_has_vr(k->vr));
        bug_on(k->vport[0] && !fake_has_interface(k->vport));
        bug_on(queue_config_check(&k->config));
    }
}

int port_queue_manager_set(const struct port_queue_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-queue", c->port);
    struct fake_queue *q = find(c->port);

    config_judge(c);
    if (r)
        return r;
    bug_on(!q && n_queues == QUEUES);
    q = q ? q : &queues[n_queues++];
    memcpy(&q->config, c, sizeof *c);
    memcpy(q->client, c->client, c->n_clients * sizeof *c->client);
    q->config.client = q->client;
    return 0;
}

void port_queue_manager_remove(const char *port)
{
    struct fake_queue *q = find(port);

    text_printf(&fake_calls, "remove-queue %s\n", port); // cannot fail
    bug_on(!q);
    memcpy(q, &queues[--n_queues], sizeof *q);
    q->config.client = q->client;
}

void fake_queue_shape(const char *port, const char *vport)
{
    static const struct queue_class_config strict = {.rate_bps = 100000000, .limit_bytes = 100000},
                                           fair = {.weight = 20, .discipline = QUEUE_FQ_CODEL,
                                                   .ecn = true, .flows = 1024,
                                                   .target_us = 5000, .interval_us = 100000,
                                                   .limit_bytes = 100000};
    struct port_queue_client client[2] = {
        {.vr = "default", .config = {100000000, 500000000, 10, 1000000, 64, {}}}};
    struct port_queue_config c = {.rate_bps = 1000000000, .core = -1, .overhead = 24,
                                  .client = client, .n_clients = 2};
    char err[80];

    snprintf(c.port, sizeof c.port, "%s", port);
    snprintf(client[1].vport, sizeof client[1].vport, "%s", vport);
    client[1].config.weight = 1;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            client[i].config.class[k] = k < 2 ? strict : fair;
    c.other = client[1].config;
    bug_on(port_queue_manager_set(&c, err, sizeof err));
}

bool port_queue_manager_at(unsigned i, struct port_queue_state *s)
{
    if (i >= n_queues)
        return false;
    const struct port_queue_config *c = &queues[i].config;
    *s = (struct port_queue_state){.active = true,
                                   .configured_bps = c->rate_bps,
                                   .core = c->core < 0 ? 1 : c->core,
                                   .packets_max = c->packets_max ? c->packets_max : 16384,
                                   .waiting_packets = 7,
                                   .refused_port = 3,
                                   .refused_ring = 4,
                                   .device_refused = 5};
    memcpy(s->port, c->port, sizeof s->port);
    s->rate_bps = c->rate_bps ? c->rate_bps : 9950000000ull; // of the 10 Gb/s of every port
    s->lowered = fake_queue_takes_bps && fake_queue_takes_bps < s->rate_bps;
    if (s->lowered)
        s->rate_bps = fake_queue_takes_bps;
    return true;
}

static void fill(struct port_queue_client_state *s)
{
    s->rate_bps = 80000000;
    s->total = (struct queue_stats){.guaranteed_bytes = 9000, .waiting_packets = 7,
                                    .waiting_bytes = 7000};
    s->class[1] = (struct port_queue_class_state){
        .total = {.sent_packets = 1ull << 40, .sent_bytes = 1ull << 50},
        .rate_bps = 64000, .p50_ns = 4000, .p99_ns = 24000, .max_ns = 30000};
    s->class[6] = (struct port_queue_class_state){
        .total = {.sent_packets = 100, .sent_bytes = 100000, .marked = 6, .refused_class = 1,
                  .refused_client = 2, .refused_share = 3, .dropped_codel = 4, .dropped_old = 5,
                  .dropped_flow = 6, .waiting_packets = 7, .waiting_bytes = 7000},
        .rate_bps = 79936000, .p50_ns = 5000000, .p99_ns = 9000000, .max_ns = 12000000};
}

unsigned fake_queue_lacks;

bool port_queue_manager_guarantee(const char *port, unsigned i, char client[32], unsigned *lacks)
{
    const struct fake_queue *q = find(port);

    if (!q || i >= q->config.n_clients)
        return false;
    snprintf(client, 32, "%s", q->client[i].vport[0] ? q->client[i].vport : q->client[i].vr);
    *lacks = fake_queue_lacks;
    return true;
}

bool port_queue_manager_client(const char *port, unsigned i, struct port_queue_client_state *s)
{
    const struct fake_queue *q = find(port);

    memset(s, 0, sizeof *s);
    if (!q || i > q->config.n_clients || (i == q->config.n_clients &&
                                          fake_queue_client(port, "default")))
        return false;
    s->configured = i < q->config.n_clients;
    s->config = q->config.other;
    if (s->configured) {
        memcpy(s->vr, q->client[i].vr, sizeof s->vr);
        memcpy(s->vport, q->client[i].vport, sizeof s->vport);
        s->config = q->client[i].config;
    } else {
        snprintf(s->vr, sizeof s->vr, "default");
    }
    fill(s);
    return true;
}
