// SPDX-License-Identifier: BSD-3-Clause
// queue.c - port queues: sent, waiting and dropped packets
//
// A row of a table is a leaf of the state and a metric. Waiting times beyond the last bucket count
// as its bound. Classes without any packet have no series. queue_drops_of() reads the drops of all
// interfaces together, at most once a second, for the interface counters.
#include "feature/queue.h"

#include <string.h>

#include "base/clock.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/iface.h"

static const struct column port_columns[] = {
    COLUMN(struct port_queue_state, port, "port"),
    COLUMN(struct port_queue_state, active, "active"),
    GAUGE(struct port_queue_state, rate_bps, "rate", "",
          "Rate of the port's queue in force, in bytes per second (bit rate / 8).",
          .family = "rate_bytes_per_second", .per_unit = 8),
    GAUGE(struct port_queue_state, configured_bps, "configured-rate", "",
          "Rate of the port's queue as configured; more than the rate in force if the device takes "
          "less.",
          .family = "configured_rate_bytes_per_second", .per_unit = 8, .any = true),
    GAUGE(struct port_queue_state, lowered, "lowered", "",
          "1: the device takes less than the queue's rate, which was lowered."),
    COLUMN(struct port_queue_state, core, "core"),
    GAUGE(struct port_queue_state, packets_max, "packets", "packets",
          "Packets that may wait in the port's queue.", .family = "limit_packets"),
    COLUMN(struct port_queue_state, waiting_packets, "waiting-packets"),
    COLUMN(struct port_queue_state, refused_port, "dropped-port"),
    COLUMN(struct port_queue_state, refused_ring, "dropped-ring"),
    COUNTER(struct port_queue_state, device_refused, "device-refused", "bursts",
            "Bursts that the device did not take whole; the rest was sent later."),
    {0}};
const struct column queue_client_leaves[] = {
    GAUGE(struct queue_client_config, guarantee_bps, "guarantee", "",
          "Guarantee of a virtual router or sub-interface, in bytes per second.",
          .family = "guarantee_bytes_per_second", .per_unit = 8, .scaled = "kMGT", .any = true),
    GAUGE(struct queue_client_config, maximum_bps, "maximum", "",
          "Maximum of a virtual router or sub-interface, in bytes per second.",
          .family = "maximum_bytes_per_second", .per_unit = 8, .scaled = "kMGT", .any = true),
    COLUMN(struct queue_client_config, weight, "weight"),
    COLUMN(struct queue_client_config, limit_bytes, "limit", .scaled = "kM"),
    COLUMN(struct queue_client_config, reserve_packets, "reserve"),
    {0}};
static const struct column client_columns[] = {
    COLUMN(struct port_queue_client_state, rate_bps, "rate"),
    COUNTER(struct port_queue_client_state, total.guaranteed_bytes, "guaranteed-bytes", "bytes",
            "Bytes that were sent under a guarantee."),
    COLUMN(struct port_queue_client_state, total.waiting_packets, "waiting-packets"),
    COLUMN(struct port_queue_client_state, total.waiting_bytes, "waiting-bytes"),
    {0}};
static const struct column class_columns[] = {
    COLUMN(struct port_queue_class_state, rate_bps, "rate"),
    COUNTER(struct port_queue_class_state, total.sent_packets, "sent-packets", "packets",
            "Packets that left the queue for the device."),
    COUNTER(struct port_queue_class_state, total.sent_bytes, "sent-bytes", "bytes",
            "Bytes of those, with the overhead that rates count."),
    COUNTER(struct port_queue_class_state, total.marked, "marked-packets", "packets",
            "Packets that got ECN's mark CE here."),
    GAUGE(struct port_queue_class_state, total.waiting_packets, "waiting-packets", "packets",
          "Packets waiting."),
    GAUGE(struct port_queue_class_state, total.waiting_bytes, "waiting-bytes", "bytes",
          "Bytes waiting."),
    {0}};
