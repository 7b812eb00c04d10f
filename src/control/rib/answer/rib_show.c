// SPDX-License-Identifier: BSD-3-Clause
// rib_show.c - neighbors, statistics and the audit, asked by control
//
// Each answer is one heap block that crosses to the control loop and is freed
// there after the asker's function has seen it.
#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/iface.h"

// --- neighbors ---

struct neigh_question {
    int vr;
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

static void add_neigh(void *ctx, struct neigh *n)
{
    struct neigh_question *q = ctx;
    struct neigh_row *row;

    if (!neigh_is_ours(n))
        return;
    row = vec_push(&q->row);
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

    neigh_each(q->vr, add_neigh, q);
    manager_reply(neigh_answer, q);
}

int rib_manager_neigh(int vr, void (*done)(void *ctx, const struct neigh_row *row, unsigned n),
                      void *ctx)
{
    struct neigh_question q = {.vr = vr, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, neigh_collect, &q, sizeof q);
}

// --- statistics ---

struct stats_question {
    uint16_t vr;
    void (*done)(void *ctx, const struct rib_stats *s);
    void *ctx;
    struct rib_stats stats;
};

static void fill_stats(struct rib_vr *v, struct rib_stats *s)
{
    struct fib_stats f4, f6;

    fib_stats(rib_fib(v, IP4), &f4);
    fib_stats(rib_fib(v, IP6), &f6);
    *s = (struct rib_stats){
        .routes4 = v->rib[0].n_routes,
        .routes6 = v->rib[1].n_routes,
        .fib_routes4 = v->rib[0].n_fib,
        .fib_routes6 = v->rib[1].n_fib,
        .messages = v->messages,
        .batches = v->batches,
        .overruns = v->overruns,
        .netlink_port = v->events.portid,
        .resyncs = v->resyncs,
        .swept = v->swept,
        .diverged = v->diverged,
        .updates4 = v->rib[0].updates,
        .updates6 = v->rib[1].updates,
        .last_change_ns = v->last_change_ns,
        .resync_ns = v->sync.took_ns,
        .nexthops = nexthop_used(),
        .neighbors = neigh_count(v->id),
        .held = counter_mine()->held,
        .synced = v->synced,
        .engine4 = f4.engine,
        .engine6 = f6.engine,
        .engine_faults4 = f4.engine_faults,
        .engine_faults6 = f6.engine_faults,
        .engine_rebuilds4 = f4.engine_rebuilds,
        .engine_rebuilds6 = f6.engine_rebuilds,
        .fib_copies4 = f4.copies,
        .fib_copies6 = f6.copies,
        .fib_bytes4 = f4.bytes_used,
        .fib_bytes6 = f6.bytes_used,
        .fib_shared_bytes4 = f4.bytes_shared,
        .fib_shared_bytes6 = f6.bytes_shared,
        .fib_nodes4 = f4.nodes,
        .fib_nodes6 = f6.nodes,
        .fib_leaves4 = f4.leaves,
        .fib_leaves6 = f6.leaves,
        .fib_control_bytes4 = f4.control_bytes,
        .fib_control_bytes6 = f6.control_bytes,
    };
    for (int i = 0; i < 2; i++)
        s->rib_bytes += rib_pool_bytes(&v->rib[i].trie.node) + rib_pool_bytes(&v->rib[i].route) +
                        rib_pool_bytes(&v->rib[i].neigh.node);
    struct rib_unfollowed u;
    rib_unfollowed_report(v, &u);
    s->ignored_rules = u.of[UNFOLLOWED_RULE].n;
    s->unfollowed = u.n;
    memcpy(s->by_protocol4, v->rib[0].by_protocol, sizeof s->by_protocol4);
    memcpy(s->by_protocol6, v->rib[1].by_protocol, sizeof s->by_protocol6);
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

static void audit_begin(void *arg)
{
    struct audit_question *q = arg;
    struct rib_vr *v = rib_vr_find(q->vr);

    if (v)
        rib_audit_ask(v, audit_done, q);
    else
        audit_done(q, &(struct rib_audit_report){.result = -ENOENT});
}

static void audit_report(void *arg)
{
    struct audit_question *q = arg;
    struct rib_vr *v = rib_vr_find(q->vr);

    audit_done(q, v ? &v->audit.last : &(struct rib_audit_report){.result = -ENOENT});
}

static int ask_audit(uint16_t vr, void (*fn)(void *arg),
                     void (*done)(void *ctx, const struct rib_audit_report *r), void *ctx)
{
    struct audit_question q = {.vr = vr, .done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, fn, &q, sizeof q);
}

int rib_manager_audit(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                      void *ctx)
{
    return ask_audit(vr, audit_begin, done, ctx);
}

int rib_manager_audit_report(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                             void *ctx)
{
    return ask_audit(vr, audit_report, done, ctx);
}
