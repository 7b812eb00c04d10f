// SPDX-License-Identifier: BSD-3-Clause
// nexthop.c - the table of next hops, by rib_manager's answer
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/limits.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"
#include "table/vr.h"

static void write_group_member(struct jwrite *j, const struct nexthop_leg *leg)
{
    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "nexthop", leg->nexthop);
    if (leg->iface[0])
        jwrite_string(j, "interface", leg->iface);
    if (leg->gateway.family)
        jwrite_ip(j, "gateway", &leg->gateway);
    jwrite_int(j, "weight", leg->weight);
    jwrite_int(j, "buckets", leg->buckets);
    jwrite_bool(j, "alive", leg->alive);
    jwrite_end(j, '}');
}

static void write_group_state(struct jwrite *j, const struct nexthop_row *r,
                              const struct nexthop_leg *leg)
{
    if (r->kernel_id)
        jwrite_int(j, "kernel-id", r->kernel_id);
    jwrite_int(j, "buckets", r->buckets);
    jwrite_begin(j, "member", '[');
    for (unsigned i = 0; i < r->n_legs; i++)
        write_group_member(j, &leg[r->first_leg + i]);
    jwrite_end(j, ']');
}

static void write_nexthop_state(struct jwrite *j, const struct nexthop_row *r,
                                const struct nexthop_leg *leg)
{
    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "id", r->id);
    jwrite_string(j, "kind", nexthop_kind_name(r->kind));
    if (r->vr >= 0 && vr_get((uint16_t)r->vr)->used)
        jwrite_string(j, "vr", vr_get((uint16_t)r->vr)->name);
    if (r->iface[0]) {
        jwrite_string(j, "interface", r->iface);
        jwrite_int(j, "mtu", r->mtu);
    }
    if (r->gateway.family)
        jwrite_ip(j, "gateway", &r->gateway);
    if (r->kind == NEXTHOP_ADJACENCY)
        jwrite_mac(j, "mac", r->mac);
    jwrite_int(j, "references", r->holders);
    if (r->kind == NEXTHOP_GROUP) {
        write_group_state(j, r, leg);
    } else {
        jwrite_bool(j, "in-use", r->in_use);
        jwrite_u64(j, "packets", r->packets);
        if (nexthop_count_is_on()) {
            jwrite_u64(j, "sent-packets", r->sent_packets);
            jwrite_u64(j, "sent-bytes", r->sent_bytes);
        }
    }
    jwrite_end(j, '}');
}

static void write_nexthop_states(void *ctx, const struct nexthop_row *row, unsigned n,
                                 const struct nexthop_leg *leg)
{
    struct show *s = ctx;
    uint32_t wanted = s->key[0] ? (uint32_t)strtoul(s->key[0], NULL, 10) : 0;

    for (unsigned i = 0; i < n; i++)
        if (!s->key[0] || row[i].id == wanted)
            write_nexthop_state(&s->out, &row[i], leg);
    jwrite_end(&s->out, ']');
    s->done(s, 0);
}

static int show_nexthop(struct show *s)
{
    int r;

    jwrite_begin(&s->out, s->name, '[');
    r = rib_manager_nexthops(write_nexthop_states, s);
    if (r)
        s->done(s, r);
    return SHOW_LATER;
}

static void write_sent_counter(struct metrics *m, const struct nexthop_row *row, unsigned n,
                               bool bytes)
{
    char id[12], gateway[IP_TEXT_MAX];

    for (unsigned i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%u", row[i].id);
        metric_u64(m, bytes ? row[i].sent_bytes : row[i].sent_packets, "nexthop", id, "iface",
                   row[i].iface, "gateway",
                   row[i].gateway.family ? ip_format(&row[i].gateway, gateway) : "", NULL);
    }
}

struct kept_nexthops {
    VEC(struct nexthop_row) row; // that were sent anything
};

static void keep_nexthops(void *ctx, const struct nexthop_row *row, unsigned n,
                          const struct nexthop_leg *leg)
{
    struct kept_nexthops *k = calloc(1, sizeof *k);
    struct scrape *s = ctx;

    bug_on(!k);
    for (unsigned i = 0; i < n; i++)
        if (row[i].sent_packets)
            *vec_push(&k->row) = row[i];
    s->kept[FEATURE_nexthop] = k;
    scrape_collected(s);
}

static void collect_nexthops(struct scrape *s)
{
    int r = nexthop_count_is_on() ? rib_manager_nexthops(keep_nexthops, s) : 0;

    if (r)
        scrape_failed(s, "rib_manager", r);
    else if (!nexthop_count_is_on())
        scrape_collected(s);
}

static void free_nexthops(void *kept)
{
    struct kept_nexthops *k = kept;

    vec_free(&k->row);
    free(k);
}

static void write_nexthop_metrics(struct metrics *m, const void *kept)
{
    const struct kept_nexthops *k = kept; // NULL: they are not counted

    metric_family(m, METRIC_GAUGE, "nexthops", "", "Next hops in the table, including groups.");
    metric_u64(m, nexthop_used(), NULL);
    metric_family(m, METRIC_GAUGE, "nexthops_max", "", "Size of the next-hop table.");
    metric_u64(m, NEXTHOP_MAX, NULL);
    if (!k || !k->row.n)
        return;
    metric_family(m, METRIC_COUNTER, "nexthop_sent_packets", "packets",
                  "Packets sent to the next hop.");
    write_sent_counter(m, k->row.item, (unsigned)k->row.n, false);
    metric_family(m, METRIC_COUNTER, "nexthop_sent_bytes", "bytes",
                  "Bytes of frames sent to the next hop.");
    write_sent_counter(m, k->row.item, (unsigned)k->row.n, true);
}

static const struct feature_state nexthop_states[] = {{"nexthop", .write = show_nexthop}, {0}};
static const struct feature_metrics nexthop_metrics = {collect_nexthops, write_nexthop_metrics,
                                                       free_nexthops};

const struct feature nexthop_feature = {"nexthop", .state = nexthop_states,
                                        .metrics = &nexthop_metrics};
