// SPDX-License-Identifier: BSD-3-Clause
// queue_config.c - configured port queues: rules, and the steps of a change
//
// A port's queue gets complete settings: its class map, and the classes of each client from the
// profile. So a changed profile or class map is a step of each port that uses it. Default limits
// follow from a rate; if that is the link's, the step reads it.
#include "feature/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/feature_config.h"
#include "config/leaf.h"
#include "model/model.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define ASSUMED_BPS 10000000000ull // of a link, where the exact rate does not matter

static struct model_queues *queues_of(const struct model *m)
{
    return m->part[FEATURE_queue];
}

// --- reading -------------------------------------------------------------------------------------

static void read_client(struct model_queue_client *c, const struct lyd_node *first)
{
    struct queue_client_config *i = &c->set.config;

    i->weight = 1;
    columns_read(first, queue_client_leaves, i);
    leaf_copy(c->profile_name, sizeof c->profile_name, first, "profile", "");
}

static void read_clients(struct model_queue *q, const struct lyd_node *queue, const char *list)
{
    leaf_foreach (lyd_child(queue), queue->schema, list, entry) {
        struct model_queue_client *c = vec_push(&q->client);
        const struct lyd_node *first = lyd_child(entry);

        memset(c, 0, sizeof *c);
        if (!strcmp(list, "vr"))
            leaf_copy(c->set.vr, sizeof c->set.vr, first, "name", "");
        else
            leaf_copy(c->set.vport, sizeof c->set.vport, first, "name", "");
        read_client(c, first);
        c->line = leaf_line(entry, "guarantee");
    }
}

static const struct column queue_leaves[] = {
    COLUMN(struct port_queue_config, rate_bps, "rate", .scaled = "kMGT"),
    COLUMN(struct port_queue_config, core, "core"),
    COLUMN(struct port_queue_config, packets_max, "packets"),
    COLUMN(struct port_queue_config, overhead, "overhead"),
    {0}};

static void read_queue(struct model *m, void *row, const struct lyd_node *port)
{
    const struct lysc_node *schema = yang_child(port->schema, "queue", true);
    const struct lyd_node *queue = config_find(lyd_child(port), schema, NULL),
                          *first = lyd_child(queue);
    struct model_queue *q = row;

    if (!queue)
        return;
    leaf_copy(q->port, sizeof q->port, lyd_child(port), "name", "");
    memcpy(q->config.port, q->port, sizeof q->config.port);
    q->has_rate = config_value(first, "rate");
    q->config.core = -1;
    columns_read(first, queue_leaves, &q->config);
    leaf_copy(q->profile_name, sizeof q->profile_name, first, "profile", "default");
    leaf_copy(q->map_name, sizeof q->map_name, first, "class-map", "default");
    q->line = leaf_line(queue, "rate");
    const struct lyd_node *other = config_find(first, yang_child(schema, "other", true), NULL);
    read_client(&q->other, lyd_child(other));
    q->other.line = other ? leaf_line(other, NULL) : 0;
    read_clients(q, queue, "vr");
    q->n_vrs = (unsigned)q->client.n;
    read_clients(q, queue, "vport");
}

static void free_queues(struct model *m)
{
    vec_foreach (&queues_of(m)->queue, q) {
        vec_free(&q->client);
        free(q->complete);
    }
    vec_foreach (&queues_of(m)->profiles.map, map)
        vec_free(&map->given);
}

// --- completing ----------------------------------------------------------------------------------

static void complete_client(const struct model_queue_client *c, uint64_t port_bps, uint32_t frame,
                            struct queue_client_config *out)
{
    const struct queue_client_config *i = &c->set.config;

    memcpy(out, i, sizeof *out);
    queue_profile_apply(c->profile, i->maximum_bps ? i->maximum_bps : port_bps, frame, out);
}

// Fills in q->config, with `link_bps` where no rate is configured.
static void complete(struct model_queue *q, uint64_t link_bps)
{
    uint64_t bps = q->config.rate_bps ? q->config.rate_bps : link_bps;

    for (size_t i = 0; i < q->client.n; i++) {
        memcpy(&q->complete[i], &q->client.item[i].set, sizeof *q->complete);
        complete_client(&q->client.item[i], bps, q->frame, &q->complete[i].config);
    }
    complete_client(&q->other, bps, q->frame, &q->config.other);
}

static const struct model_queue_profile *profile_of(const struct model_queues *all,
                                                    const struct model_queue *q,
                                                    const struct model_queue_client *c)
{
    return queue_profile(&all->profiles, c->profile_name[0] ? c->profile_name : q->profile_name);
}

