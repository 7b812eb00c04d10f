// SPDX-License-Identifier: BSD-3-Clause
// queue.c - port queues: sent, waiting and dropped packets
#include "feature/queue.h"

#include <stdio.h>
#include <string.h>

#include "config/feature_config.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"

static const struct {
    const char *reason; // leaf of the state, label of the metric
    size_t at;
} drops[] = {
    {"class-full", offsetof(struct queue_class_stats, refused_class)},
    {"client-full", offsetof(struct queue_class_stats, refused_client)},
    {"share-full", offsetof(struct queue_class_stats, refused_share)},
    {"codel", offsetof(struct queue_class_stats, dropped_codel)},
    {"old", offsetof(struct queue_class_stats, dropped_old)},
    {"flow", offsetof(struct queue_class_stats, dropped_flow)},
};
#define DROPS (sizeof drops / sizeof *drops)

// Waiting times are measured up to a bound; longer ones count as the bound.
static uint64_t told_ns(uint64_t ns)
{
    uint64_t most = queue_wait_ns(QUEUE_WAIT_N - 2);

    return ns < most ? ns : most;
}

// --- state ---------------------------------------------------------------------------------------

static void write_class_config(struct jwrite *j, const struct queue_class_config *c)
{
    static const char *const discipline[] = {
        [QUEUE_TAIL_DROP] = "tail-drop", [QUEUE_CODEL] = "codel", [QUEUE_FQ_CODEL] = "fq-codel"};

    if (c->weight)
        jwrite_int(j, "weight", c->weight);
    else if (c->rate_bps)
        jwrite_u64(j, "strict-rate", c->rate_bps);
    jwrite_string(j, "discipline", discipline[c->discipline % 3u]);
    jwrite_bool(j, "ecn", c->ecn);
    jwrite_int(j, "limit", c->limit_bytes);
}

static void write_class(struct jwrite *j, unsigned class, const struct queue_class_config *c,
                        const struct port_queue_class_state *s)
{
    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "class", class);
    write_class_config(j, c);
    jwrite_u64(j, "rate", s->rate_bps);
    jwrite_u64(j, "sent-packets", s->total.sent_packets);
    jwrite_u64(j, "sent-bytes", s->total.sent_bytes);
    jwrite_u64(j, "marked-packets", s->total.marked);
    jwrite_u64(j, "waiting-packets", s->total.waiting_packets);
    jwrite_u64(j, "waiting-bytes", s->total.waiting_bytes);
    if (s->max_ns) {
        jwrite_u64(j, "delay-p50", told_ns(s->p50_ns));
        jwrite_u64(j, "delay-p99", told_ns(s->p99_ns));
        jwrite_u64(j, "delay-max", told_ns(s->max_ns));
    }
    jwrite_begin(j, "dropped", '{');
    for (size_t i = 0; i < DROPS; i++)
        jwrite_u64(j, drops[i].reason, metric_field(&s->total, drops[i].at));
    jwrite_end(j, '}');
    jwrite_end(j, '}');
}

static void write_client(struct jwrite *j, const struct port_queue_client_state *s)
{
    const struct queue_client_config *c = &s->config;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", s->vr[0] ? s->vr : s->vport);
    jwrite_bool(j, "configured", s->configured);
    if (c->guarantee_bps)
        jwrite_u64(j, "guarantee", c->guarantee_bps);
    if (c->maximum_bps)
        jwrite_u64(j, "maximum", c->maximum_bps);
    jwrite_int(j, "weight", c->weight);
    jwrite_int(j, "limit", c->limit_bytes);
    jwrite_int(j, "reserve", c->reserve_packets);
    jwrite_u64(j, "rate", s->rate_bps);
    jwrite_u64(j, "guaranteed-bytes", s->total.guaranteed_bytes);
    jwrite_u64(j, "waiting-packets", s->total.waiting_packets);
    jwrite_u64(j, "waiting-bytes", s->total.waiting_bytes);
    jwrite_begin(j, "class", '[');
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        write_class(j, k, &c->class[k], &s->class[k]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void write_clients(struct jwrite *j, const char *list, const char *port, bool vports)
{
    struct port_queue_client_state s;

    jwrite_begin(j, list, '[');
    for (unsigned i = 0; port_queue_manager_client(port, i, &s); i++)
        if (!s.vport[0] == !vports)
            write_client(j, &s);
    jwrite_end(j, ']');
}

static void write_queue(struct jwrite *j, const struct port_queue_state *s)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "port", s->port);
    jwrite_bool(j, "active", s->active);
    jwrite_u64(j, "rate", s->rate_bps);
    if (s->configured_bps)
        jwrite_u64(j, "configured-rate", s->configured_bps);
    jwrite_bool(j, "lowered", s->lowered);
    jwrite_int(j, "core", s->core);
    jwrite_int(j, "packets", s->packets_max);
    jwrite_int(j, "waiting-packets", s->waiting_packets);
    jwrite_u64(j, "dropped-port", s->refused_port);
    jwrite_u64(j, "dropped-ring", s->refused_ring);
    jwrite_u64(j, "device-refused", s->device_refused);
    write_clients(j, "vr", s->port, false);
    write_clients(j, "vport", s->port, true);
    jwrite_end(j, '}');
}

