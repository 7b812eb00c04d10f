// SPDX-License-Identifier: BSD-3-Clause
// rib_walk.c - answers control: a query of routes, chunk by chunk
//
//     control                                   rib_manager
//     rib_walk_open() --- post fill_chunk ----> fills at most 256 rows behind the cursor
//     rows(...)       <-- post take_chunk ----- cursor = last prefix it looked at
//     true? ------------- post fill_chunk ----> ...
//
// One side owns the walk at a time: rib_manager from the post of fill_chunk() until take_chunk()
// runs, control otherwise. Only `closed` is written meanwhile, and take_chunk() alone reads it. The
// cursor is a prefix and not a node, so changes between two chunks do no harm. All candidates of a
// prefix come in one chunk.
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/protocol.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"

#define ROWS 256
#define NODES_PER_STEP 16384 // prefixes examined per chunk if a filter passes few

struct rib_walk {
    struct rib_query q;
    bool (*rows)(void *ctx, const struct rib_row *row, unsigned n);
    void (*done)(void *ctx, int result);
    void *ctx;
    bool in_flight, closed, in_rows; // control's
    bool started, ended;
    int result;
    struct prefix within, cursor; // walked through; last one
    unsigned n;
    struct rib_row row[ROWS];
};

static uint8_t type_of(const struct rib_path *p, const struct rib_route *t)
{
    switch (p->type) {
    case RTN_LOCAL:
    case RTN_ANYCAST: return RIB_LOCAL;
    case RTN_BROADCAST: return RIB_BROADCAST;
    case RTN_BLACKHOLE: return RIB_BLACKHOLE;
    case RTN_PROHIBIT: return RIB_PROHIBIT;
    case RTN_MULTICAST: return RIB_MULTICAST;
    case RTN_THROW: return RIB_THROW;
    case RTN_UNICAST:
        return t->protocol == RTPROT_KERNEL && p->n_hops && !p->hop[0].gateway.family
                   ? RIB_CONNECTED
                   : RIB_UNICAST;
    default: return RIB_UNREACHABLE;
    }
}

void rib_hop_fill(struct rib_vr *v, struct rib_hop *h, const struct netlink_hop *key,
                  const struct neigh *n)
{
    const struct rib_link *l = rib_link_find(v, key->ifindex);

    memset(h, 0, sizeof *h);
    h->has_mac = key->gateway.family == NETLINK_VIA_MAC;
    memcpy(h->has_mac ? h->mac : h->gateway.b, key->gateway.b, h->has_mac ? 6 : 16);
    h->gateway.family = h->has_mac ? IP_NONE : key->gateway.family;
    h->labels = key->labels;
    h->weight = key->weight;
    if (l)
        memcpy(h->iface, l->name, sizeof h->iface);
    h->alive = hop_is_alive(v, key);
    h->foreign = l && !l->via;
    h->resolved = key->gateway.family ? n && neigh_is_resolved(n) : l && l->via;
}

static void fill_row(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route, bool active,
                     struct rib_row *row)
{
    const struct rib_route *t = rib_route_at(r, route);
    struct rib_path *p = rib_path_at(v, t->path);
    const struct hop_set *s = rib_path_hops(p);
    const struct rib_node *n = rib_trie_at(&r->trie, node);

    memset(row, 0, offsetof(struct rib_row, hop));
    row->prefix = rib_trie_prefix(&r->trie, node);
    row->type = type_of(p, t);
    row->protocol = t->protocol;
    row->metric = t->metric;
    row->mtu = p->mtu;
    row->active = active;
    row->nexthop = active ? nexthop_real(n->nexthop) : 0;
    row->nexthop_kind =
        row->nexthop ? nexthop_kind_name(nexthop_word_kind(nexthop_word(nexthop_get(row->nexthop))))
                     : "";
    bool own = !s->n && !p->nhid; // a path whose hops do not decide
    for (unsigned i = 0; i < (own ? p->n_hops : s->n) && row->n_hops < RIB_ROW_HOPS; i++) {
        struct rib_hop *h = &row->hop[row->n_hops++];

        rib_hop_fill(v, h, own ? &p->hop[i] : &s->hop[i].key, own ? NULL : s->hop[i].neigh);
        h->foreign &= p->type == RTN_UNICAST;
    }
}

// Uses the source's route, but `active` is the importer's.
static void fill_import(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route, bool active,
                        struct rib_row *row)
{
    struct rib_import_source s;

    rib_import_source(v, r->trie.family, route, &s);
    fill_row(s.vr, s.rib, s.node, s.route, active, row);
    row->imported = true;
    row->source_vr = s.vr->id;
}

static bool is_asked(struct rib_vr *v, const struct rib_query *q, uint32_t route)
{
    const struct rib_route *t = rib_route_at(rib_of(v, q->family), route);
    struct rib_import_source s;

    if (t->flags & RIB_ROUTE_HOST)
        return false;
    if (t->flags & RIB_ROUTE_IMPORT) {
        if (!rib_import_source(v, q->family, route, &s))
            return false;
        v = s.vr;
        t = rib_route_at(s.rib, s.route);
    }
    return (q->protocol < 0 || protocol_is(t->protocol, q->protocol)) &&
           (q->type < 0 || q->type == type_of(rib_path_at(v, t->path), t));
}

