// SPDX-License-Identifier: BSD-3-Clause
// rib_multicast_show.c - answers control: multicast routes and joined groups
//
// rib_manager collects all rows of all virtual routers in one call and sorts them, so that the
// order does not depend on its hash tables. Rows carry names instead of its pointers and numbers.
// Packet counters come from the forwarders' table; a route outside it has none.
#include <stdlib.h>

#include "core/manager.h"
#include "rib/rib_multicast.h"
#include "table/iface.h"

struct multicast_question {
    void (*done)(void *ctx, const struct multicast_row *row, unsigned n,
                 const struct multicast_join_row *join, unsigned n_join);
    void *ctx;
    VEC(struct multicast_row) row;
    VEC(struct multicast_join_row) join;
};

static struct ip_addr address_of(uint16_t family, const uint8_t b[16])
{
    static const uint8_t any[16];
    struct ip_addr a = {.family = memcmp(b, any, 16) ? (uint8_t)family : IP_NONE};

    memcpy(a.b, b, 16);
    return a;
}

static void name_link(const struct rib_vr *v, int ifindex, char name[16])
{
    const struct rib_link *l = rib_link_find(v, ifindex);

    if (l)
        memcpy(name, l->name, 16);
}

static void fill_outputs(const struct rib_vr *v, const struct rib_mroute *r,
                         struct multicast_row *row)
{
    const struct multicast_static *s = r->fixed;
    const struct netlink_mroute *m = r->kernel;

    if (s) {
        memcpy(row->in, s->in, sizeof row->in);
        row->n_out = s->n_out;
        memcpy(row->out, s->out, s->n_out * sizeof *s->out);
        return;
    }
    name_link(v, m->in, row->in);
    row->n_out = m->n_out;
    for (unsigned i = 0; i < m->n_out; i++) {
        name_link(v, m->out[i].ifindex, row->out[i].iface);
        row->out[i].ttl = m->out[i].ttl;
    }
}

static void add_route(struct multicast_question *q, const struct rib_vr *v,
                      const struct rib_mroute *r)
{
    const struct multicast_table *t = multicast_table[v->id][r->key.family == IP6];
    const struct multicast_entry *e = t ? multicast_find(t, &r->key) : NULL;
    struct multicast_row *row = vec_push(&q->row);

    memset(row, 0, sizeof *row);
    row->vr = v->id;
    row->family = (uint8_t)r->key.family;
    row->source = address_of(r->key.family, r->key.source);
    row->group = address_of(r->key.family, r->key.group);
    row->is_static = r->fixed;
    fill_outputs(v, r, row);
    if (!e)
        return;
    row->by_kernel = e->flags & MULTICAST_SLOW;
    row->packets = __atomic_load_n(&e->counter->packets, __ATOMIC_RELAXED);
    row->bytes = __atomic_load_n(&e->counter->bytes, __ATOMIC_RELAXED);
    row->wrong = __atomic_load_n(&e->counter->wrong, __ATOMIC_RELAXED);
}

static void collect_vr(struct multicast_question *q, const struct rib_vr *v)
{
    const struct rib_mroute *r;
    struct rib_link *l;

    rib_map_each (&v->mroutes, r)
        for (; r; r = r->next)
            add_route(q, v, r);
    rib_map_each (&v->link, l)
        vec_foreach (&l->group, g) {
            struct multicast_join_row *row = l->iface ? vec_push(&q->join) : NULL;

            if (!row)
                continue;
            memset(row, 0, sizeof *row);
            row->vr = v->id;
            row->group = g->addr;
            memcpy(row->iface, l->name, sizeof row->iface);
        }
}

static void answer_multicast(void *arg)
{
    struct multicast_question *q = arg;

    q->done(q->ctx, q->row.item, (unsigned)q->row.n, q->join.item, (unsigned)q->join.n);
    vec_free(&q->row);
    vec_free(&q->join);
    free(q);
}

// Stable order: by router, family, group, source.
static int compare_route(const void *pa, const void *pb)
{
    const struct multicast_row *a = pa, *b = pb;
    int d = a->vr != b->vr ? a->vr - b->vr : a->family - b->family;

    d = d ? d : memcmp(a->group.b, b->group.b, 16);
    return d ? d : memcmp(a->source.b, b->source.b, 16);
}

static int compare_join(const void *pa, const void *pb)
{
    const struct multicast_join_row *a = pa, *b = pb;
    int d = a->vr != b->vr ? a->vr - b->vr : strcmp(a->iface, b->iface);

    d = d ? d : a->group.family - b->group.family;
    return d ? d : memcmp(a->group.b, b->group.b, 16);
}

static void collect_multicast(void *arg)
{
    struct multicast_question *q = arg;

    rib_vr_each (v)
        collect_vr(q, v);
    if (q->row.n)
        qsort(q->row.item, q->row.n, sizeof *q->row.item, compare_route);
    if (q->join.n)
        qsort(q->join.item, q->join.n, sizeof *q->join.item, compare_join);
    manager_reply(answer_multicast, q);
}

int rib_manager_multicast(void (*done)(void *ctx, const struct multicast_row *row, unsigned n,
                                       const struct multicast_join_row *join, unsigned n_join),
                          void *ctx)
{
    struct multicast_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_multicast, &q, sizeof q);
}
