// SPDX-License-Identifier: BSD-3-Clause
// mpls.c - routes of MPLS labels, from rib_manager's answer
#include <stdlib.h>
#include <string.h>

#include "base/protocol.h"
#include "feature/route.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/vr.h"

static void write_hop(struct jwrite *j, const struct rib_hop *h)
{
    jwrite_begin(j, NULL, '{');
    columns_write(j, route_hop_columns, h);
    if (h->has_mac)
        jwrite_mac(j, "mac", h->mac);
    jwrite_end(j, '}');
}

static void write_label(struct jwrite *j, const struct label_row *r, const struct rib_hop *hop)
{
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    jwrite_int(j, "label", r->label);
    jwrite_string(j, "protocol", protocol_name(r->protocol, buf));
    jwrite_bool(j, "active", r->active);
    if (r->active) {
        jwrite_int(j, "nexthop", r->nexthop);
        jwrite_string(j, "kind", r->kind);
    }
    jwrite_begin(j, "hop", '[');
    for (unsigned i = 0; i < r->n_hops; i++)
        write_hop(j, &hop[r->first_hop + i]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static uint32_t wanted_label(const struct show *s) // 0: all
{
    return s->key[1] ? (uint32_t)strtoul(s->key[1], NULL, 10) : 0;
}

static void write_labels(void *ctx, const struct label_row *row, unsigned n,
                         const struct rib_hop *hop)
{
    struct show *s = ctx;
    uint32_t wanted = wanted_label(s);

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, vr_get(row[i].vr)->name) && (!wanted || row[i].label == wanted))
            write_label(&s->out, &row[i], hop);
    s->done(s, 0);
}

static int ask_label(struct show *s)
{
    const struct vr *v = s->key[0] ? vr_find(s->key[0]) : NULL;

    return rib_manager_labels(v ? v->id : -1, wanted_label(s), write_labels, s);
}

const struct feature mpls_feature = {
    "mpls",
    .state = (const struct feature_state[]){{"label", .ask = ask_label}, {0}},
};
