// SPDX-License-Identifier: BSD-3-Clause
// port_queue_watch.c - once a second: rates, waiting times, and devices that take too little
//
// A client is watched from its first packet on. Waiting times are read every ten seconds and
// counted from the earlier of the last two readings: they cover the last ten to twenty seconds.
//
// A device that takes less than C would make packets wait in its own ring, where no guarantee
// applies. If it refuses packets for REFUSING_MAX seconds in a row, C becomes the rate that it
// takes; if it refuses none for QUIET_S, C rises again by a tenth.
//
// A client misses part of its guarantee if it has packets waiting at every check and sends below
// its guarantee for SHORT_S. The usual cause is that the sending forwarder does not get its core.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "port_queue/port_queue_entry.h"
#include "table/vr.h"

#define WINDOW_S 10u
#define REFUSING_MAX 3u
#define QUIET_S 30u
#define LOWERED_PER_MILLE 995u
#define SHORT_S 5u

struct reading { // of a class
    uint64_t sent_bytes, rate_bps;
    uint32_t wait[2][QUEUE_WAIT_N]; // earlier and later reading
};

struct port_queue_watched {
    struct reading class[QUEUE_CLASSES];
    unsigned n_short;       // seconds in a row below the guarantee with packets waiting
    uint64_t short_bits;    // bits by which it missed its guarantee in these seconds
    uint64_t guarantee_bps; // its guarantee in these seconds
};

static unsigned seconds;

static void read_class(struct port_queue_entry *e, unsigned client, unsigned class)
{
    struct reading *r = &e->watched[client]->class[class];
    struct queue_class_stats now;

    queue_class_stats(e->queue->manager, (uint16_t)client, class, &now);
    r->rate_bps = (now.sent_bytes - r->sent_bytes) * 8;
    r->sent_bytes = now.sent_bytes;
    if (seconds % WINDOW_S == 0) {
        memcpy(r->wait[0], r->wait[1], sizeof r->wait[0]);
        memcpy(r->wait[1], now.wait, sizeof r->wait[1]);
    }
}

static bool has_sent(const struct port_queue_entry *e, unsigned client)
{
    struct queue_class_stats s;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        queue_class_stats(e->queue->manager, (uint16_t)client, k, &s);
        if (s.sent_packets || s.waiting_packets || s.refused_class || s.refused_client ||
            s.refused_share)
            return true;
    }
    return false;
}

// Reads all clients; returns the bits sent in the last second.
static uint64_t read_clients(struct port_queue_entry *e)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < VR_MAX + e->vport.n; i++) {
        if (i < VR_MAX && !vr_get((uint16_t)i)->used && !e->watched[i])
            continue;
        if (!e->watched[i] && has_sent(e, i))
            e->watched[i] = calloc(1, sizeof *e->watched[i]);
        for (unsigned k = 0; e->watched[i] && k < QUEUE_CLASSES; k++) {
            read_class(e, i, k);
            sum += e->watched[i]->class[k].rate_bps;
        }
    }
    return sum;
}

static void rate_follow(struct port_queue_entry *e, uint64_t sent_bps)
{
    uint64_t refused = __atomic_load_n(&e->queue->device_refused, __ATOMIC_RELAXED);
    uint64_t rate = port_queue_rate(e);
    bool refuses = refused != e->refused_before && sent_bps < rate / 100 * 98;

    e->refused_before = refused;
    e->n_refusing = refuses ? e->n_refusing + 1 : 0;
    e->n_quiet = refuses ? 0 : e->n_quiet + 1;
    if (e->n_refusing >= REFUSING_MAX && sent_bps) {
        e->lowered_bps = sent_bps / 1000 * LOWERED_PER_MILLE;
        e->n_refusing = 0;
        log_warning("port_queue_manager: device takes less than the rate of its queue: port=%s "
                    "rate=%llu lowered=%llu",
                    e->config.port, (unsigned long long)rate, (unsigned long long)e->lowered_bps);
    } else if (e->lowered_bps && e->n_quiet >= QUIET_S) {
        e->lowered_bps += e->lowered_bps / 10;
        e->n_quiet = 0;
        if (port_queue_rate(e) < e->lowered_bps)
            e->lowered_bps = 0;
    }
}

static void judge_guarantee(struct port_queue_entry *e, const struct port_queue_client *c)
{
    int client = port_queue_client_id(e, c);
    struct port_queue_watched *w = client < 0 ? NULL : e->watched[client];
    uint64_t rate = 0, guarantee = c->config.guarantee_bps;
    struct queue_stats now;

    if (!w)
        return;
    queue_stats(e->queue->manager, (uint16_t)client, &now);
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        rate += w->class[k].rate_bps;
    if (!now.waiting_packets || rate >= guarantee || guarantee != w->guarantee_bps) {
        w->n_short = 0;
        w->short_bits = 0;
    } else {
        w->n_short++;
        w->short_bits += guarantee - rate;
    }
    w->guarantee_bps = guarantee;
}

bool port_queue_manager_guarantee(const char *port, unsigned i, char client[32], unsigned *lacks)
{
    struct port_queue_entry *e = port_queue_find(port);

    if (!e || i >= e->client.n)
        return false;
    const struct port_queue_client *c = &e->client.item[i];
    int id = port_queue_client_id(e, c);
    const struct port_queue_watched *w = id < 0 ? NULL : e->watched[id];
    snprintf(client, 32, "%s", c->vport[0] ? c->vport : c->vr);
    *lacks = w && w->n_short >= SHORT_S
                 ? (unsigned)(100 * w->short_bits / (w->n_short * w->guarantee_bps))
                 : 0;
    return true;
}

void port_queue_watch_second(void)
{
    seconds++;
    vec_foreach (&port_queues.entry, e) {
        rate_follow(*e, read_clients(*e));
        vec_foreach (&(*e)->client, c)
            judge_guarantee(*e, c);
    }
}

// The q-quantile of the waits counted in `wait`, n in all.
static uint64_t wait_quantile(const uint32_t *wait, uint64_t n, double q)
{
    uint64_t rank = (uint64_t)((double)(n - 1) * q), seen = 0;

    for (unsigned i = 0; i < QUEUE_WAIT_N; i++) {
        seen += wait[i];
        if (seen > rank)
            return queue_wait_ns(i);
    }
    return queue_wait_ns(QUEUE_WAIT_N - 1);
}

bool port_queue_watched(const struct port_queue_entry *e, unsigned client, unsigned class,
                        struct port_queue_class_state *s)
{
    const struct port_queue_watched *w = e->watched[client];
    uint32_t wait[QUEUE_WAIT_N];
    uint64_t n = 0;

    if (!w)
        return false;
    for (unsigned i = 0; i < QUEUE_WAIT_N; i++) {
        wait[i] = s->total.wait[i] - w->class[class].wait[0][i];
        n += wait[i];
    }
    s->rate_bps = w->class[class].rate_bps;
    if (n) {
        s->p50_ns = wait_quantile(wait, n, 0.5);
        s->p99_ns = wait_quantile(wait, n, 0.99);
        s->max_ns = wait_quantile(wait, n, 1);
    }
    return true;
}

void port_queue_watch_restart(struct port_queue_entry *e)
{
    for (unsigned i = 0; i < PORT_QUEUE_CLIENTS; i++) {
        free(e->watched[i]);
        e->watched[i] = NULL;
    }
}
