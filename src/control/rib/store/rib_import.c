// SPDX-License-Identifier: BSD-3-Clause
// rib_import.c - imports: routes of other virtual routers, by configuration
//
// A virtual router imports prefixes of another one, its source. Where the source's FIB has a route
// for an imported prefix, to a next hop or to nowhere (blackhole, unreachable), the importer's list
// of the prefix gets a candidate with the same next hop, in the source. It is the last of the list:
// the virtual router's kernel routes and its own neighbors win. Neighbors on an imported link route
// are imported with it, because that route reaches a host only after resolving it.
//
// Each change of a source's FIB entry calls rib_import_note; the next commit of rib_manager reads
// the source's state at that time, so the order of changes does not matter. Imported routes are not
// imported again, so there are no loops, and a candidate always names the router that has the
// route. A new line of the configuration walks the source's prefixes, some thousand a turn.
//
// Only forwarders use these candidates; Linux does not have them.
#include <errno.h>

#include "rib/journal.h"
#include "rib/vr.h"
#include "table/fib.h"
#include "table/nexthop_count.h"

struct changed_import {
    uint16_t source;
    struct prefix prefix;
};
struct walk { // walk through the source's prefixes below `in`, for one importer
    uint16_t importer, source;
    bool begun;
    struct prefix in, cursor;
};
static VEC(struct changed_import) changes;
static VEC(struct walk) walks;

// --- import rules ---

static bool lets_in(const struct rib_import *i, uint16_t source, const struct prefix *p)
{
    return i->source == source && i->prefix.family == p->family && p->len >= i->ge &&
           p->len <= i->le && (prefix_equal(&i->prefix, p) || prefix_covers(&i->prefix, p));
}

static bool is_let_in(const struct rib_vr *v, uint16_t source, const struct prefix *p)
{
    vec_foreach (&v->import, i)
        if (lets_in(i, source, p))
            return true;
    return false;
}

// A neighbor's host route comes with the route of its link.
static bool host_is_let_in(const struct rib_vr *v, struct rib_vr *source, struct rib *r,
                           const struct prefix *p)
{
    uint32_t node = rib_longest(source, r, p);

    if (!node)
        return false;
    struct prefix of = rib_trie_prefix(&r->trie, node);
    return is_let_in(v, source->id, &of);
}

static bool may_be_imported(uint32_t nexthop)
{
    switch (nexthop_word_kind(nexthop_word(nexthop_get(nexthop)))) {
    case NEXTHOP_LOCAL:     // the source's own addresses
    case NEXTHOP_BROADCAST: // and addresses of its links
    case NEXTHOP_NO_ROUTE:
    case NEXTHOP_NONE: return false;
    default: return true;
    }
}

// Next hop that the importer takes from the source for the prefix, 0 = none, and the protocol of
// that route.
static uint32_t offered(const struct rib_vr *v, struct rib_vr *source, const struct prefix *p,
                        uint8_t *protocol)
{
    struct rib *r = source ? rib_of(source, p->family) : NULL;
    uint32_t node = r && !r->deferred ? rib_trie_find(&r->trie, p) : 0,
             nexthop = node ? nexthop_real(rib_trie_at(&r->trie, node)->nexthop) : 0,
             best = nexthop ? rib_best(source, r, node) : 0;

    if (!best || rib_route_at(r, best)->flags & RIB_ROUTE_IMPORT || !may_be_imported(nexthop))
        return 0;
    *protocol = rib_route_at(r, best)->protocol;
    bool in = is_let_in(v, source->id, p) || (rib_route_at(r, best)->flags & RIB_ROUTE_HOST &&
                                              host_is_let_in(v, source, r, p));
    return in ? nexthop : 0;
}

bool rib_import_source(const struct rib_vr *v, uint8_t family, uint32_t route,
                       struct rib_import_source *s)
{
    const struct rib *r = rib_of((struct rib_vr *)v, family);
    const struct rib_route *t = rib_route_at(r, route);
    struct prefix p = rib_trie_prefix(&r->trie, t->node);

    s->vr = rib_vr_find((uint16_t)t->metric);
    s->rib = s->vr ? rib_of(s->vr, family) : NULL;
    s->node = s->vr ? rib_trie_find(&s->rib->trie, &p) : 0;
    s->route = s->node ? rib_best(s->vr, s->rib, s->node) : 0;
    return s->route && !(rib_route_at(s->rib, s->route)->flags & RIB_ROUTE_DERIVED);
}

// --- the importer's candidates ---

static void pass_on(struct rib_vr *v, uint16_t source, const struct prefix *p)
{
    uint8_t protocol = 0;
    uint32_t nexthop = offered(v, rib_vr_find(source), p, &protocol);
    struct rib *r = rib_of(v, p->family);
    uint32_t node = nexthop ? rib_trie_add(&r->trie, p) : rib_trie_find(&r->trie, p);

    if (node && rib_import_set(r, node, source, nexthop, protocol))
        rib_evaluate(v, r, node);
}

