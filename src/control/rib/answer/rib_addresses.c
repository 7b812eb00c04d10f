// SPDX-License-Identifier: BSD-3-Clause
// rib_addresses.c - answers control: the addresses of our interfaces
#include <errno.h>
#include <stdlib.h>

#include "core/manager.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"

struct address_question {
    void (*done)(void *ctx, const struct address_row *row, unsigned n);
    void *ctx;
    VEC(struct address_row) row;
};

static void answer_addresses(void *arg)
{
    struct address_question *q = arg;

    q->done(q->ctx, q->row.item, (unsigned)q->row.n);
    vec_free(&q->row);
    free(q);
}

static void add_link(struct address_question *q, const struct rib_vr *v, const struct rib_link *l)
{
    vec_foreach (&l->addr, a)
        *vec_push(&q->row) = (struct address_row){.vr = v->id,
                                                  .iface = l->iface,
                                                  .addr = a->addr,
                                                  .len = a->len,
                                                  .secondary = a->secondary,
                                                  .usable = a->usable};
}

static void collect_addresses(void *arg)
{
    struct address_question *q = arg;

    rib_vr_each (v) {
        struct rib_link *l;

        rib_map_each (&v->link, l)
            if (l->iface)
                add_link(q, v, l);
    }
    manager_reply(answer_addresses, q);
}

int rib_manager_addresses(void (*done)(void *ctx, const struct address_row *row, unsigned n),
                          void *ctx)
{
    struct address_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_addresses, &q, sizeof q);
}