static const struct column delay_columns[] = {
    GAUGE(struct port_queue_class_state, p50_ns, "delay-p50", "seconds",
          "Median wait in the last ten to twenty seconds; 0: nothing was sent.",
          .family = "delay_median_seconds", .per_unit = 1e9),
    GAUGE(struct port_queue_class_state, p99_ns, "delay-p99", "seconds",
          "99th percentile of the wait in the last ten to twenty seconds; 0: nothing was sent.",
          .per_unit = 1e9),
    GAUGE(struct port_queue_class_state, max_ns, "delay-max", "seconds",
          "Longest wait in the last ten to twenty seconds; 0: nothing was sent.",
          .per_unit = 1e9),
    {0}};
static const struct column drop_columns[] = { // each a reason: a leaf, a label of the metric
    COLUMN(struct queue_class_stats, refused_class, "class-full"),
    COLUMN(struct queue_class_stats, refused_client, "client-full"),
    COLUMN(struct queue_class_stats, refused_share, "share-full"),
    COLUMN(struct queue_class_stats, dropped_codel, "codel"),
    COLUMN(struct queue_class_stats, dropped_old, "old"),
    COLUMN(struct queue_class_stats, dropped_flow, "flow"),
    {0}};

// Waiting times are measured up to a bound; longer ones count as the bound.
static uint64_t told_ns(uint64_t ns)
{
    uint64_t most = queue_wait_ns(QUEUE_WAIT_N - 2);

    return ns < most ? ns : most;
}

// Reads the i-th client of a port.
static bool read_client(const char *port, unsigned i, struct port_queue_client_state *s)
{
    if (!port_queue_manager_client(port, i, s))
        return false;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        struct port_queue_class_state *c = &s->class[k];

        c->p50_ns = told_ns(c->p50_ns);
        c->p99_ns = told_ns(c->p99_ns);
        c->max_ns = told_ns(c->max_ns);
    }
    return true;
}

// --- state ---------------------------------------------------------------------------------------

static void write_class_config(struct jwrite *j, const struct queue_class_config *c)
{
    if (c->weight)
        jwrite_int(j, "weight", c->weight);
    else if (c->rate_bps)
        jwrite_u64(j, "strict-rate", c->rate_bps);
    columns_write(j, queue_class_leaves, c);
}

static void write_class(struct jwrite *j, unsigned class, const struct queue_class_config *c,
                        const struct port_queue_class_state *s)
{
    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "class", class);
    write_class_config(j, c);
    columns_write(j, class_columns, s);
    if (s->max_ns)
        columns_write(j, delay_columns, s);
    columns_object(j, "dropped", drop_columns, &s->total);
    jwrite_end(j, '}');
}

