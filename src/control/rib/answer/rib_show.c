// SPDX-License-Identifier: BSD-3-Clause
// rib_show.c - answers control: neighbors, statistics, the audit, lengths, counts, addresses
//
// As in the other files of this folder, a query is a block of memory: it crosses to rib_manager,
// which fills it, and back to control, which calls the callback and frees it.
#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop_count.h"

// --- neighbors ---

struct neigh_question {
    void (*done)(void *ctx, const struct neigh_row *row, unsigned n);
    void *ctx;
    VEC(struct neigh_row) row;
};

static const char *state_name(const struct neigh *n)
{
    static const struct {
        uint16_t bit;
        const char *name;
    } name[] = {{NUD_PERMANENT, "permanent"}, {NUD_NOARP, "noarp"}, {NUD_REACHABLE, "reachable"},
                {NUD_STALE, "stale"},         {NUD_DELAY, "delay"}, {NUD_PROBE, "probe"},
                {NUD_FAILED, "failed"}};

    for (size_t i = 0; n->in_kernel && i < sizeof name / sizeof *name; i++)
        if (n->state & name[i].bit)
            return name[i].name;
    return n->failed_until_ns ? "failed" : "incomplete";
}

static void add_neigh(struct neigh_question *q, const struct neigh *n)
{
    struct neigh_row *row = vec_push(&q->row);

    memset(row, 0, sizeof *row);
    row->vr = n->vr->id;
    row->addr = n->addr;
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);
    row->iface_id = l->via;
    memcpy(row->iface, l->name, sizeof row->iface);
    if (n->has_mac)
        memcpy(row->mac, n->mac, 6);
    row->state = state_name(n);
    row->nexthop = n->nexthop;
    row->held = n->n_held;
    row->gateway = n->refs > 0;
    row->in_use = neigh_is_used(n);
}

static void neigh_answer(void *arg)
{
    struct neigh_question *q = arg;

    q->done(q->ctx, q->row.item, (unsigned)q->row.n);
    vec_free(&q->row);
    free(q);
}

static void neigh_collect(void *arg)
{
    struct neigh_question *q = arg;
    struct neigh *n;

    neigh_each (n, -1)
        if (neigh_is_ours(n))
            add_neigh(q, n);
    manager_reply(neigh_answer, q);
}

int rib_manager_neigh(void (*done)(void *ctx, const struct neigh_row *row, unsigned n), void *ctx)
{
    struct neigh_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, neigh_collect, &q, sizeof q);
}

// --- statistics ---

struct stats_question {
    uint16_t vr;
    void (*done)(void *ctx, const struct rib_stats *s);
    void *ctx;
    struct rib_stats stats;
};

static void fill_family(struct rib_vr *v, uint8_t family, struct rib_family_stats *s)
{
    const struct rib *r = rib_of(v, family);

    s->routes = r->n_routes;
    memcpy(s->by_protocol, r->by_protocol, sizeof s->by_protocol);
    s->fib_routes = r->n_fib;
    s->updates = r->updates;
    fib_stats(rib_fib(v, family), &s->fib);
}

static void fill_budget(struct rib_vr *v, struct rib_budget_stats *b)
{
    for (unsigned i = 0; i < 2; i++) {
        b->routes[i] = rib_budget_used(&v->rib[i]);
        b->waiting[i] = rib_budget_waiting(&v->rib[i]);
    }
    b->nexthops = v->n_nexthops;
    b->neighbors = v->n_neighbors;
    b->refused_neighbors = v->refused_neighbors;
    b->labels = v->labels.of.n;
    b->refused_labels = v->labels.n_refused;
    b->memory = rib_memory_charged(v);
}

static void fill_stats(struct rib_vr *v, struct rib_stats *s)
{
    struct rib_unfollowed u;

    rib_unfollowed_report(v, &u);
    *s = (struct rib_stats){
        .messages = v->messages,
        .batches = v->batches,
        .overruns = v->overruns,
        .netlink_port = v->events.portid,
        .resyncs = v->resyncs,
        .swept = v->swept,
        .diverged = v->diverged,
        .ignored_rules = u.of[UNFOLLOWED_RULE].n,
        .unfollowed = u.n,
        .nexthops = nexthop_used(),
        .neighbors = neigh_count(v->id),
        .held = counter_mine()->held,
        .labels = v->labels.n_installed,
        .label_updates = v->labels.updates,
        .synced = v->synced,
        .rib_bytes = rib_memory_bytes(&v->rib[0]) + rib_memory_bytes(&v->rib[1]),
    };
    fill_family(v, IP4, &s->family[0]);
    fill_family(v, IP6, &s->family[1]);
    fill_budget(v, &s->budget);
}

