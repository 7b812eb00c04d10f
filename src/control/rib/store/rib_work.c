// SPDX-License-Identifier: BSD-3-Clause
// rib_work.c - the second look at the prefixes of marked paths
//
// A path that changed has its prefixes evaluated again; one whose routes the
// kernel has deleted (condemned) loses them. A million prefixes take many
// turns: a path's cursor says how far it has come.
#include "rib/rib.h"

// One route of a queued path; false when the path is through (and perhaps no longer there).
static bool step(struct rib_vr *v, struct rib_path *p)
{
    struct rib *r = rib_of(v, p->family);
    uint32_t route = p->condemned ? p->head : p->cursor, node;

    if (!route)
        return false;
    node = rib_route_at(r, route)->node;
    if (p->condemned) {
        bool last = p->n_routes == 1;

        rib_route_del(v, r, route); // with the last one the path goes, too
        rib_evaluate(v, r, node);
        return !last;
    }
    p->cursor = rib_route_at(r, route)->path_next;
    rib_evaluate(v, r, node);
    return p->cursor != 0;
}

bool rib_path_work(struct rib_vr *v, unsigned budget)
{
    while (v->dirty.n && budget) {
        size_t at = v->dirty.n - 1;
        uint32_t id = v->dirty.item[at];

        if (!id) { // ended by rib_path_put
            v->dirty.n--;
        } else if (step(v, rib_path_at(v, id))) {
            budget--;
        } else if (v->dirty.item[at] == id) {
            rib_path_at(v, id)->queued = false;
            v->dirty.item[at] = 0;
        }
    }
    return v->dirty.n > 0;
}
