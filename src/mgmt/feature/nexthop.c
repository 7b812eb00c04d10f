// SPDX-License-Identifier: BSD-3-Clause
// nexthop.c - the next hop table, from rib_manager's answer
//
// rib_manager copies rows and members in one call, so they belong together. Packets sent to each
// next hop are written only while they are counted.
#include <stdio.h>
#include <stdlib.h>

#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/limits.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"
#include "table/vr.h"

static const struct column member_columns[] = {
    COLUMN(struct nexthop_leg, nexthop, "nexthop"),
    COLUMN(struct nexthop_leg, iface, "interface", .any = true),
    COLUMN(struct nexthop_leg, gateway, "gateway", .any = true),
    COLUMN(struct nexthop_leg, labels, "labels"),
    COLUMN(struct nexthop_leg, weight, "weight"),
    COLUMN(struct nexthop_leg, buckets, "buckets"),
    COLUMN(struct nexthop_leg, alive, "alive"),
    {0}};
static const struct column label_columns[] = {
    COLUMN(struct nexthop_row, labels, "labels"), {0}};
static const struct column sent_columns[] = {
    COUNTER(struct nexthop_row, sent_packets, "sent-packets", "packets",
            "Packets sent to the next hop."),
    COUNTER(struct nexthop_row, sent_bytes, "sent-bytes", "bytes",
            "Bytes of frames sent to the next hop."),
    {0}};

static void write_group_state(struct jwrite *j, const struct nexthop_row *r,
                              const struct nexthop_leg *leg)
{
    if (r->kernel_id)
        jwrite_int(j, "kernel-id", r->kernel_id);
    jwrite_int(j, "buckets", r->buckets);
    jwrite_begin(j, "member", '[');
    for (unsigned i = 0; i < r->n_legs; i++)
        columns_object(j, NULL, member_columns, &leg[r->first_leg + i]);
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
    jwrite_ip_any(j, "gateway", &r->gateway);
    columns_write(j, label_columns, r);
    if (r->kind == NEXTHOP_ADJACENCY)
        jwrite_mac(j, "mac", r->mac);
    jwrite_int(j, "references", r->holders);
    if (r->kind == NEXTHOP_GROUP) {
        write_group_state(j, r, leg);
    } else {
        jwrite_bool(j, "in-use", r->in_use);
        jwrite_u64(j, "packets", r->packets);
        if (nexthop_count_is_on())
            columns_write(j, sent_columns, r);
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
    s->done(s, 0);
}

static int ask_nexthop(struct show *s)
{
    return rib_manager_nexthops(write_nexthop_states, s);
}

static void write_sent(struct metrics *m, const struct column *c, const struct scrape_rows *kept)
{
    const struct nexthop_row *row = (const void *)kept->row;
    char id[12], gateway[IP_TEXT_MAX];

    for (size_t i = 0; i < kept->n; i++) {
        if (!row[i].sent_packets)
            continue;
        snprintf(id, sizeof id, "%u", row[i].id);
        column_metric(m, c, &row[i], "nexthop", id, "interface", row[i].iface, "gateway",
                      row[i].gateway.family ? ip_format(&row[i].gateway, gateway) : "", NULL);
    }
}

static void keep_nexthops(void *ctx, const struct nexthop_row *row, unsigned n,
                          const struct nexthop_leg *leg)
{
    scrape_keep(ctx, row, n, sizeof *row);
}

static void collect_nexthops(struct scrape *s)
{
    if (nexthop_count_is_on())
        scrape_asked(s, "rib_manager", rib_manager_nexthops(keep_nexthops, s));
    else
        scrape_collected(s);
}

static bool any_sent(const struct scrape_rows *kept)
{
    const struct nexthop_row *row = (const void *)kept->row;
    size_t i = 0;

    while (i < kept->n && !row[i].sent_packets)
        i++;
    return i < kept->n;
}

static void write_nexthop_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_GAUGE, "nexthops", "", "Next hops in the table, including groups.");
    metric_u64(m, nexthop_used(), NULL);
    metric_family(m, METRIC_GAUGE, "nexthops_max", "", "Size of the next-hop table.");
    metric_u64(m, NEXTHOP_MAX, NULL);
    if (!kept || !any_sent(kept)) // NULL: not counted
        return;
    for (const struct column *c = sent_columns; (c = column_family(m, "nexthop", c)); c++)
        write_sent(m, c, kept);
}

const struct feature nexthop_feature = {
    "nexthop",
    .state = (const struct feature_state[]){{"nexthop", .ask = ask_nexthop}, {0}},
    .metrics = &(const struct feature_metrics){collect_nexthops, write_nexthop_metrics},
};