void rib_import_note(const struct rib_vr *source, const struct prefix *p)
{
    *vec_push(&changes) = (struct changed_import){source->id, *p};
}

static void pass_on_change(const struct changed_import *c)
{
    struct rib_vr *source = rib_vr_find(c->source);

    for (size_t i = 0; source && i < source->importer.n; i++) {
        struct rib_vr *v = rib_vr_find(source->importer.item[i]);
        if (v)
            pass_on(v, c->source, &c->prefix);
    }
}

// --- walks ---

static uint32_t walk_next(const struct walk *w, const struct rib *r)
{
    uint32_t node = w->begun ? rib_trie_after(&r->trie, &w->cursor)
                             : rib_trie_first_in(&r->trie, &w->in);

    return node && rib_trie_is_in(&r->trie, node, &w->in) ? node : 0;
}

// Handles one prefix; false: that was the last.
static bool walk_on(struct walk *w)
{
    struct rib_vr *v = rib_vr_find(w->importer), *source = rib_vr_find(w->source);
    struct rib *r = source ? rib_of(source, w->in.family) : NULL;
    uint32_t node = v && r ? walk_next(w, r) : 0;

    if (!node)
        return false;
    w->cursor = rib_trie_prefix(&r->trie, node);
    w->begun = true;
    pass_on(v, w->source, &w->cursor);
    return true;
}

bool rib_import_work(unsigned budget)
{
    bool any = changes.n || walks.n;

    if (any)
        journal_because(JOURNAL_IMPORT);
    for (size_t i = 0; i < changes.n; i++) { // these may cause others
        struct changed_import c = changes.item[i];
        pass_on_change(&c);
    }
    vec_clear(&changes);
    while (walks.n && budget--)
        if (!walk_on(&walks.item[walks.n - 1]))
            walks.n--;
    return any;
}

static void walk_begin(const struct rib_vr *v, uint16_t source, const struct prefix *in)
{
    *vec_push(&walks) = (struct walk){.importer = v->id, .source = source, .in = *in};
}

void rib_import_loaded(const struct rib_vr *source, uint8_t family)
{
    for (size_t k = 0; k < source->importer.n; k++) {
        const struct rib_vr *v = rib_vr_find(source->importer.item[k]);
        for (size_t i = 0; v && i < v->import.n; i++)
            if (v->import.item[i].source == source->id &&
                v->import.item[i].prefix.family == family)
                walk_begin(v, source->id, &v->import.item[i].prefix);
    }
}

// --- the configuration ---

static bool imports_from(const struct rib_vr *v, uint16_t source)
{
    vec_foreach (&v->import, i)
        if (i->source == source)
            return true;
    return false;
}

static void importer_remove(struct rib_vr *source, uint16_t id)
{
    for (size_t i = 0; source && i < source->importer.n; i++)
        if (source->importer.item[i] == id) {
            vec_del_swap(&source->importer, i);
            return;
        }
}

int rib_import_add(struct rib_vr *v, const struct rib_import *i)
{
    struct rib_vr *source = rib_vr_find(i->source);

    if (!source || source == v)
        return -ENOENT;
    nexthop_cross_begin();
    if (!imports_from(v, i->source))
        *vec_push(&source->importer) = v->id;
    *vec_push(&v->import) = *i;
    walk_begin(v, i->source, &i->prefix);
    return 0;
}

static void import_remove(struct rib_vr *v, size_t at)
{
    struct rib_import i = v->import.item[at];

    vec_del_swap(&v->import, at);
    if (!imports_from(v, i.source))
        importer_remove(rib_vr_find(i.source), v->id);
    walk_begin(v, i.source, &i.prefix);
}

int rib_import_del(struct rib_vr *v, const struct rib_import *i)
{
    for (size_t k = 0; k < v->import.n; k++) {
        const struct rib_import *is = &v->import.item[k];
        if (is->source != i->source || is->ge != i->ge || is->le != i->le ||
            !prefix_equal(&is->prefix, &i->prefix))
            continue;
        import_remove(v, k);
        return 0;
    }
    return -ENOENT;
}

void rib_import_vr_gone(struct rib_vr *v)
{
    while (v->import.n)
        import_remove(v, 0);
    while (v->importer.n) {
        struct rib_vr *w = rib_vr_find(v->importer.item[0]);
        size_t k = 0;
        while (w && k < w->import.n && w->import.item[k].source != v->id)
            k++;
        if (w && k < w->import.n)
            import_remove(w, k);
        else
            vec_del_swap(&v->importer, 0);
    }
    rib_import_work(UINT32_MAX);
    rib_commit_all(); // before the caller frees next hops
    vec_free(&v->import);
    vec_free(&v->importer);
}
