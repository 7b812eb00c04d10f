// SPDX-License-Identifier: BSD-3-Clause
// acl_target_resolve.c - keeps redirect targets of access lists resolved
//
// In every virtual router that has the address on a link, the neighbor is treated like a gateway:
// resolved before the first packet, and kept after the last. Forwarders get the next hop from the
// FIB (forwarder/acl_act.c). Since routes, links and lists change, all addresses are looked up
// again once a second.
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/clock.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/acl_target.h"

#define LOOK_NS NS_PER_SECOND

static VEC(struct neigh *) kept;
static uint64_t looked_ns;

// Link on which the kernel reaches the address without a gateway, 0 = none.
static int link_of(struct rib_vr *v, const struct ip_addr *a)
{
    const struct rib_path *p = rib_path_to(v, a);

    return p && p->type == RTN_UNICAST && p->n_hops == 1 && !p->hop[0].gateway.family
               ? p->hop[0].ifindex
               : 0;
}

static void keep_targets(struct rib_vr *v, const struct ip_addr *to, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int ifindex = link_of(v, &to[i]);
        struct neigh *h = ifindex ? neigh_get(v, ifindex, &to[i]) : NULL;

        if (h)
            *vec_push(&kept) = h;
    }
}

void acl_target_resolve_tick(uint64_t now_ns)
{
    static struct ip_addr to[ACL_REDIRECT_MAX];

    if (now_ns - looked_ns < LOOK_NS)
        return;
    looked_ns = now_ns;
    unsigned n = acl_redirect_all(to);
    size_t before = kept.n;
    rib_vr_each (v)
        keep_targets(v, to, n);
    for (size_t i = 0; i < before; i++)
        neigh_put(kept.item[i]);
    kept.n -= before;
    if (before && kept.n)
        memmove(kept.item, kept.item + before, kept.n * sizeof *kept.item);
}

void acl_target_resolve_vr_gone(const struct rib_vr *v)
{
    size_t n = 0;

    for (size_t i = 0; i < kept.n; i++)
        if (kept.item[i]->vr == v)
            neigh_put(kept.item[i]);
        else
            kept.item[n++] = kept.item[i];
    kept.n = n;
    if (!n)
        vec_free(&kept);
}