static int show_queue(struct show *s)
{
    struct port_queue_state q;

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; port_queue_manager_at(i, &q); i++)
        if (!s->key[0] || !strcmp(s->key[0], q.port))
            write_queue(&s->out, &q);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}

// --- metrics -------------------------------------------------------------------------------------

struct row { // a client
    char port[16];
    struct port_queue_client_state s;
};

struct rows {
    VEC(struct port_queue_state) port;
    VEC(struct row) client;
};

static void rows_read(struct rows *r)
{
    struct port_queue_state q;

    for (unsigned i = 0; port_queue_manager_at(i, &q); i++) {
        struct port_queue_client_state s;

        *vec_push(&r->port) = q;
        for (unsigned k = 0; port_queue_manager_client(q.port, k, &s); k++) {
            struct row *row = vec_push(&r->client);

            memcpy(row->port, q.port, sizeof row->port);
            row->s = s;
        }
    }
}

static void rows_free(struct rows *r)
{
    vec_free(&r->port);
    vec_free(&r->client);
}

// Most classes of a client are unused, and their series would be 0.
static bool is_used(const struct queue_class_stats *t)
{
    for (size_t i = 0; i < DROPS; i++)
        if (metric_field(t, drops[i].at))
            return true;
    return t->sent_packets || t->waiting_packets;
}

static void write_port_families(struct metrics *m, const struct rows *r)
{
    metric_family(m, METRIC_GAUGE, "queue_rate_bytes_per_second", "",
                  "Rate of the port's queue in force, in bytes per second (bit rate / 8).");
    vec_foreach (&r->port, q)
        metric_real(m, (double)q->rate_bps / 8, "port", q->port, NULL);
    metric_family(m, METRIC_GAUGE, "queue_configured_rate_bytes_per_second", "",
                  "Rate of the port's queue as configured; more than the rate in force if the "
                  "device takes less.");
    vec_foreach (&r->port, q)
        if (q->configured_bps)
            metric_real(m, (double)q->configured_bps / 8, "port", q->port, NULL);
    metric_family(m, METRIC_GAUGE, "queue_lowered", "",
                  "1: the device takes less than the queue's rate, which was lowered.");
    vec_foreach (&r->port, q)
        metric_u64(m, q->lowered, "port", q->port, NULL);
    metric_family(m, METRIC_GAUGE, "queue_limit_packets", "packets",
                  "Packets that may wait in the port's queue.");
    vec_foreach (&r->port, q)
        metric_u64(m, q->packets_max, "port", q->port, NULL);
    metric_family(m, METRIC_COUNTER, "queue_device_refused_bursts", "bursts",
                  "Bursts that the device did not take whole; the rest was sent later.");
    vec_foreach (&r->port, q)
        metric_u64(m, q->device_refused, "port", q->port, NULL);
}

static const char *kind_of(const struct row *c)
{
    return c->s.vr[0] ? "vr" : "vport";
}

static const char *name_of(const struct row *c)
{
    return c->s.vr[0] ? c->s.vr : c->s.vport;
}

static void write_client_families(struct metrics *m, const struct rows *r)
{
    metric_family(m, METRIC_GAUGE, "queue_guarantee_bytes_per_second", "",
                  "Guarantee of a virtual router or sub-interface, in bytes per second.");
    vec_foreach (&r->client, c)
        if (c->s.config.guarantee_bps)
            metric_real(m, (double)c->s.config.guarantee_bps / 8, "port", c->port, kind_of(c),
                        name_of(c), NULL);
    metric_family(m, METRIC_GAUGE, "queue_maximum_bytes_per_second", "",
                  "Maximum of a virtual router or sub-interface, in bytes per second.");
    vec_foreach (&r->client, c)
        if (c->s.config.maximum_bps)
            metric_real(m, (double)c->s.config.maximum_bps / 8, "port", c->port, kind_of(c),
                        name_of(c), NULL);
    metric_family(m, METRIC_COUNTER, "queue_guaranteed_bytes", "bytes",
                  "Bytes that were sent under a guarantee.");
    vec_foreach (&r->client, c)
        metric_u64(m, c->s.total.guaranteed_bytes, "port", c->port, kind_of(c), name_of(c), NULL);
}

