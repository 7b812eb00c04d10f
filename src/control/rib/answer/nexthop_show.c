// SPDX-License-Identifier: BSD-3-Clause
// nexthop_show.c - answers control: the table of next hops
//
// table/nexthop.h has the forwarding part of an entry; neighbors, paths and next-hop objects know
// its owner and its legs. The answer joins both.
#include <stdlib.h>
#include <string.h>

#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"

struct owner { // of a group
    uint32_t id, kernel_id;
    uint16_t vr;
    uint32_t first_leg, n_legs;
};

struct nexthop_question {
    void (*done)(void *ctx, const struct nexthop_row *row, unsigned n,
                 const struct nexthop_leg *leg);
    void *ctx;
    VEC(struct nexthop_row) row;
    VEC(struct nexthop_leg) leg;
    VEC(struct owner) owner; // sorted by id when complete
};

static void add_group(struct nexthop_question *q, struct rib_vr *v, const struct hop_set *s,
                      uint32_t kernel_id)
{
    if (!s->group)
        return;
    *vec_push(&q->owner) = (struct owner){s->id, kernel_id, v->id, (uint32_t)q->leg.n, s->n};
    for (unsigned i = 0; i < s->n; i++) {
        const struct rib_link *l = rib_link_find(v, s->hop[i].key.ifindex);
        struct nexthop_leg *leg = vec_push(&q->leg);

        *leg = (struct nexthop_leg){.nexthop = l && l->via ? hop_nexthop(v, &s->hop[i]) : 0,
                                    .gateway = s->hop[i].key.gateway,
                                    .labels = s->hop[i].key.labels,
                                    .weight = s->hop[i].key.weight,
                                    .alive = !s->hop[i].lost && hop_is_alive(v, &s->hop[i].key)};
        if (l)
            memcpy(leg->iface, l->name, sizeof leg->iface);
        leg->buckets = nexthop_group_count(s->id, leg->nexthop);
    }
}

static void collect_groups(struct nexthop_question *q, struct rib_vr *v)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        add_group(q, v, &o->set, o->id);
    for (uint32_t id = 1; id < v->path.n; id++)
        if (rib_path_at(v, id))
            add_group(q, v, &rib_path_at(v, id)->own, 0);
}

static int by_id(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void fill_group(struct nexthop_question *q, struct nexthop_row *r)
{
    struct owner key = {.id = r->id},
                 *o = q->owner.n ? bsearch(&key, q->owner.item, q->owner.n, sizeof key, by_id)
                                 : NULL;

    r->buckets = nexthop_group_size(r->id);
    if (!o)
        return;
    r->vr = o->vr;
    r->kernel_id = o->kernel_id;
    r->first_leg = o->first_leg;
    r->n_legs = o->n_legs;
}

// Labels that an ENCAP pushes; none for other kinds.
static void encap_labels(uint32_t nexthop, struct label_stack *s)
{
    const struct nexthop *nh = nexthop_get(nexthop);
    const struct nexthop_encap *e = &nh->encap;

    *s = (struct label_stack){0};
    if (nexthop_word_kind(nexthop_word(nh)) != NEXTHOP_ENCAP)
        return;
    s->n = e->n;
    s->ttl = e->ttl;
    for (unsigned i = 0; i < e->n; i++)
        s->label[i] = nexthop_label_number(e->label_be[i]);
}

static void fill_nexthop(struct nexthop_question *q, struct nexthop_row *r, uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);
    uint64_t word = nexthop_word(nh);
    const struct neigh *n = neigh_of_nexthop(id);
    const struct iface *f = iface_get(nexthop_word_iface(word));

    *r = (struct nexthop_row){.id = id,
                              .kind = nexthop_word_kind(word),
                              .vr = -1,
                              .holders = nexthop_holders(id),
                              .in_use = nexthop_used_since(id, 2),
                              .packets = nexthop_chosen_packets(id)};
    if (r->kind == NEXTHOP_GROUP) {
        fill_group(q, r);
        return;
    }
    struct nexthop_count sent = nexthop_count_sum(id);
    r->sent_packets = sent.packets;
    r->sent_bytes = sent.bytes;
    if (nexthop_word_iface(word)) {
        r->vr = f->vr;
        memcpy(r->iface, f->name, sizeof r->iface);
        r->mtu = nexthop_word_mtu(word);
    }
    if (r->kind == NEXTHOP_ENCAP) {
        n = neigh_of_nexthop(nh->encap.via);
        r->vr = nh->encap.vr;
        encap_labels(id, &r->labels);
    }
    if (n)
        r->gateway = n->addr;
    if (r->kind == NEXTHOP_ADJACENCY)
        memcpy(r->mac, nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word), 6);
}

static void answer_nexthops(void *arg)
{
    struct nexthop_question *q = arg;

    q->done(q->ctx, q->row.item, (unsigned)q->row.n, q->leg.item);
    vec_free(&q->row);
    vec_free(&q->leg);
    vec_free(&q->owner);
    free(q);
}

static void collect_nexthops(void *arg)
{
    struct nexthop_question *q = arg;

    rib_vr_each (v)
        collect_groups(q, v);
    if (q->owner.n)
        qsort(q->owner.item, q->owner.n, sizeof q->owner.item[0], by_id);
    for (uint32_t id = 1; id < NEXTHOP_ALL_MAX; id++)
        if (nexthop_holders(id) &&
            nexthop_word_kind(nexthop_word(nexthop_get(id))) != NEXTHOP_ALIAS)
            fill_nexthop(q, vec_push(&q->row), id);
    manager_reply(answer_nexthops, q);
}

int rib_manager_nexthops(void (*done)(void *ctx, const struct nexthop_row *row, unsigned n,
                                      const struct nexthop_leg *leg),
                         void *ctx)
{
    struct nexthop_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_nexthops, &q, sizeof q);
}
