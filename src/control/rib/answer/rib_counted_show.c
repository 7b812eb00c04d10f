// SPDX-License-Identifier: BSD-3-Clause
// rib_counted_show.c - answers control: counted prefixes and their packets
#include <stdlib.h>

#include "core/manager.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/prefix_count.h"

struct counted_question {
    void (*done)(void *ctx, const struct counted_row *row, unsigned n);
    void *ctx;
    VEC(struct counted_row) row;
};

static void answer_counted(void *arg)
{
    struct counted_question *q = arg;

    q->done(q->ctx, q->row.item, (unsigned)q->row.n);
    vec_free(&q->row);
    free(q);
}

static void add_row(struct counted_question *q, struct rib_vr *v, const struct rib_counted *c)
{
    const struct rib_trie *t = &rib_of(v, c->prefix.family)->trie;
    uint32_t node = rib_trie_find(t, &c->prefix),
             leaf = node ? rib_trie_at(t, node)->nexthop : 0;
    struct prefix_count sum = prefix_count_sum(c->slot);

    *vec_push(&q->row) = (struct counted_row){.vr = v->id,
                                              .prefix = c->prefix,
                                              .nexthop = leaf ? nexthop_real(leaf) : 0,
                                              .active = leaf && nexthop_real(leaf) != leaf &&
                                                        nexthop_get(leaf)->alias.counter == c->slot,
                                              .packets = sum.packets,
                                              .bytes = sum.bytes};
}

static void collect_counted(void *arg)
{
    struct counted_question *q = arg;

    rib_vr_each (v)
        for (unsigned six = 0; six < 2; six++)
            vec_foreach (&v->counted[six], c)
                add_row(q, v, c);
    manager_reply(answer_counted, q);
}

int rib_manager_counted(void (*done)(void *ctx, const struct counted_row *row, unsigned n),
                        void *ctx)
{
    struct counted_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_counted, &q, sizeof q);
}
