// SPDX-License-Identifier: BSD-3-Clause
// show_nexthop.c - the table of next hops, by rib_manager's answer
#include <stdlib.h>

#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"
#include "table/vr.h"

static void write_leg(struct jwrite *j, const struct nexthop_leg *leg)
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

static void write_group(struct jwrite *j, const struct nexthop_row *r,
                        const struct nexthop_leg *leg)
{
    if (r->kernel_id)
        jwrite_int(j, "kernel-id", r->kernel_id);
    jwrite_int(j, "buckets", r->buckets);
    jwrite_begin(j, "member", '[');
    for (unsigned i = 0; i < r->n_legs; i++)
        write_leg(j, &leg[r->first_leg + i]);
    jwrite_end(j, ']');
}

static void write_row(struct jwrite *j, const struct nexthop_row *r, const struct nexthop_leg *leg)
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
        write_group(j, r, leg);
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

static void answered(void *ctx, const struct nexthop_row *row, unsigned n,
                     const struct nexthop_leg *leg)
{
    struct show *s = ctx;
    uint32_t wanted = s->key[0] ? (uint32_t)strtoul(s->key[0], NULL, 10) : 0;

    for (unsigned i = 0; i < n; i++)
        if (!s->key[0] || row[i].id == wanted)
            write_row(&s->out, &row[i], leg);
    jwrite_end(&s->out, ']');
    s->done(s, 0);
}

int show_nexthop(struct show *s)
{
    int r;

    jwrite_begin(&s->out, s->name, '[');
    r = rib_manager_nexthops(answered, s);
    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
