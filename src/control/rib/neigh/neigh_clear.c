// SPDX-License-Identifier: BSD-3-Clause
// neigh_clear.c - has neighbors resolved again, on the operator's request
//
// Asks the kernel to delete them (as `ip neigh flush` does, except permanent ones). The FIB follows
// the kernel's announcements, and gateways are requested again at once.
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"

struct clear {
    int vr;
    char iface[16];
    struct ip_addr addr;
    void (*done)(void *ctx, unsigned n, int error);
    void *ctx;
    unsigned n;
    int error;
};

static bool is_wanted(const struct clear *c, const struct neigh *n)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    return neigh_is_ours(n) && n->in_kernel && !(n->state & (NUD_PERMANENT | NUD_NOARP)) &&
           (!c->iface[0] || (l && !strcmp(l->name, c->iface))) &&
           (c->addr.family == IP_NONE || ip_equal(&c->addr, &n->addr));
}

static void answer_clear(void *arg)
{
    struct clear *c = arg;

    c->done(c->ctx, c->n, c->error);
    free(c);
}

static void clear_all(void *arg)
{
    struct clear *c = arg;
    struct neigh *n;

    thread_must_be(ROLE_RIB_MANAGER);
    neigh_each (n, c->vr) {
        int r = is_wanted(c, n) ? netlink_neigh_delete(&n->vr->requests, n->ifindex, &n->addr) : 1;
        c->n += !r;
        c->error = r < 0 ? r : c->error;
    }
    manager_reply(answer_clear, c);
}

int rib_manager_neigh_clear(int vr, const char *iface, const struct ip_addr *addr,
                            void (*done)(void *ctx, unsigned n, int error), void *ctx)
{
    struct clear c = {.vr = vr, .addr = *addr, .done = done, .ctx = ctx};

    memcpy(c.iface, iface, strnlen(iface, sizeof c.iface - 1));
    return manager_ask(ROLE_RIB_MANAGER, clear_all, &c, sizeof c);
}
