// SPDX-License-Identifier: BSD-3-Clause
// route_way.c - rows of the journal of routes as JSON: where a route led, what changed
#include "feature/route_way.h"

#include "base/protocol.h"
#include "restconf/state.h"
#include "table/nexthop.h"
#include "table/vr.h"

void route_way_write(struct jwrite *j, const struct journal_answer *a, uint32_t way,
                     uint8_t protocol)
{
    const struct journal_way *w = &a->way.item[way - 1];
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_string(j, "protocol", protocol_name(protocol, buf));
    jwrite_string(j, "kind", nexthop_kind_name(w->kind));
    jwrite_int(j, "nexthop", w->nexthop);
    jwrite_begin(j, "hop", '[');
    for (unsigned i = 0; i < w->n_legs; i++) {
        jwrite_begin(j, NULL, '{');
        if (w->leg[i].iface[0])
            jwrite_string(j, "interface", w->leg[i].iface);
        if (w->leg[i].gateway.family)
            jwrite_ip(j, "gateway", &w->leg[i].gateway);
        jwrite_int(j, "weight", w->leg[i].weight);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    if (w->n_more)
        jwrite_int(j, "more-hops", w->n_more);
}

void route_change_write(struct jwrite *j, const struct journal_answer *a,
                        const struct journal_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_time(j, "time", r->wall_ns);
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    if (r->prefix.family)
        jwrite_prefix(j, "prefix", &r->prefix);
    jwrite_string(j, "cause", journal_cause_name(r->cause));
    if (r->was) {
        jwrite_begin(j, "from", '{');
        route_way_write(j, a, r->was, r->was_protocol);
        jwrite_end(j, '}');
    }
    if (r->is) {
        jwrite_begin(j, "to", '{');
        route_way_write(j, a, r->is, r->protocol);
        jwrite_end(j, '}');
    }
    jwrite_end(j, '}');
}