static void stats_answer(void *arg)
{
    struct stats_question *q = arg;

    q->done(q->ctx, &q->stats);
    free(q);
}

static void stats_collect(void *arg)
{
    struct stats_question *q = arg;
    struct rib_vr *v = rib_vr_find(q->vr);

    if (v)
        fill_stats(v, &q->stats);
    manager_reply(stats_answer, q);
}

int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx)
{
    struct stats_question q = {.vr = vr, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, stats_collect, &q, sizeof q);
}

// --- audit ---

struct audit_question {
    uint16_t vr;
    bool now; // runs the next audit; else the last report
    void (*done)(void *ctx, const struct rib_audit_report *r);
    void *ctx;
    struct rib_audit_report report;
};

static void audit_answer(void *arg)
{
    struct audit_question *q = arg;

    q->done(q->ctx, &q->report);
    free(q);
}

static void audit_done(void *ctx, const struct rib_audit_report *r)
{
    struct audit_question *q = ctx;

    q->report = *r;
    if (rib_vr_find(q->vr))
        rib_unfollowed_report(rib_vr_find(q->vr), &q->report.unfollowed);
    manager_reply(audit_answer, q);
}

static void audit_ask(void *arg)
{
    struct audit_question *q = arg;
    struct rib_vr *v = rib_vr_find(q->vr);

    if (v && q->now)
        rib_audit_ask(v, audit_done, q);
    else
        audit_done(q, v ? &v->audit.last : &(struct rib_audit_report){.result = -ENOENT});
}

int rib_manager_audit(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                      void *ctx)
{
    struct audit_question q = {.vr = vr, .now = true, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, audit_ask, &q, sizeof q);
}

int rib_manager_audit_report(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                             void *ctx)
{
    struct audit_question q = {.vr = vr, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, audit_ask, &q, sizeof q);
}

// --- length of the prefix that routes an address ---

struct lengths {
    struct rib_length *ask;
    unsigned n;
    void (*done)(void *ctx);
    void *ctx;
};

static void find_length(struct rib_length *a)
{
    struct rib_vr *v = a->addr.family ? rib_vr_find(a->vr) : NULL;

    a->len = 0;
    if (!v)
        return;
    struct prefix host = rib_host(&a->addr);
    struct rib *r = rib_of(v, host.family);
    uint32_t node = rib_longest(v, r, &host);
    if (node)
        a->len = rib_trie_at(&r->trie, node)->len;
}

static void answer_lengths(void *arg)
{
    struct lengths *l = arg;

    l->done(l->ctx);
    free(l);
}

static void find_lengths(void *arg)
{
    struct lengths *l = arg;

    for (unsigned i = 0; i < l->n; i++)
        find_length(&l->ask[i]);
    manager_reply(answer_lengths, l);
}

int rib_manager_lengths(struct rib_length *ask, unsigned n, void (*done)(void *ctx), void *ctx)
{
    struct lengths l = {ask, n, done, ctx};

    return manager_ask(ROLE_RIB_MANAGER, find_lengths, &l, sizeof l);
}

// --- counted prefixes and their packets ---

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

static void add_counted(struct counted_question *q, struct rib_vr *v, const struct rib_counted *c)
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
                add_counted(q, v, c);
    manager_reply(answer_counted, q);
}

int rib_manager_counted(void (*done)(void *ctx, const struct counted_row *row, unsigned n),
                        void *ctx)
{
    struct counted_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_counted, &q, sizeof q);
}

// --- addresses of our interfaces ---

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

static void add_addresses(struct address_question *q, const struct rib_vr *v,
                          const struct rib_link *l)
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
                add_addresses(q, v, l);
    }
    manager_reply(answer_addresses, q);
}

int rib_manager_addresses(void (*done)(void *ctx, const struct address_row *row, unsigned n),
                          void *ctx)
{
    struct address_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, collect_addresses, &q, sizeof q);
}
