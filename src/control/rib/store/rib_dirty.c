// SPDX-License-Identifier: BSD-3-Clause
// rib_dirty.c - paths whose prefixes have to be looked at again
//
// Marked by whoever knows (next hops, objects, links), worked off by
// rib_work.c a few thousand prefixes a turn.
#include "rib/rib.h"

void rib_path_unhash(struct rib_vr *v, struct rib_path *p)
{
    uint32_t *link = &v->path_bucket[p->hash & (v->n_path_buckets - 1)];

    while (*link != p->id)
        link = &rib_path_at(v, *link)->hash_next;
    *link = p->hash_next;
}

static void enqueue(struct rib_vr *v, struct rib_path *p)
{
    p->cursor = p->head;
    if (p->queued)
        return;
    p->queued = true;
    *vec_push(&v->dirty) = p->id;
}

void rib_path_dirty(struct rib_vr *v, struct rib_path *p)
{
    if (!rib_of(v, p->family)->deferred && p->n_routes)
        enqueue(v, p);
}

void rib_path_condemn(struct rib_vr *v, struct rib_path *p)
{
    if (p->condemned)
        return;
    rib_path_unhash(v, p);
    p->condemned = true;
    enqueue(v, p);
}
