// SPDX-License-Identifier: BSD-3-Clause
// show_multicast.c - multicast routes and what the host has joined, by rib_manager's answer
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

static void write_route(struct jwrite *j, const struct multicast_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    jwrite_ip(j, "group", &r->group);
    if (r->source.family)
        jwrite_ip(j, "source", &r->source);
    else
        jwrite_string(j, "source", "any");
    jwrite_string(j, "family", r->family == IP4 ? "ipv4" : "ipv6");
    jwrite_string(j, "origin", r->is_static ? "static" : "kernel");
    if (r->in[0])
        jwrite_string(j, "input", r->in);
    jwrite_bool(j, "by-kernel", r->by_kernel);
    jwrite_begin(j, "output", '[');
    for (unsigned i = 0; i < r->n_out; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "interface", r->out[i].iface);
        jwrite_int(j, "ttl", r->out[i].ttl);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    jwrite_u64(j, "packets", r->packets);
    jwrite_u64(j, "bytes", r->bytes);
    jwrite_u64(j, "wrong-interface", r->wrong);
    jwrite_end(j, '}');
}

static void answered(void *ctx, const struct multicast_row *row, unsigned n,
                     const struct multicast_join_row *join, unsigned n_join)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '{');
    jwrite_begin(j, "route", '[');
    for (unsigned i = 0; i < n; i++)
        write_route(j, &row[i]);
    jwrite_end(j, ']');
    jwrite_begin(j, "join", '[');
    for (unsigned i = 0; i < n_join; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", vr_get(join[i].vr)->name);
        jwrite_string(j, "interface", join[i].iface);
        jwrite_ip(j, "group", &join[i].group);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    jwrite_end(j, '}');
    s->done(s, 0);
}

int show_multicast(struct show *s)
{
    int r = rib_manager_multicast(answered, s);

    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
