// SPDX-License-Identifier: BSD-3-Clause
// rib_gap.c - prefixes for which a route dump is not conclusive (rib_gap.h)
//
// The gaps of a table ascend and share at most their ends: each begins at the farthest row so far.
// The kernel may repeat rows after prefixes were added before them; prefixes between repeated rows
// were already shown.
#include "rib/rib_gap.h"

#include <string.h>

bool rib_gap_walks_before(const struct prefix *a, const struct prefix *b)
{
    if (a->family == IP4) {
        int d = memcmp(a->b, b->b, 4);

        return d ? d < 0 : a->len > b->len;
    }
    if (prefix_covers(a, b)) // or equal
        return false;
    return prefix_covers(b, a) || memcmp(a->b, b->b, sizeof a->b) < 0;
}

static uint32_t address_of(const struct prefix *p)
{
    return (uint32_t)p->b[0] << 24 | (uint32_t)p->b[1] << 16 | (uint32_t)p->b[2] << 8 | p->b[3];
}

void rib_gaps_begin(struct rib_gaps *g, uint8_t family)
{
    rib_gaps_fini(g);
    g->family = family;
    g->table = RIB_GAP_OTHER;
}

void rib_gaps_fini(struct rib_gaps *g)
{
    for (unsigned i = 0; i < RIB_GAP_TABLES; i++)
        vec_free(&g->walk[i].gap);
    vec_free(&g->deleted[0].address);
    vec_free(&g->deleted[1].address);
    *g = (struct rib_gaps){0};
}

void rib_gaps_deleted(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p)
{
    struct rib_gaps_deleted *d = &g->deleted[0];

    if (g->family == IP4 &&
        g->deleted_since != g->datagram) { // only recent deletions matter
        struct rib_gaps_deleted before = *d;

        *d = g->deleted[1];
        vec_clear(&d->address);
        memset(d->any, 0, sizeof d->any);
        g->deleted[1] = before;
        g->deleted_since = g->datagram;
    }
    if (g->family == IP4)
        *vec_push(&d->address) = address_of(p);
    else if (!d->any[table] || rib_gap_walks_before(p, &d->first[table]))
        d->first[table] = *p;
    d->any[table] = true;
}

void rib_gaps_deleted_any(struct rib_gaps *g)
{
    g->deleted_any = true;
}

// Was a prefix deleted that may have made the kernel skip some between those rows (`to` NULL: the
// end)?
static bool is_deleted(const struct rib_gaps *g, enum rib_gap_table table,
                       const struct prefix *from, const struct prefix *to)
{
    uint32_t first = address_of(from), last = to ? address_of(to) : UINT32_MAX;

    for (unsigned i = 0; i < 2; i++) {
        const struct rib_gaps_deleted *d = &g->deleted[i];

        if (g->family == IP6 && d->any[table] && !rib_gap_walks_before(from, &d->first[table]))
            return true;
        vec_foreach (&d->address, a)
            if (*a >= first && *a <= last)
                return true;
    }
    return g->deleted_any;
}

static const struct prefix first4 = {.family = IP4, .len = 32}; // first of the IPv4 walk

static void add_gap(struct rib_gap_walk *w, const struct prefix *from, const struct prefix *to,
                 enum rib_gap_end end)
{
    struct rib_gap *last = w->gap.n ? &w->gap.item[w->gap.n - 1] : NULL;

    if (!last ||
        !prefix_equal(&last->from, from)) // a gap that begins there is no longer than this one
        last = vec_push(&w->gap);
    *last = (struct rib_gap){*from, to ? *to : *from, to ? end : RIB_GAP_OPEN};
}

// Prefixes between the farthest row and `to` (NULL: the end) were perhaps not shown.
static void note_skipped(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *to)
{
    struct rib_gap_walk *w = &g->walk[table];
    const struct prefix *from = w->any ? &w->far : &first4;

    if (table == RIB_GAP_OTHER)
        return;
    if (g->family == IP4 ? to && rib_gap_walks_before(to, from)
                         : !w->any || (to && !rib_gap_walks_before(from, to)))
        return;
    if (is_deleted(g, table, from, to))
        add_gap(w, from, to, g->family == IP4 ? RIB_GAP_WITH : RIB_GAP_BEFORE);
}