// A member sends the packets of the LAG's interfaces.
static const char *interfaces_port(const struct model *m, const char *port)
{
    const struct model_port *p = model_find_port(m, port);

    return p && p->config.member_of[0] ? p->config.member_of : port;
}

static void mark_on_port(struct model_queue *q, const char *vr)
{
    struct model_queue_client *c = model_find(q->client.item, q->n_vrs, sizeof *c, vr);

    if (c)
        c->on_port = true;
}

static void find_routers_on_port(const struct model *m, struct model_queue *q)
{
    const char *port = interfaces_port(m, q->port);
    const struct model_interface *i = model_find_interface(m, port);

    if (i)
        mark_on_port(q, i->vr);
    vec_foreach (&model_vports(m)->vport, v)
        if (!strcmp(v->port, port))
            mark_on_port(q, v->vr);
}

static void resolve_queues(struct model *m)
{
    const struct model_queues *all = queues_of(m);

    vec_foreach (&all->queue, q) {
        const struct model_port *p = model_find_port(m, q->port);

        memcpy(&q->config.map, queue_class_map(&all->profiles, q->map_name), sizeof q->config.map);
        q->frame = (p ? p->config.mtu : 1500) + 14 + 8 + q->config.overhead; // with two VLAN tags
        vec_foreach (&q->client, c)
            c->profile = profile_of(all, q, c);
        q->other.profile = profile_of(all, q, &q->other);
        q->complete = calloc(q->client.n + 1, sizeof *q->complete);
        bug_on(!q->complete);
        q->config.client = q->complete;
        q->config.n_clients = (unsigned)q->client.n;
        complete(q, ASSUMED_BPS);
        find_routers_on_port(m, q);
    }
}

// --- rules ---------------------------------------------------------------------------------------

// "port p1: queue vr red"
static const char *client_words(const struct model_queue *q, const struct model_queue_client *c,
                                char *buf, size_t n)
{
    snprintf(buf, n, "port %s: queue %s%s", q->port,
             c->set.vr[0]      ? "vr "
             : c->set.vport[0] ? "vport "
                               : "other",
             c->set.vr[0] ? c->set.vr : c->set.vport);
    return buf;
}

static void check_place(const struct model *m, const struct model_queue *q,
                        const struct model_queue_client *c, struct errors *e)
{
    const char *port = interfaces_port(m, q->port);
    const struct model_vport *v = model_find_vport(m, c->set.vport);

    if (v && strcmp(v->port, port)) // otherwise the schema reports it
        errors_add(e, c->line,
                   "port %s: queue vport '%s' is a sub-interface of port %s, expected one of "
                   "port %s",
                   q->port, v->name, v->port, port);
    if (c->set.vr[0] && !c->on_port)
        errors_add(e, c->line,
                   "port %s: queue vr '%s' has no interface on the port, expected a virtual router "
                   "that sends by it: 'set interface %s vr %s', or a vport of the port in it",
                   q->port, c->set.vr, port, c->set.vr);
}

static void check_least(const struct model_queue *q, const struct model_queue_client *c,
                        const char *leaf, uint64_t bps, struct errors *e)
{
    char words[96], rate[QUEUE_BPS_TEXT];

    if (bps && bps < QUEUE_RATE_MIN)
        errors_add(e, c->line, "%s: '%s' is %s, expected at least 8k bits/s",
                   client_words(q, c, words, sizeof words), leaf, queue_bps_text(bps, rate));
}

static void check_rates(const struct model_queue *q, const struct model_queue_client *c,
                        struct errors *e)
{
    const struct queue_client_config *i = &c->set.config;
    char words[96], a[QUEUE_BPS_TEXT], b[QUEUE_BPS_TEXT];

    client_words(q, c, words, sizeof words);
    check_least(q, c, "guarantee", i->guarantee_bps, e);
    check_least(q, c, "maximum", i->maximum_bps, e);
    if (i->maximum_bps && i->maximum_bps < i->guarantee_bps)
        errors_add(e, c->line, "%s: 'maximum' is %s, expected at least its guarantee of %s", words,
                   queue_bps_text(i->maximum_bps, a), queue_bps_text(i->guarantee_bps, b));
    if (!i->weight && !i->guarantee_bps)
        errors_add(e, c->line,
                   "%s: 'weight' is 0 and it has no guarantee, so that it could send nothing: "
                   "expected a weight of 1..128, or a guarantee",
                   words);
    if (i->limit_bytes && i->limit_bytes < q->frame)
        errors_add(e, c->line,
                   "%s: 'limit' is %u bytes, expected at least %u, the port's longest frame", words,
                   i->limit_bytes, q->frame);
}

