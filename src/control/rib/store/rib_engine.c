// SPDX-License-Identifier: BSD-3-Clause
// rib_engine.c - changes a virtual router's FIB structure at run time
//
// A new FIB is filled with the routes of the old one and published, and the old one is freed a
// grace period later: forwarders see the same routes before and after. If the new engine cannot
// hold the table, the old one stays.
//
// DPDK's engines live in DPDK's memory, which does not grow, and rte_lpm limits the number of
// routes. A router that stops forwarding because an engine is full is worse than a router with
// another engine: such a FIB falls back to poptrie, the log reports it, and `show fib` shows the
// engine in use.
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/rcu.h"
#include "rib/vr.h"

// Routes in the FIB, as recorded in the nodes. NULL if out of memory.
static struct fib_route *installed_routes(struct rib *r, size_t *n)
{
    struct fib_route *route = malloc((r->trie.node.n_used + 1) * sizeof *route);

    *n = 0;
    for (uint32_t id = route ? rib_trie_first(&r->trie) : 0; id; id = rib_trie_next(&r->trie, id)) {
        uint32_t nexthop = rib_trie_at(&r->trie, id)->nexthop;

        if (!nexthop)
            continue;
        route[*n].prefix = rib_trie_prefix(&r->trie, id);
        route[(*n)++].nexthop = nexthop;
    }
    return route;
}

static int fill_fib(struct fib *fib, struct rib *r)
{
    size_t n = 0;
    struct fib_route *route = r->deferred ? calloc(1, sizeof *route) : installed_routes(r, &n);
    int err = route ? fib_load(fib, route, n) : -ENOMEM;

    free(route);
    if (!err)
        fib_commit(fib);
    return err;
}

int rib_engine_set(struct rib_vr *v, uint8_t family, enum fib_engine engine)
{
    struct fib *old = rib_fib(v, family), *new = fib_new(family, engine);
    struct vr *vr = vr_get(v->id);
    int err = new ? fill_fib(new, rib_of(v, family)) : -errno;

    if (err) {
        fib_free(new);
        return err;
    }
    vr_publish(vr, family, new);
    rcu_synchronize(); // no burst uses the old one any more
    fib_free(old);
    rib_audit_restart(v, family);
    v->changed = true;
    return 0;
}

bool rib_engine_fall_back(struct rib_vr *v, uint8_t family, int error)
{
    enum fib_engine engine = fib_engine_of(rib_fib(v, family));

    if (engine == FIB_POPTRIE)
        return false;
    log_error("rib: FIB engine cannot hold the table, falling back to poptrie: vr=%u engine=%s "
              "family=ipv%u error=%d remedy=\"increase "
              "memory and restart kamueed, or set fib-engine poptrie\"",
              v->id, fib_engine_name(engine), family, error);
    return !rib_engine_set(v, family, FIB_POPTRIE);
}