void rib_gaps_row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram,
                  const struct prefix *p)
{
    struct rib_gap_walk *w = &g->walk[table];
    bool same = table == g->table, begins = datagram != g->datagram;

    if (begins && !same)
        note_skipped(g, g->table, NULL);
    g->cut = (same && g->cut) ||
             (begins && (same || g->family == IP4)); // IPv6 is never cut at a table's beginning
    g->follows &= same && !begins;
    g->datagram = datagram;
    g->table = table;
    if (!p)
        return;
    if (g->follows && rib_gap_walks_before(p, &g->row))
        g->unordered = true;
    if (g->cut)
        note_skipped(g, table, p);
    g->cut = false;
    g->follows = true;
    g->row = *p;
    if (!w->any || rib_gap_walks_before(&w->far, p))
        w->far = *p;
    w->any = true;
}

void rib_gaps_overtaken(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p)
{
    struct rib_gap_walk *w = &g->walk[table];

    // Before the last gap: the prefix was already shown before, and those rows count.
    if (rib_gaps_have(g, table, p) ||
        (w->gap.n && rib_gap_walks_before(p, &w->gap.item[w->gap.n - 1].from)))
        return;
    *vec_push(&w->gap) = (struct rib_gap){*p, *p, RIB_GAP_WITH};
}

void rib_gaps_end(struct rib_gaps *g, uint64_t datagram)
{
    if (g->cut || datagram != g->datagram)
        note_skipped(g, g->table, NULL);
    for (unsigned i = 0; i < RIB_GAP_OTHER && g->family == IP4; i++)
        if (!g->walk[i].any)
            note_skipped(g, i, NULL);
}

bool rib_gaps_have(const struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p)
{
    const struct rib_gap_walk *w = &g->walk[table];
    const struct rib_gap *last;
    size_t low = 0, high = w->gap.n; // the last gap that does not begin behind p is before `high`

    if (g->unordered)
        return true;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (rib_gap_walks_before(p, &w->gap.item[middle].from))
            high = middle;
        else
            low = middle + 1;
    }
    if (!low)
        return false;
    last = &w->gap.item[low - 1];
    return last->end == RIB_GAP_OPEN || rib_gap_walks_before(p, &last->to) ||
           (last->end == RIB_GAP_WITH && prefix_equal(p, &last->to));
}

bool rib_gaps_any(const struct rib_gaps *g)
{
    return g->unordered || g->walk[RIB_GAP_ROUTER].gap.n || g->walk[RIB_GAP_LOCAL].gap.n;
}

void rib_gaps_move(struct rib_gaps *to, struct rib_gaps *from)
{
    rib_gaps_fini(to);
    *to = *from;
    *from = (struct rib_gaps){0};
}

static bool ends_before(const struct rib_gap *a, const struct rib_gap *b)
{
    if (a->end == RIB_GAP_OPEN || b->end == RIB_GAP_OPEN)
        return a->end != RIB_GAP_OPEN;
    return prefix_equal(&a->to, &b->to) ? a->end < b->end : rib_gap_walks_before(&a->to, &b->to);
}

static void narrow_walk(struct rib_gap_walk *w, const struct rib_gap_walk *other)
{
    struct rib_gap_walk both = *w;
    size_t i = 0, k = 0;

    memset(&both.gap, 0, sizeof both.gap);
    while (i < w->gap.n && k < other->gap.n) {
        const struct rib_gap *a = &w->gap.item[i], *b = &other->gap.item[k];
        bool a_first = ends_before(a, b);
        struct rib_gap x = a_first ? *a : *b;

        x.from = rib_gap_walks_before(&a->from, &b->from) ? b->from : a->from;
        if (x.end == RIB_GAP_OPEN || rib_gap_walks_before(&x.from, &x.to) ||
            (x.end == RIB_GAP_WITH && prefix_equal(&x.from, &x.to)))
            *vec_push(&both.gap) = x;
        i += a_first;
        k += !a_first;
    }
    vec_free(&w->gap);
    *w = both;
}

void rib_gaps_narrow(struct rib_gaps *g, struct rib_gaps *other)
{
    if (g->unordered)
        rib_gaps_move(g, other);
    else if (!other->unordered)
        for (unsigned i = 0; i < RIB_GAP_OTHER; i++)
            narrow_walk(&g->walk[i], &other->walk[i]);
    rib_gaps_fini(other);
}