// At most 98 %: the rest serves clients without a guarantee.
static void check_guarantees(const struct model_queue *q, struct errors *e)
{
    char sum[QUEUE_BPS_TEXT], most[QUEUE_BPS_TEXT], rate[QUEUE_BPS_TEXT];
    uint64_t all = 0, room = q->config.rate_bps / 100 * 98;
    unsigned line = q->line;

    vec_foreach (&q->client, c) {
        all += c->set.config.guarantee_bps;
        if (c->set.config.guarantee_bps && c->line > line)
            line = c->line;
    }
    if (q->config.rate_bps && all > room)
        errors_add(e, line,
                   "port %s: the queue's guarantees are %s, expected at most %s (98 %% of %s): "
                   "lower one, or raise the rate",
                   q->port, queue_bps_text(all, sum), queue_bps_text(room, most),
                   queue_bps_text(q->config.rate_bps, rate));
}

static bool uses_profile(const struct model_queue *q, const struct model_queue_profile *p)
{
    vec_foreach (&q->client, c)
        if (c->profile == p)
            return true;
    return q->other.profile == p;
}

static void check_class_limits(const struct model_queue *q, const struct model_queue_profile *p,
                               struct errors *e)
{
    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        uint32_t limit = p->class[k].config.limit_bytes;

        if (limit && limit < q->frame)
            errors_add(e, p->class[k].line,
                       "queue-profile %s: class %u limit is %u bytes, expected at least %u, the "
                       "longest frame of port %s",
                       p->name, k, limit, q->frame, q->port);
    }
}

static void check_client(const struct model *m, const struct model_queue *q,
                         const struct model_queue_client *c,
                         const struct queue_client_config *complete, struct errors *e)
{
    char words[96];
    size_t before = e->n;

    if (c != &q->other)
        check_place(m, q, c, e);
    check_rates(q, c, e);
    if (e->n == before && queue_config_check(complete)) // anything that no rule covers
        errors_add(e, c->line, "%s: a rate, a weight or its profile is out of range",
                   client_words(q, c, words, sizeof words));
}

static void check_queue(const struct model *m, const void *row, struct errors *e)
{
    const struct model_queue *q = row;
    const struct model_port *p = model_find_port(m, q->port);
    char rate[QUEUE_BPS_TEXT];

    if (p && p->config.lag.mode)
        errors_add(e, q->line,
                   "port %s: 'queue' belongs to a LAG's members: set it there, "
                   "'set port %s queue'",
                   q->port, p->n_members ? p->member[0] : "MEMBER");
    if (q->has_rate && q->config.rate_bps < QUEUE_RATE_MIN)
        errors_add(e, q->line, "port %s: queue rate is %s, expected at least 8k bits/s", q->port,
                   queue_bps_text(q->config.rate_bps, rate));
    for (size_t i = 0; i < q->client.n; i++)
        check_client(m, q, &q->client.item[i], &q->complete[i].config, e);
    check_client(m, q, &q->other, &q->config.other, e);
    check_guarantees(q, e);
    vec_foreach (&queues_of(m)->profiles.profile, profile)
        if (uses_profile(q, profile))
            check_class_limits(q, profile, e);
}

// A strict class without a rate may starve the classes after it, which may be intended.
static void note_strict(const struct model *from, const struct model *to, struct errors *notes)
{
    vec_foreach (&queues_of(to)->profiles.profile, p) {
        const struct model_queue_profile *old = queue_profile(&queues_of(from)->profiles, p->name);

        for (unsigned k = 0; k + 1 < QUEUE_CLASSES; k++)
            if (!p->class[k].config.weight && !p->class[k].percent &&
                (old->class[k].config.weight || old->class[k].percent))
                errors_add(notes, 0,
                           "class %u of queue-profile %s is strict without a rate: while it has "
                           "packets, the classes behind it get nothing; 'set queue-profile %s "
                           "class %u rate-percent 30' prevents that",
                           k, p->name, p->name, k);
    }
}

// --- steps ---------------------------------------------------------------------------------------

static uint64_t link_bps_of(const char *port)
{
    struct port_state *s = malloc(sizeof *s);
    uint64_t bps = ASSUMED_BPS;

    bug_on(!s);
    if (!port_manager_state(port, s) && s->speed_mbps)
        bps = s->speed_mbps * 1000000ull;
    free(s);
    return bps;
}

