// SPDX-License-Identifier: BSD-3-Clause
// rib_gap.c - which routes a dump of IPv6 may have skipped (rib_gap.h)
//
// A table's gaps are disjoint and ascend: each begins at the farthest row so
// far. (Rows may be shown again when prefixes were added before them; what is
// between those was shown before.)
#include "rib/rib_gap.h"

#include <string.h>

static bool walks_before(const struct prefix *a, const struct prefix *b)
{
    if (prefix_covers(a, b)) // or is it
        return false;
    return prefix_covers(b, a) || memcmp(a->b, b->b, sizeof a->b) < 0;
}

void rib_gaps_begin(struct rib_gaps *g)
{
    rib_gaps_fini(g);
    *g = (struct rib_gaps){.table = RIB_GAP_OTHER};
}

void rib_gaps_fini(struct rib_gaps *g)
{
    for (unsigned i = 0; i < RIB_GAP_TABLES; i++)
        vec_free(&g->walk[i].gap);
}

void rib_gaps_deleted(struct rib_gaps *g, const struct prefix *p)
{
    if (!p)
        g->deleted_any = true;
    else if (!g->deleted || walks_before(p, &g->first))
        g->first = *p;
    g->deleted |= p != NULL;
}

// What is between the farthest row and `to` (NULL: the end) was not shown.
static void skipped(struct rib_gaps *g, const struct prefix *to)
{
    struct rib_gap_walk *w = &g->walk[g->table];

    if (!w->any || (to && !walks_before(&w->far, to)))
        return;
    if (g->deleted_any || (g->deleted && !walks_before(&w->far, &g->first)))
        *vec_push(&w->gap) = (struct rib_gap){w->far, to ? *to : w->far, !to};
}

void rib_gaps_row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram, const struct prefix *p)
{
    struct rib_gap_walk *w = &g->walk[table];
    bool same = table == g->table, begins = datagram != g->datagram;

    if (begins && !same)
        skipped(g, NULL);
    g->cut = same && (g->cut || begins); // a table is never cut at its beginning
    g->follows &= same && !begins;
    g->datagram = datagram;
    g->table = table;
    if (!p)
        return;
    if (g->follows && walks_before(p, &g->row))
        g->unordered = true;
    if (g->cut)
        skipped(g, p);
    g->cut = false;
    g->follows = true;
    g->row = *p;
    if (!w->any || walks_before(&w->far, p))
        w->far = *p;
    w->any = true;
}

void rib_gaps_end(struct rib_gaps *g, uint64_t datagram)
{
    if (g->cut || datagram != g->datagram)
        skipped(g, NULL);
}

bool rib_gaps_have(const struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p)
{
    const struct rib_gap_walk *w = &g->walk[table];
    size_t low = 0, high = w->gap.n; // the last one that does not begin behind p is before `high`

    if (g->unordered)
        return true;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (walks_before(p, &w->gap.item[middle].from))
            high = middle;
        else
            low = middle + 1;
    }
    return low && (w->gap.item[low - 1].open || walks_before(p, &w->gap.item[low - 1].to));
}
