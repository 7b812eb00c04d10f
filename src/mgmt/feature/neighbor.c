// SPDX-License-Identifier: BSD-3-Clause
// show_neighbor.c - neighbors, by rib_manager's answer
#include <string.h>

#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

static bool is_wanted(const struct show *s, const struct neigh_row *n)
{
    struct ip_addr a;

    if (!s->key[0])
        return true;
    return !strcmp(s->key[0], vr_get(n->vr)->name) && !strcmp(s->key[1], n->iface) &&
           !ip_parse(s->key[2], &a) && ip_equal(&a, &n->addr);
}

static bool has_mac(const struct neigh_row *n)
{
    static const uint8_t zero[6];

    return memcmp(n->mac, zero, sizeof zero);
}

static void answered(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    for (unsigned i = 0; i < n; i++) {
        if (!is_wanted(s, &row[i]))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", vr_get(row[i].vr)->name);
        jwrite_string(j, "interface", row[i].iface);
        jwrite_ip(j, "address", &row[i].addr);
        if (has_mac(&row[i]))
            jwrite_mac(j, "mac", row[i].mac);
        jwrite_string(j, "status", row[i].state);
        jwrite_int(j, "nexthop", row[i].nexthop);
        jwrite_int(j, "held", row[i].held);
        jwrite_bool(j, "gateway", row[i].gateway);
        jwrite_bool(j, "in-use", row[i].in_use);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    s->done(s, 0);
}

int show_neighbor(struct show *s)
{
    int r;

    jwrite_begin(&s->out, s->name, '[');
    r = rib_manager_neigh(-1, answered, s);
    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