// Adds all requested candidates of a node; false when they do not fit into this chunk.
static bool fill_node(struct rib_walk *w, struct rib_vr *v, struct rib *r, uint32_t node)
{
    uint32_t best = 0, id = rib_trie_at(&r->trie, node)->head;
    unsigned n = 0;

    for (uint32_t i = id; i; i = rib_route_at(r, i)->next)
        n += is_asked(v, &w->q, i);
    if (!n)
        return true;
    if (w->n && w->n + n > ROWS)
        return false;
    bool waits = rib_budget_waits(r, node);
    if (rib_trie_at(&r->trie, node)->nexthop || waits)
        best = rib_best(v, r, node);
    for (; id && w->n < ROWS; id = rib_route_at(r, id)->next)
        if (is_asked(v, &w->q, id)) {
            struct rib_row *row = &w->row[w->n++];
            bool import = rib_route_at(r, id)->flags & RIB_ROUTE_IMPORT;

            (import ? fill_import : fill_row)(v, r, node, id, id == best && !waits, row);
            row->waits = id == best && waits;
            row->waits_for = row->waits ? rib_budget_short(v, r) : "";
        }
    return true;
}

static uint32_t next_node(struct rib_walk *w, struct rib *r)
{
    uint32_t node;

    if (w->started)
        node = rib_trie_after(&r->trie, &w->cursor);
    else if (w->q.match != RIB_FROM)
        node = rib_trie_first_in(&r->trie, &w->within);
    else if (!(node = rib_trie_find(&r->trie, &w->q.prefix)))
        node = rib_trie_after(&r->trie, &w->q.prefix);
    return node;
}

static void fill_range(struct rib_walk *w, struct rib_vr *v, struct rib *r)
{
    uint32_t node = next_node(w, r);

    for (unsigned i = 0; node && rib_trie_is_in(&r->trie, node, &w->within); i++) {
        if (i == NODES_PER_STEP || w->n == ROWS || !fill_node(w, v, r, node))
            return;
        w->cursor = rib_trie_prefix(&r->trie, node);
        w->started = true;
        node = rib_trie_next(&r->trie, node);
    }
    w->ended = true;
}

static void take_chunk(void *arg);

// First node among `node` and its ancestors that is in force, or would be within the budget, by a
// route of the kernel or an import.
static uint32_t in_force_from(struct rib_vr *v, struct rib *r, uint32_t node)
{
    uint32_t best;

    for (; node; node = rib_trie_parent(&r->trie, node)) {
        best = rib_best(v, r, node);
        if (best && !(rib_route_at(r, best)->flags & RIB_ROUTE_HOST) &&
            is_asked(v, &(struct rib_query){.family = r->trie.family, .protocol = -1, .type = -1},
                     best))
            break;
    }
    return node;
}

static void fill_longest(struct rib_walk *w, struct rib_vr *v, struct rib *r)
{
    uint32_t node = in_force_from(v, r, rib_trie_cover(&r->trie, &w->q.prefix));

    while (node && fill_node(w, v, r, node) && w->q.all_waiting && rib_budget_waits(r, node))
        node = in_force_from(v, r, rib_trie_parent(&r->trie, node));
}

static void fill_chunk(void *arg)
{
    struct rib_walk *w = arg;
    struct rib_vr *v = rib_vr_find(w->q.vr);
    struct rib *r = v ? rib_of(v, w->q.family) : NULL;
    uint32_t node;

    w->n = 0;
    if (!v) {
        w->ended = true;
        w->result = -ENOENT;
    } else if (w->q.match == RIB_LONGEST_MATCH) {
        fill_longest(w, v, r);
        w->ended = true;
    } else if (w->q.match == RIB_EXACT) {
        node = rib_trie_find(&r->trie, &w->q.prefix);
        if (node)
            fill_node(w, v, r, node);
        w->ended = true;
    } else {
        fill_range(w, v, r);
    }
    manager_reply(take_chunk, w);
}

static void end_walk(struct rib_walk *w)
{
    w->done(w->ctx, w->result);
    free(w);
}

static void fail_walk(void *arg)
{
    struct rib_walk *w = arg;

    w->in_flight = false;
    if (w->closed)
        free(w);
    else
        end_walk(w);
}

static void ask_chunk(struct rib_walk *w)
{
    int err = mailbox_post(ROLE_RIB_MANAGER, fill_chunk, w);

    w->in_flight = true;
    if (!err)
        return;
    w->result = err;
    if (mailbox_post(ROLE_CONTROL, fail_walk, w)) // later, not within the caller's call
        fail_walk(w);
}

static void take_chunk(void *arg)
{
    struct rib_walk *w = arg;
    bool more = true;

    w->in_flight = false;
    if (w->n && !w->closed) {
        w->in_rows = true;
        more = w->rows(w->ctx, w->row, w->n);
        w->in_rows = false;
    }
    if (w->closed)
        free(w);
    else if (w->ended)
        end_walk(w);
    else if (more && !w->in_flight)
        ask_chunk(w);
}

struct rib_walk *rib_walk_open(const struct rib_query *q,
                               bool (*rows)(void *ctx, const struct rib_row *row, unsigned n),
                               void (*done)(void *ctx, int result), void *ctx)
{
    struct rib_walk *w;
    int err;

    thread_must_be(ROLE_CONTROL);
    w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->q = *q;
    w->rows = rows;
    w->done = done;
    w->ctx = ctx;
    prefix_canon(&w->q.prefix);
    w->q.prefix.family = q->family;
    w->within = q->match == RIB_LONGER ? w->q.prefix : (struct prefix){.family = q->family};
    w->in_flight = true;
    err = mailbox_post(ROLE_RIB_MANAGER, fill_chunk, w);
    if (!err)
        return w;
    free(w);
    errno = -err;
    return NULL;
}

void rib_walk_more(struct rib_walk *w)
{
    thread_must_be(ROLE_CONTROL);
    if (!w->in_flight && !w->closed && !w->in_rows)
        ask_chunk(w);
}

void rib_walk_close(struct rib_walk *w)
{
    thread_must_be(ROLE_CONTROL);
    w->closed = true;
    if (!w->in_flight && !w->in_rows)
        free(w);
}
