// SPDX-License-Identifier: BSD-3-Clause
// journal_query.c - queries of the journal by control: changes, routes of an earlier time, new
// records
//
// A query reads the ring newest first, RECORDS_PER_STEP at a time, so that rib_manager's other work
// continues in between; records written meanwhile do not count. To find the route of an earlier
// time, it takes the prefixes that cover the address now, and undoes each record of one of these
// prefixes or of its next hop. Between two steps control only passes the query on.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "rib/journal/journal_priv.h"
#include "rib/vr.h"
#include "table/nexthop.h"

#define RECORDS_PER_STEP (1u << 16)

struct state { // one prefix at the time that the walk has reached
    uint32_t nexthop; // held
    uint16_t leaf;
    uint8_t protocol;
};

struct journal_question {
    struct journal_query q;
    void (*done)(void *ctx, struct journal_answer *a);
    void *ctx;
    enum { CHANGES, AT, TAIL } kind;
    bool started, ended;
    uint64_t next; // records from here on have been examined
    struct state cover[129];
    uint32_t *copied; // next hop -> 1 + index in the answer
    uint32_t n_copied;
    struct journal_answer a;
};

static uint64_t wall_of(uint64_t mono_ns)
{
    return clock_wall_ns() - (clock_now_ns() - mono_ns);
}

// Copies the next hop into the answer; returns 1 + its index.
static uint32_t copy_nexthop(struct journal_question *q, uint32_t nexthop)
{
    if (!nexthop)
        return 0;
    if (nexthop >= q->n_copied) {
        uint32_t n = journal_nexthop_top() > nexthop ? journal_nexthop_top() : nexthop + 1;

        q->copied = realloc(q->copied, n * sizeof *q->copied);
        bug_on(!q->copied);
        memset(q->copied + q->n_copied, 0, (n - q->n_copied) * sizeof *q->copied);
        q->n_copied = n;
    }
    if (!q->copied[nexthop]) {
        journal_nexthop_copy(nexthop, vec_push(&q->a.nexthop));
        q->copied[nexthop] = (uint32_t)q->a.nexthop.n;
    }
    return q->copied[nexthop];
}

static bool is_asked(const struct journal_question *q, const struct record *r)
{
    struct prefix p = {.family = r->family, .len = r->len};

    if (q->q.vr >= 0 && q->q.vr != r->vr)
        return false;
    if (!r->family)
        return !q->q.family && q->q.match == JOURNAL_ALL;
    if (q->q.family && q->q.family != r->family)
        return false;
    memcpy(p.b, r->b, sizeof p.b);
    switch (q->q.match) {
    case JOURNAL_ALL: return true;
    case JOURNAL_EXACT: return prefix_equal(&p, &q->q.prefix);
    case JOURNAL_LONGER: return prefix_covers(&q->q.prefix, &p);
    case JOURNAL_COVERING: return prefix_covers(&p, &q->q.prefix);
    }
    return false;
}

// --- changes ---

// By the next step, the number of a next hop may belong to another one, so a translation lasts one
// step.
static void forget_numbers(struct journal_question *q)
{
    free(q->copied);
    q->copied = NULL;
    q->n_copied = 0;
}

static void add_row(struct journal_question *q, const struct record *r)
{
    struct journal_row *row;

    if (!is_asked(q, r) || (r->family && r->was == r->is)) // only an alias changed
        return;
    if (q->a.row.n == q->q.limit) {
        q->a.cut = q->ended = true;
        return;
    }
    row = vec_push(&q->a.row);
    *row = (struct journal_row){.wall_ns = wall_of(r->time_ns), .vr = r->vr, .cause = r->cause,
                                .was_protocol = r->was_protocol, .protocol = r->protocol};
    row->prefix.family = r->family;
    row->prefix.len = r->len;
    memcpy(row->prefix.b, r->b, sizeof row->prefix.b);
    row->was = copy_nexthop(q, r->was);
    row->is = copy_nexthop(q, r->is);
}

// --- new records ---

static void add_tail(struct journal_question *q)
{
    uint64_t end = journal_ring.next, at = q->q.from < end ? q->q.from : end;
    uint64_t first =
        end - journal_ring.oldest > q->q.limit ? end - q->q.limit : journal_ring.oldest;

    if (at < first) {
        q->a.lost = first - at;
        at = first;
    }
    for (; at < end; at++)
        add_row(q, record_at(at));
    q->a.next = end;
    q->ended = true;
}

