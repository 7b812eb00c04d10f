// SPDX-License-Identifier: BSD-3-Clause
// rib_counted.c - prefixes with packet counters
//
// The configuration names them. A counted prefix keeps its slot (table/nexthop_count.h) while
// routes come and go; while its route leads to another host, its leaf in the FIB is an alias
// (table/nexthop.c) that names the slot. Packets to ourselves are delivered, not routed, and
// not counted.
#include <errno.h>
#include <string.h>

#include "rib/vr.h"
#include "table/nexthop_count.h"

// Index of the prefix, or where to insert it.
static size_t find_place(const struct rib_vr *v, const struct prefix *p)
{
    size_t low = 0, high = v->counted[p->family == IP6].n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (prefix_compare(&v->counted[p->family == IP6].item[middle].prefix, p) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct rib_counted *find_counted(const struct rib_vr *v, const struct prefix *p)
{
    size_t at = find_place(v, p);
    struct rib_counted *c =
        at < v->counted[p->family == IP6].n ? &v->counted[p->family == IP6].item[at] : NULL;

    return c && prefix_equal(&c->prefix, p) ? c : NULL;
}

int rib_counted_add(struct rib_vr *v, const struct prefix *p)
{
    unsigned six = p->family == IP6;
    size_t at = find_place(v, p);
    uint16_t slot = find_counted(v, p) ? 0 : prefix_count_new();

    if (!slot)
        return find_counted(v, p) ? -EEXIST : -ENOSPC;
    vec_push(&v->counted[six]);
    memmove(&v->counted[six].item[at + 1], &v->counted[six].item[at],
            (v->counted[six].n - 1 - at) * sizeof *v->counted[six].item);
    v->counted[six].item[at] = (struct rib_counted){*p, slot};
    return 0;
}

int rib_counted_del(struct rib_vr *v, const struct prefix *p)
{
    unsigned six = p->family == IP6;
    struct rib_counted *c = find_counted(v, p);

    if (!c)
        return -ENOENT;
    prefix_count_put(c->slot);
    memmove(c, c + 1, (size_t)(v->counted[six].item + v->counted[six].n - (c + 1)) * sizeof *c);
    v->counted[six].n--;
    return 0;
}

uint16_t rib_counted_slot(const struct rib_vr *v, const struct prefix *p, uint32_t nexthop)
{
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nexthop_get(nexthop)));
    const struct rib_counted *c =
        kind == NEXTHOP_LOCAL || kind == NEXTHOP_BROADCAST ? NULL : find_counted(v, p);

    return c ? c->slot : 0;
}

void rib_counted_fini(struct rib_vr *v)
{
    for (unsigned six = 0; six < 2; six++) {
        vec_foreach (&v->counted[six], c)
            prefix_count_put(c->slot);
        vec_free(&v->counted[six]);
    }
}