// Removes the port name, which the step's subject already has.
static void strip_port(const char *port, char *err)
{
    char words[32];
    int n = snprintf(words, sizeof words, "port %s: ", port);

    if (!strncmp(err, words, (size_t)n))
        memmove(err, err + n, strlen(err + n) + 1);
}

static int run_queue(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    struct model_queue *q = (struct model_queue *)(uintptr_t)to;

    if (!q) {
        port_queue_manager_remove(s->name);
        return 0;
    }
    struct model_queue now = *q; // a copy, so that the model stays comparable
    now.complete = calloc(q->client.n + 1, sizeof *now.complete);
    bug_on(!now.complete);
    now.config.client = now.complete;
    complete(&now, link_bps_of(s->name));
    int r = port_queue_manager_set(&now.config, err, n);
    free(now.complete);
    if (r)
        strip_port(s->name, err);
    return r;
}

static const struct step_kind queue_kind = {"queue of port", run_queue};

bool queue_same(const struct model_queue *a, const struct model_queue *b)
{
    const struct port_queue_config *x = &a->config, *y = &b->config;

    return x->rate_bps == y->rate_bps && x->core == y->core && x->packets_max == y->packets_max &&
           x->overhead == y->overhead && !memcmp(&x->map, &y->map, sizeof x->map) &&
           !memcmp(&x->other, &y->other, sizeof x->other) && x->n_clients == y->n_clients &&
           !memcmp(x->client, y->client, x->n_clients * sizeof *x->client);
}

static bool client_stays(const struct change *c, const struct port_queue_client *i)
{
    return i->vr[0] ? vr_stays(c, i->vr) && !vr_is_renamed(c, i->vr) : vport_stays(c, i->vport);
}

static bool clients_stay(const struct change *c, const struct model_queue *q)
{
    for (unsigned i = 0; i < q->config.n_clients; i++)
        if (!client_stays(c, &q->config.client[i]))
            return false;
    return true;
}

// The queue without clients that are removed, for use between their removal and the rest of the
// change.
static const struct model_queue *without_leaving(struct change *c, const struct model_queue *q)
{
    struct model_queue *r = malloc(sizeof *r + (q->client.n + 1) * sizeof *r->client.item);
    struct model_queue_client *item = (struct model_queue_client *)(r + 1);
    struct port_queue_client *complete = calloc(q->client.n + 1, sizeof *complete);

    bug_on(!r || !complete);
    *r = *q;
    r->client.item = item;
    r->client.n = 0;
    for (size_t i = 0; i < q->client.n; i++) {
        if (!client_stays(c, &q->complete[i]))
            continue;
        memcpy(&complete[r->client.n], &q->complete[i], sizeof *complete);
        item[r->client.n++] = q->client.item[i];
    }
    r->complete = complete;
    r->config.client = complete;
    r->config.n_clients = (unsigned)r->client.n;
    *vec_push(&c->kept) = r;
    *vec_push(&c->kept) = complete;
    return r;
}

static void plan_remove(struct change *c)
{
    vec_foreach (&queues_of(c->from)->queue, q) {
        if (!model_find_in(&queues_of(c->to)->queue, q->port) || !port_stays(c, q->port))
            step_add(c, &queue_kind, q->port, q, NULL, 0);
        else if (!clients_stay(c, q))
            step_add(c, &queue_kind, q->port, q, without_leaving(c, q), 0);
    }
}

static void plan_add(struct change *c)
{
    vec_foreach (&queues_of(c->to)->queue, q) {
        const struct model_queue *old = model_find_in(&queues_of(c->from)->queue, q->port);

        if (old && !port_stays(c, q->port))
            old = NULL;
        else if (old && !clients_stay(c, old))
            old = without_leaving(c, old);
        if (!old || !queue_same(old, q))
            step_add(c, &queue_kind, q->port, old, q, q->line);
    }
}

const struct feature_config queue_config = {
    .part_size = sizeof(struct model_queues),
    .lists =
        (const struct feature_list[]){
            {.node = "class-map",
             LIST_ROWS(struct model_queues, profiles.map),
             .read = queue_map_read,
             .check = queue_map_check},
            {.node = "queue-profile",
             LIST_ROWS(struct model_queues, profiles.profile),
             .read = queue_profile_read,
             .check = queue_profile_check},
            {.node = "port",
             LIST_ROWS(struct model_queues, queue),
             .read = read_queue,
             .check = check_queue},
            {0}},
    .resolve = resolve_queues,
    .note = note_strict,
    .free = free_queues,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_USERS, plan_remove},
                                             {PHASE_ADD_USERS, plan_add},
                                             {0}},
};
