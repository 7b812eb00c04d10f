// SPDX-License-Identifier: BSD-3-Clause
// label_show.c - answers control: the routes of MPLS labels
#include <stdlib.h>
#include <string.h>

#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/nexthop.h"

struct label_question {
    int vr;
    uint32_t label;
    void (*done)(void *ctx, const struct label_row *row, unsigned n, const struct rib_hop *hop);
    void *ctx;
    VEC(struct label_row) row;
    VEC(struct rib_hop) hop;
};

static int by_label(const void *a, const void *b)
{
    const struct label_row *x = a, *y = b;

    return x->vr != y->vr ? x->vr - y->vr : x->label < y->label ? -1 : x->label > y->label;
}

static void add_label(struct label_question *q, struct rib_vr *v, const struct rib_label *l)
{
    *vec_push(&q->row) = (struct label_row){
        .vr = v->id,
        .label = l->label,
        .protocol = l->protocol,
        .active = l->nexthop != 0,
        .nexthop = l->nexthop,
        .kind = nexthop_kind_name(nexthop_word_kind(nexthop_word(nexthop_get(l->nexthop)))),
        .first_hop = (uint32_t)q->hop.n,
        .n_hops = l->set.n};
    for (unsigned i = 0; i < l->set.n; i++) {
        struct rib_hop *h = vec_push(&q->hop);

        rib_hop_fill(v, h, &l->set.hop[i].key, l->set.hop[i].neigh);
        h->resolved |= l->nexthop && !h->gateway.family; // a MAC, or a virtual router
    }
}

static void collect_of(struct label_question *q, struct rib_vr *v)
{
    struct rib_label *l;

    if (q->label) {
        l = rib_map_find(&v->labels.of, q->label);
        if (l)
            add_label(q, v, l);
        return;
    }
    rib_map_each (&v->labels.of, l)
        add_label(q, v, l);
}

static void answer_labels(void *arg)
{
    struct label_question *q = arg;

    if (q->row.n > 1)
        qsort(q->row.item, q->row.n, sizeof q->row.item[0], by_label);
    q->done(q->ctx, q->row.item, (unsigned)q->row.n, q->hop.item);
    vec_free(&q->row);
    vec_free(&q->hop);
    free(q);
}

static void collect_labels(void *arg)
{
    struct label_question *q = arg;

    rib_vr_each (v)
        if (q->vr < 0 || q->vr == v->id)
            collect_of(q, v);
    manager_reply(answer_labels, q);
}

int rib_manager_labels(int vr, uint32_t label,
                       void (*done)(void *ctx, const struct label_row *row, unsigned n,
                                    const struct rib_hop *hop),
                       void *ctx)
{
    struct label_question q = {.vr = vr, .label = label, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_labels, &q, sizeof q);
}