static void write_client(struct jwrite *j, const struct port_queue_client_state *s)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", s->vr[0] ? s->vr : s->vport);
    jwrite_bool(j, "configured", s->configured);
    columns_write(j, queue_client_leaves, &s->config);
    columns_write(j, client_columns, s);
    jwrite_begin(j, "class", '[');
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        write_class(j, k, &s->config.class[k], &s->class[k]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void write_clients(struct jwrite *j, const char *list, const char *port, bool vports)
{
    struct port_queue_client_state s;

    jwrite_begin(j, list, '[');
    for (unsigned i = 0; read_client(port, i, &s); i++)
        if (!s.vport[0] == !vports)
            write_client(j, &s);
    jwrite_end(j, ']');
}

static void write_queue(struct jwrite *j, const struct port_queue_state *s)
{
    jwrite_begin(j, NULL, '{');
    columns_write(j, port_columns, s);
    write_clients(j, "vr", s->port, false);
    write_clients(j, "vport", s->port, true);
    jwrite_end(j, '}');
}

static void list_queues(struct show *s)
{
    struct port_queue_state q;

    for (unsigned i = 0; port_queue_manager_at(i, &q); i++)
        if (show_wants(s, q.port))
            write_queue(&s->out, &q);
}

// --- drops by interface --------------------------------------------------------------------------

static uint64_t drops_of_class(const struct queue_class_stats *t)
{
    uint64_t n = 0;

    for (const struct column *c = drop_columns; c->name; c++)
        n += metric_field(t, c->at);
    return n;
}

static void add_drops(uint64_t drops[IFACE_MAX], const char *iface, uint64_t n)
{
    const struct iface *i = iface_find_name(iface);

    if (i)
        drops[i->id] += n;
}

static void read_drops(uint64_t drops[IFACE_MAX])
{
    struct port_queue_client_state c;
    struct port_queue_state q;

    for (unsigned i = 0; port_queue_manager_at(i, &q); i++) {
        uint64_t all = q.refused_port + q.refused_ring;

        for (unsigned k = 0; port_queue_manager_client(q.port, k, &c); k++) {
            uint64_t n = 0;

            for (unsigned class = 0; class < QUEUE_CLASSES; class ++)
                n += drops_of_class(&c.class[class].total);
            all += n;
            if (c.vport[0])
                add_drops(drops, c.vport, n);
        }
        add_drops(drops, q.port, all);
    }
}

uint64_t queue_drops_of(uint16_t iface)
{
    static uint64_t read_ns, drops[IFACE_MAX]; // of all interfaces, read together
    uint64_t now = clock_now_ns();

    if (!read_ns || now - read_ns > NS_PER_SECOND) {
        read_ns = now;
        memset(drops, 0, sizeof drops);
        read_drops(drops);
    }
    return drops[iface];
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
        for (unsigned k = 0; read_client(q.port, k, &s); k++) {
            struct row *row = vec_push(&r->client);

            memcpy(row->port, q.port, sizeof row->port);
            row->s = s;
        }
    }
}

// Most classes of a client are unused, and their series would be 0.
static bool is_used(const struct queue_class_stats *t)
{
    return drops_of_class(t) || t->sent_packets || t->waiting_packets;
}

static const char *kind_of(const struct row *c)
{
    return c->s.vr[0] ? "vr" : "vport";
}

static const char *name_of(const struct row *c)
{
    return c->s.vr[0] ? c->s.vr : c->s.vport;
}

static void write_class_families(struct metrics *m, const struct rows *r,
                                 const struct column *columns)
{
    for (const struct column *c = columns; (c = column_family(m, "queue", c)); c++)
        vec_foreach (&r->client, client)
            for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
                char class[2] = {(char)('0' + k), 0};

                if (is_used(&client->s.class[k].total))
                    column_metric(m, c, &client->s.class[k], "port", client->port,
                                  kind_of(client), name_of(client), "class", class, NULL);
            }
}

static void write_class_drops(struct metrics *m, const struct row *c, unsigned k)
{
    const char class[2] = {(char)('0' + k), 0};

    for (const struct column *d = drop_columns; d->name; d++)
        column_metric(m, d, &c->s.class[k].total, "port", c->port, kind_of(c), name_of(c), "class",
                      class, "reason", d->name, NULL);
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
        for (const struct column *c = port_columns; (c = column_family(m, "queue", c)); c++)
            vec_foreach (&r.port, q)
                column_metric(m, c, q, "port", q->port, NULL);
        for (const struct column *c = queue_client_leaves; (c = column_family(m, "queue", c)); c++)
            vec_foreach (&r.client, k)
                column_metric(m, c, &k->s.config, "port", k->port, kind_of(k), name_of(k), NULL);
        for (const struct column *c = client_columns; (c = column_family(m, "queue", c)); c++)
            vec_foreach (&r.client, k)
                column_metric(m, c, &k->s, "port", k->port, kind_of(k), name_of(k), NULL);
        write_class_families(m, &r, class_columns);
        write_class_families(m, &r, delay_columns);
        write_drop_family(m, &r);
    }
    vec_free(&r.port);
    vec_free(&r.client);
}

const struct feature queue_feature = {
    "queue",
    .config = &queue_config,
    .state = (const struct feature_state[]){{"queue", .list = list_queues}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_queue_metrics},
};