// --- earlier routes ---

static void put_state(struct journal_question *q, unsigned len, uint32_t nexthop, uint8_t protocol,
                      uint16_t leaf)
{
    journal_nexthop_hold(nexthop);
    journal_nexthop_put(q->cover[len].nexthop);
    q->cover[len] = (struct state){nexthop, leaf, protocol};
}

// Starts with the prefixes that cover the address (or equal the prefix) in the current FIB.
static void start_at(struct journal_question *q, struct rib_vr *v)
{
    struct rib *r = rib_of(v, q->q.family);
    uint32_t node = rib_trie_cover(&r->trie, &q->q.prefix);

    for (; node; node = rib_trie_parent(&r->trie, node)) {
        const struct rib_node *n = rib_trie_at(&r->trie, node);

        if (q->q.match == JOURNAL_EXACT && n->len != q->q.prefix.len)
            break;
        put_state(q, n->len, journal_nexthop_of(nexthop_real(n->nexthop)), n->protocol, n->nexthop);
    }
}

static void undo_record(struct journal_question *q, const struct record *r)
{
    if (r->vr != q->q.vr)
        return;
    if (r->family) {
        if (is_asked(q, r))
            put_state(q, r->len, r->was, r->was_protocol, r->was_leaf);
        return;
    }
    for (unsigned len = 0; len <= 128; len++)
        if (q->cover[len].nexthop == r->is)
            put_state(q, len, r->was, q->cover[len].protocol, q->cover[len].leaf);
}

static void copy_longest(struct journal_question *q)
{
    for (int len = 128; len >= 0; len--) {
        if (!q->cover[len].nexthop)
            continue;
        if (!q->a.found) {
            q->a.found = true;
            q->a.prefix = q->q.prefix;
            q->a.prefix.len = (uint8_t)len;
            prefix_canon(&q->a.prefix);
            q->a.protocol = q->cover[len].protocol;
            q->a.is = copy_nexthop(q, q->cover[len].nexthop);
            q->a.leaf = q->cover[len].leaf;
        }
        put_state(q, (unsigned)len, 0, 0, 0);
    }
}

// --- common ---

static uint64_t reach_of_vr(const struct journal_question *q, const struct rib_vr *v)
{
    uint64_t since = 0;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t one = journal_reach(v->rib[i].loaded_ns);

        if ((!q->q.family || q->q.family == v->rib[i].trie.family) && one > since)
            since = one;
    }
    return since;
}

// Start of the journal's knowledge for this query. With several virtual routers it is the oldest
// one's: a younger router had no changes before it existed.
static uint64_t reach_of_query(const struct journal_question *q)
{
    uint64_t since = UINT64_MAX;

    rib_vr_each (v) {
        if (q->q.vr >= 0 && q->q.vr != v->id)
            continue;
        uint64_t one = reach_of_vr(q, v);
        since = one < since ? one : since;
    }
    return since;
}

static void begin_query(struct journal_question *q)
{
    struct rib_vr *v = q->q.vr >= 0 ? rib_vr_find((uint16_t)q->q.vr) : NULL;
    uint64_t since = reach_of_query(q);

    q->started = true;
    q->next = journal_ring.next;
    if (q->q.before && q->q.before < q->next)
        q->next = q->q.before;
    if ((q->q.vr >= 0 && !v) || since == UINT64_MAX || !journal_ring.room) {
        q->a.result = q->q.vr >= 0 && !v ? -ENOENT : -ENODATA;
        q->ended = true;
        return;
    }
    q->a.since_ns = wall_of(since);
    q->a.reached = q->q.from_ns >= since;
    if (q->kind == AT && q->a.reached)
        start_at(q, v);
    else if (q->kind == AT)
        q->ended = true;
}

static void end_query(struct journal_question *q)
{
    bool lost = q->kind == AT && q->next < journal_ring.oldest && !q->a.result;

    if (lost) { // overwritten while being read
        q->a.reached = false;
        q->a.since_ns = wall_of(reach_of_query(q));
        for (unsigned len = 0; len <= 128; len++)
            put_state(q, len, 0, 0, 0);
    } else {
        copy_longest(q);
    }
}

static void continue_query(void *arg);
static void answer_query(void *arg);

