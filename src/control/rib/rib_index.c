// SPDX-License-Identifier: BSD-3-Clause
// rib_index.c - finds virtual routers by id, and a virtual router's links by ifindex (vr.h)
//
// A link's record is made when it is first named, by a route or an address as well as by the link
// itself, because the kernel's messages may come in any order. It is freed when nothing refers to
// it any more.
#include <stdlib.h>

#include "base/vec.h"
#include "rib/vr.h"
#include "table/iface.h"

static struct rib_vr *list[VR_MAX];

void rib_vr_set(uint16_t id, struct rib_vr *v)
{
    list[id] = v;
}

struct rib_vr *rib_vr_find(uint16_t id)
{
    return id < VR_MAX ? list[id] : NULL;
}

struct rib_vr *rib_vr_next(const struct rib_vr *v)
{
    for (unsigned id = v ? v->id + 1u : 0; id < VR_MAX; id++)
        if (list[id])
            return list[id];
    return NULL;
}

bool rib_vr_shares(const struct rib_vr *a, const struct rib_vr *b)
{
    return a != b && a->namespace && a->namespace == b->namespace;
}

struct rib_link *rib_link_find(const struct rib_vr *v, int ifindex)
{
    return ifindex > 0 ? rib_map_find(&v->link, (uint32_t)ifindex) : NULL;
}

struct rib_link *rib_link_get(struct rib_vr *v, int ifindex)
{
    struct rib_link *l = rib_link_find(v, ifindex);

    if (l || ifindex <= 0)
        return l;
    l = calloc(1, sizeof *l);
    bug_on(!l);
    l->ifindex = ifindex;
    LIST_INIT(&l->neighs);
    rib_map_set(&v->link, (uint32_t)ifindex, l);
    return l;
}

bool rib_link_has_legs(const struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = rib_link_find(v, ifindex);

    return l && l->n_legs;
}

bool rib_link_is_alive(const struct rib_link *l)
{
    // The port's own carrier is known before the kernel announces the TAP's.
    return l->up && l->carrier &&
           (!l->via || __atomic_load_n(&iface_get(l->via)->carrier, __ATOMIC_RELAXED));
}

void rib_link_free_unused(struct rib_vr *v, bool all)
{
    struct rib_link *l;

    rib_map_each (&v->link, l) {
        if (!all && (l->known || l->iface || l->n_legs || !LIST_EMPTY(&l->neighs)))
            continue;
        rib_map_del(&v->link, (uint32_t)l->ifindex);
        vec_free(&l->addr);
        vec_free(&l->group);
        free(l);
    }
}