static const struct {
    enum metric_type type;
    const char *name, *unit, *help;
    size_t at; // offset in struct port_queue_class_state
} class_families[] = {
#define AT(member) offsetof(struct port_queue_class_state, member)
    {METRIC_COUNTER, "queue_sent_packets", "packets", "Packets that left the queue for the device.",
     AT(total.sent_packets)},
    {METRIC_COUNTER, "queue_sent_bytes", "bytes",
     "Bytes of those, with the overhead that rates count.", AT(total.sent_bytes)},
    {METRIC_COUNTER, "queue_marked_packets", "packets", "Packets that got ECN's mark CE here.",
     AT(total.marked)},
    {METRIC_GAUGE, "queue_waiting_packets", "packets", "Packets waiting.",
     AT(total.waiting_packets)},
    {METRIC_GAUGE, "queue_waiting_bytes", "bytes", "Bytes waiting.", AT(total.waiting_bytes)},
#undef AT
};

static void write_class_family(struct metrics *m, const struct rows *r, size_t at, bool delay)
{
    vec_foreach (&r->client, c)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
            char class[2] = {(char)('0' + k), 0};
            uint64_t value = metric_field(&c->s.class[k], at);

            if (!is_used(&c->s.class[k].total))
                continue;
            if (delay)
                metric_real(m, (double)told_ns(value) / 1e9, "port", c->port, kind_of(c),
                            name_of(c), "class", class, NULL);
            else
                metric_u64(m, value, "port", c->port, kind_of(c), name_of(c), "class", class, NULL);
        }
}

static void write_delay_families(struct metrics *m, const struct rows *r)
{
    metric_family(m, METRIC_GAUGE, "queue_delay_median_seconds", "seconds",
                  "Median wait in the last ten to twenty seconds; 0: nothing was sent.");
    write_class_family(m, r, offsetof(struct port_queue_class_state, p50_ns), true);
    metric_family(m, METRIC_GAUGE, "queue_delay_p99_seconds", "seconds",
                  "99th percentile of the wait in the last ten to twenty seconds; 0: nothing was "
                  "sent.");
    write_class_family(m, r, offsetof(struct port_queue_class_state, p99_ns), true);
    metric_family(m, METRIC_GAUGE, "queue_delay_max_seconds", "seconds",
                  "Longest wait in the last ten to twenty seconds; 0: nothing was sent.");
    write_class_family(m, r, offsetof(struct port_queue_class_state, max_ns), true);
}

static void write_class_drops(struct metrics *m, const struct row *c, unsigned k)
{
    const char class[2] = {(char)('0' + k), 0};

    for (size_t i = 0; i < DROPS; i++)
        metric_u64(m, metric_field(&c->s.class[k].total, drops[i].at), "port", c->port, kind_of(c),
                   name_of(c), "class", class, "reason", drops[i].reason, NULL);
}

static void write_drop_family(struct metrics *m, const struct rows *r)
{
    metric_family(m, METRIC_COUNTER, "queue_dropped_packets", "packets",
                  "Packets that the queue dropped, by reason; without a class: of the whole port.");
    vec_foreach (&r->port, q) {
        metric_u64(m, q->refused_port, "port", q->port, "reason", "port-full", NULL);
        metric_u64(m, q->refused_ring, "port", q->port, "reason", "ring-full", NULL);
    }
    vec_foreach (&r->client, c)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            if (is_used(&c->s.class[k].total))
                write_class_drops(m, c, k);
}

static void write_queue_metrics(struct metrics *m, const void *kept)
{
    struct rows r = {0};

    rows_read(&r);
    if (r.port.n) {
        write_port_families(m, &r);
        write_client_families(m, &r);
        for (size_t i = 0; i < sizeof class_families / sizeof *class_families; i++) {
            metric_family(m, class_families[i].type, class_families[i].name, class_families[i].unit,
                          class_families[i].help);
            write_class_family(m, &r, class_families[i].at, false);
        }
        write_delay_families(m, &r);
        write_drop_family(m, &r);
    }
    rows_free(&r);
}

const struct feature queue_feature = {
    "queue",
    .config = &queue_config,
    .state = (const struct feature_state[]){{"queue", .write = show_queue}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_queue_metrics},
};