static void advance_query(struct journal_question *q)
{
    unsigned n = 0;

    thread_must_be(ROLE_RIB_MANAGER);
    if (!q->started)
        begin_query(q);
    if (q->kind == TAIL && !q->ended)
        add_tail(q);
    while (!q->ended && n++ < RECORDS_PER_STEP) {
        if (q->next <= journal_ring.oldest || record_at(q->next - 1)->time_ns <= q->q.from_ns) {
            q->ended = true;
            break;
        }
        q->next--;
        if (q->kind == AT)
            undo_record(q, record_at(q->next));
        else
            add_row(q, record_at(q->next));
    }
    if (q->ended && q->kind == CHANGES)
        q->a.next = q->next + q->a.cut; // then the row beyond the limit comes first
    if (q->ended)
        end_query(q);
    forget_numbers(q);
}

void journal_at_now(const struct journal_query *query, struct journal_answer *a)
{
    struct journal_question q = {.q = *query, .kind = AT};

    prefix_canon(&q.q.prefix);
    while (!q.ended)
        advance_query(&q);
    *a = q.a;
}

static void step_query(void *arg)
{
    struct journal_question *q = arg;

    advance_query(q);
    manager_reply(q->ended ? answer_query : continue_query, q);
}

static void answer_query(void *arg)
{
    struct journal_question *q = arg;

    q->done(q->ctx, &q->a);
    vec_free(&q->a.row);
    vec_free(&q->a.nexthop);
    free(q);
}

// If the query cannot continue (rib_manager is ending, or its mailbox is full), its next hops stay
// held.
static void continue_query(void *arg)
{
    struct journal_question *q = arg;
    int err = mailbox_post(ROLE_RIB_MANAGER, step_query, q);

    if (!err)
        return;
    q->a.result = err;
    answer_query(q);
}

static int ask_journal(const struct journal_query *query, int kind,
                       void (*done)(void *ctx, struct journal_answer *a), void *ctx)
{
    struct journal_question q = {.q = *query, .kind = kind, .done = done, .ctx = ctx};

    prefix_canon(&q.q.prefix);
    return manager_ask(ROLE_RIB_MANAGER, step_query, &q, sizeof q);
}

int journal_changes(const struct journal_query *q,
                    void (*done)(void *ctx, struct journal_answer *a), void *ctx)
{
    return ask_journal(q, CHANGES, done, ctx);
}

int journal_at(const struct journal_query *q, void (*done)(void *ctx, struct journal_answer *a),
               void *ctx)
{
    return ask_journal(q, AT, done, ctx);
}

int journal_tail(const struct journal_query *q, void (*done)(void *ctx, struct journal_answer *a),
                 void *ctx)
{
    return ask_journal(q, TAIL, done, ctx);
}

// --- saved across a planned stop ---

struct newest {
    struct journal_answer *a;
    unsigned limit;
};

static int read_newest(void *arg)
{
    const struct newest *n = arg;
    struct journal_question q = {.q = {.vr = -1, .match = JOURNAL_ALL, .limit = n->limit}};

    thread_must_be(ROLE_RIB_MANAGER);
    for (uint64_t at = journal_ring.next; at > journal_ring.oldest && !q.ended; at--)
        add_row(&q, record_at(at - 1));
    forget_numbers(&q);
    *n->a = q.a;
    return 0;
}

int journal_save(unsigned limit, struct journal_answer *a)
{
    *a = (struct journal_answer){0};
    return manager_call(ROLE_RIB_MANAGER, read_newest, &(struct newest){a, limit},
                        sizeof(struct newest));
}

// --- statistics ---

struct stats_question {
    void (*done)(void *ctx, const struct journal_stats *s);
    void *ctx;
    struct journal_stats s;
};

static void stats_answer(void *arg)
{
    struct stats_question *q = arg;

    q->done(q->ctx, &q->s);
    free(q);
}

static void stats_collect(void *arg)
{
    struct stats_question *q = arg;

    journal_stats(&q->s);
    manager_reply(stats_answer, q);
}

int journal_ask_stats(void (*done)(void *ctx, const struct journal_stats *s), void *ctx)
{
    struct stats_question q = {.done = done, .ctx = ctx};

    return manager_ask(ROLE_RIB_MANAGER, stats_collect, &q, sizeof q);
}
