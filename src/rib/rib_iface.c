// SPDX-License-Identifier: BSD-3-Clause
// rib_iface.c - our interfaces among the kernel's links
//
// A link becomes one of our interfaces when control says so (its TAP has an
// ifindex), and stops being one when control says so; what leads through it is
// resolved again each time. The other direction: what the operator does to the
// TAP with iproute2 (up, down, MTU, deletion) is reported to control, and the
// primary addresses are written to table/iface.h for ICMP errors.
#include "rib/rib_iface.h"

#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "core/mailbox.h"
#include "rib/neigh.h"
#include "rib/rib.h"
#include "rib/rib_multicast.h"
#include "table/iface.h"
#include "table/vr.h"

void rib_iface_bind(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l = rib_link_get(v, iface_get(iface)->ifindex);

    if (!l || l->iface == iface)
        return;
    if (l->iface)
        rib_iface_unbind(v, l->iface);
    l->iface = iface;
    l->glean = nexthop_make(NEXTHOP_GLEAN, iface);
    l->broadcast = nexthop_make(NEXTHOP_BROADCAST, iface);
    if (l->broadcast)
        nexthop_set_broadcast(l->broadcast, iface);
    rib_iface_addresses(v, l);
    neigh_link_changed(v, l);
    rib_link_rehop(v, l->ifindex);
    rib_multicast_bind(v, l);
    if (v->table != RIB_TABLE_MAIN) // its local routes are ours from now on
        rib_sync_want(v, 1u << RIB_STAGE_ROUTE4 | 1u << RIB_STAGE_ROUTE6, 0);
    if (l->known)
        rib_iface_report(v, l, false);
    map_each(&v->link, l) rib_iface_upper(v, l); // what stood there before
}

static struct rib_link *link_of_iface(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l;

    map_each(&v->link, l) if (l->iface == iface) return l;
    return NULL;
}

void rib_iface_unbind(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l = link_of_iface(v, iface);
    uint32_t glean, broadcast;

    if (!l)
        return;
    rib_multicast_unbind(v, l);
    l->iface = 0;
    rib_multicast_refresh(v);
    glean = l->glean;
    l->glean = 0;
    broadcast = l->broadcast;
    l->broadcast = 0;
    neigh_link_changed(v, l);
    rib_link_rehop(v, l->ifindex);
    nexthop_put(glean);
    nexthop_put(broadcast);
    while (rib_path_work(v, 1u << 20)) // nothing names the interface when this returns
        ;
    rib_commit(v);
}

static const struct rib_address *primary(const struct rib_link *l, uint8_t family, uint8_t scope)
{
    vec_foreach(&l->addr, a)
        if (a->addr.family == family && a->usable && !a->secondary && a->scope == scope)
            return a;
    return NULL;
}

static void write_addr6(uint8_t to[16], const struct rib_address *a)
{
    static const uint8_t none[16];

    if (memcmp(to, a ? a->addr.b : none, 16))
        memcpy(to, a ? a->addr.b : none, 16);
}

// Has `b` a better claim than `a` to give the router its address? The loopback device first, then the lowest ifindex.
static bool is_better(const struct rib_link *a, const struct rib_link *b)
{
    bool lo_a = a && !strcmp(a->name, "lo"), lo_b = !strcmp(b->name, "lo");

    return !a || (lo_b != lo_a ? lo_b : b->ifindex < a->ifindex);
}

// The address of the virtual router where an interface has none.
static const struct rib_address *router_address(struct rib_vr *v, uint8_t family)
{
    struct rib_link *l, *best = NULL;

    map_each(&v->link, l) if (primary(l, family, RT_SCOPE_UNIVERSE) && is_better(best, l)) best = l;
    return best ? primary(best, family, RT_SCOPE_UNIVERSE) : NULL;
}

static void router_addresses(struct rib_vr *v)
{
    const struct rib_address *a = router_address(v, IP4);
    struct vr *vr = vr_get(v->id);

    __atomic_store_n(&vr->addr4, a ? a->addr.ip4 : 0, __ATOMIC_RELAXED);
    write_addr6(vr->addr6, router_address(v, IP6));
}

void rib_iface_addresses(struct rib_vr *v, const struct rib_link *l)
{
    const struct rib_address *a;
    struct iface *i;

    router_addresses(v);
    if (!l->iface)
        return;
    i = iface_get(l->iface);
    a = primary(l, IP4, RT_SCOPE_UNIVERSE);
    if (!a)
        a = primary(l, IP4, RT_SCOPE_LINK);
    __atomic_store_n(&i->addr4, a ? a->addr.ip4 : 0, __ATOMIC_RELAXED);
    write_addr6(i->addr6, primary(l, IP6, RT_SCOPE_UNIVERSE));
    write_addr6(i->addr6_ll, primary(l, IP6, RT_SCOPE_LINK));
}

static void (*on_event)(const struct iface_kernel_event *e);

void rib_iface_set_event(void (*fn)(const struct iface_kernel_event *e))
{
    on_event = fn;
}

static void report(void *arg)
{
    if (on_event)
        on_event(arg);
    free(arg);
}

void rib_iface_report(struct rib_vr *v, const struct rib_link *l, bool gone)
{
    struct iface_kernel_event *e = malloc(sizeof *e);

    bug_on(!e);
    *e = (struct iface_kernel_event){
        .vr = v->id, .ifindex = l->ifindex, .admin_up = l->up && !gone, .gone = gone, .mtu = l->mtu};
    if (mailbox_post(ROLE_CONTROL, report, e)) {
        log_error("rib: control does not take a link event: vr=%u link=%s", v->id, l->name);
        free(e);
    }
}

static void ask_to_look(struct rib_vr *v, int ifindex, const char *upper)
{
    struct iface_kernel_event *e = malloc(sizeof *e);

    bug_on(!e);
    *e = (struct iface_kernel_event){.vr = v->id, .ifindex = ifindex, .settings = true};
    memcpy(e->upper, upper, strnlen(upper, sizeof e->upper - 1));
    if (mailbox_post(ROLE_CONTROL, report, e)) // control looks by the clock, too
        free(e);
}

void rib_iface_suspect(struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = ifindex > 0 ? rib_link_find(v, ifindex) : NULL;

    if (ifindex == NETCONFA_IFINDEX_ALL || (l && l->iface))
        ask_to_look(v, ifindex, "");
    else if (l)
        rib_iface_upper(v, l);
}

void rib_iface_upper(struct rib_vr *v, const struct rib_link *l)
{
    const struct rib_link *lower = l->lower && !l->iface ? rib_link_find(v, l->lower) : NULL;

    if (lower && lower->iface)
        ask_to_look(v, lower->ifindex, l->name);
}
