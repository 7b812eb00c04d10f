// SPDX-License-Identifier: BSD-3-Clause
// rib_iface.c - our interfaces among the kernel's links
//
// Control reports when a link becomes one of our interfaces (its TAP has an ifindex) and when it
// stops being one; each time, next hops by that link are resolved again. In the other direction,
// control learns of the operator's iproute2 changes to the TAP, and table/iface.h gets the primary
// addresses for ICMP errors.
//
// A macvlan on a TAP is the TAP with another MAC: VRRP's virtual router. Its routes leave by the
// TAP's interface. Its MAC belongs to the interface while it is up and has an address besides the
// link-local one that the kernel makes. A VRRP backup has no address, or its macvlan is down,
// because it must not accept frames that a switch floods (RFC 5798 6.4.2).
//
// Virtual routers that are tables of one namespace see each other's links, and a route of one may
// leave by an interface of another: routing daemons leak routes between VRFs that way. Linux
// forwards by such routes, and so do we: the link has a `via`, but gives the router neither
// addresses nor neighbors.
#include "rib/rib_manager.h"

#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mailbox.h"
#include "core/manager.h"
#include "rib/neigh.h"
#include "rib/rib_multicast.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/tunnel.h"
#include "table/vr.h"

// --- macvlans on our TAPs ---

static bool is_stacked(const struct rib_link *l, const struct rib_link *base)
{
    return l->known && l->told.kind == NETLINK_LINK_MACVLAN && l->told.lower == base->ifindex;
}

static void each_stacked(struct rib_vr *v, const struct rib_link *base,
                         void (*fn)(struct rib_vr *v, struct rib_link *l))
{
    struct rib_link *l;

    if (!v->n_macvlans)
        return;
    rib_map_each (&v->link, l)
        if (is_stacked(l, base))
            fn(v, l);
}

static void set_via(struct rib_vr *v, struct rib_link *l, const struct rib_link *base,
                    bool of_other)
{
    uint32_t glean = l->glean;

    l->of_other = base && of_other;
    if (l->via == (base ? base->via : 0))
        return;
    l->via = base ? base->via : 0;
    l->glean = base ? base->glean : 0;
    if (l->glean)
        nexthop_hold(l->glean);
    neigh_link_changed(v, l);
    rib_link_rehop(v, l->ifindex);
    nexthop_put(glean);
}

static bool has_address(const struct rib_link *l)
{
    vec_foreach (&l->addr, a)
        if (!a->automatic)
            return true;
    return false;
}

static void follow_stacked(struct rib_vr *v, struct rib_link *l)
{
    const struct rib_link *base = rib_link_find(v, l->told.lower);
    uint64_t lent =
        l->known && l->up && l->carrier && has_address(l) ? iface_mac_word(l->told.mac) : 0;
    bool news = lent != l->lent;

    if (!base)
        return;
    set_via(v, l, base->via && l->known ? base : NULL, base->of_other);
    l->lent = lent;
    if (base->iface && news)
        rib_iface_report(v, base, false);
}

// --- interfaces of other virtual routers ---

static const struct rib_link *owned_elsewhere(const struct rib_vr *v, int ifindex)
{
    rib_vr_each (other) {
        const struct rib_link *l = rib_vr_shares(v, other) ? rib_link_find(other, ifindex) : NULL;

        if (l && l->iface)
            return l;
    }
    return NULL;
}

void rib_iface_update_via(struct rib_vr *v, struct rib_link *l)
{
    if (l->iface)
        return;
    if (l->told.kind == NETLINK_LINK_MACVLAN) {
        follow_stacked(v, l);
        return;
    }
    set_via(v, l, l->known ? owned_elsewhere(v, l->ifindex) : NULL, true);
    each_stacked(v, l, follow_stacked);
}

static void each_other(struct rib_vr *v, int ifindex,
                       void (*fn)(struct rib_vr *other, struct rib_link *l))
{
    rib_vr_each (other) {
        struct rib_link *l = rib_vr_shares(v, other) ? rib_link_find(other, ifindex) : NULL;

        if (l)
            fn(other, l);
    }
}

static void rehop_link(struct rib_vr *v, struct rib_link *l)
{
    rib_link_rehop(v, l->ifindex);
}

void rib_iface_rehop_others(struct rib_vr *v, int ifindex)
{
    each_other(v, ifindex, rehop_link);
}

// If the link no longer has an outgoing interface, nothing names the interface when this returns.
static void settle_paths(struct rib_vr *v, struct rib_link *l)
{
    while (rib_path_work(v, 1u << 20))
        ;
    rib_commit(v);
}

// --- ours ---

void rib_iface_bind(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l = rib_link_get(v, iface_get(iface)->ifindex);

    if (!l || l->iface == iface)
        return;
    if (l->iface)
        rib_iface_unbind(v, l->iface);
    set_via(v, l, NULL, false);
    l->iface = l->via = iface;
    l->glean = nexthop_make(NEXTHOP_GLEAN, iface);
    if (l->glean && tunnel_is_point_to_point(iface_get(iface)))
        nexthop_set_adjacency(l->glean, iface, iface_get(iface)->mac);
    l->broadcast = nexthop_make(NEXTHOP_BROADCAST, iface);
    if (l->broadcast)
        nexthop_set_broadcast(l->broadcast, iface);
    rib_iface_addresses(v, l);
    neigh_link_changed(v, l);
    rib_link_rehop(v, l->ifindex);
    rib_multicast_bind(v, l);
    rib_label_bound(v, l);
    each_stacked(v, l, follow_stacked);
    each_other(v, l->ifindex, rib_iface_update_via);
    if (v->table != RIB_TABLE_MAIN) // from now on we keep its local routes
        rib_sync_want(v, 1u << RIB_STAGE_ROUTE4 | 1u << RIB_STAGE_ROUTE6, 0);
    if (l->known)
        rib_iface_report(v, l, false);
    if (!v->n_uppers)
        return;
    rib_map_each (&v->link, l)
        rib_iface_upper(v, l); // devices already on top of it
}

static struct rib_link *link_of_iface(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l = rib_link_find(v, iface_get(iface)->ifindex);

    if (l && l->iface == iface)
        return l;
    rib_map_each (&v->link, l)
        if (l->iface == iface)
            return l;
    return NULL;
}

void rib_iface_unbind(struct rib_vr *v, uint16_t iface)
{
    struct rib_link *l = link_of_iface(v, iface);
    uint32_t glean, broadcast;

    if (!l)
        return;
    rib_multicast_unbind(v, l);
    l->iface = l->via = 0;
    rib_label_unbound(v, iface);
    each_stacked(v, l, follow_stacked);
    each_other(v, l->ifindex, rib_iface_update_via);
    rib_multicast_refresh(v);
    glean = l->glean;
    l->glean = 0;
    broadcast = l->broadcast;
    l->broadcast = 0;
    neigh_link_changed(v, l);
    rib_link_rehop(v, l->ifindex);
    nexthop_put(glean);
    nexthop_put(broadcast);
    rib_iface_update_via(v, l);
    settle_paths(v, l);
    each_other(v, l->ifindex, settle_paths);
}

// The first usable address; a deprecated one only if there is no other (RFC 6724 5, rule 3).
static const struct rib_address *primary_address(const struct rib_link *l, uint8_t family,
                                                 uint8_t scope)
{
    const struct rib_address *deprecated = NULL;

    vec_foreach (&l->addr, a) {
        if (a->addr.family != family || !a->usable || a->secondary || a->scope != scope)
            continue;
        if (!a->deprecated)
            return a;
        deprecated = deprecated ? deprecated : a;
    }
    return deprecated;
}

static void write_addr6(uint8_t to[16], const struct rib_address *a)
{
    static const uint8_t none[16];

    if (memcmp(to, a ? a->addr.b : none, 16))
        memcpy(to, a ? a->addr.b : none, 16);
}

// Is `b` a better link than `a` for the router's own address? The loopback device first, then the
// lowest ifindex.
static bool is_better(const struct rib_link *a, const struct rib_link *b)
{
    bool lo_a = a && !strcmp(a->name, "lo"), lo_b = !strcmp(b->name, "lo");

    return !a || (lo_b != lo_a ? lo_b : b->ifindex < a->ifindex);
}

// Address of the virtual router, used where an interface has none.
static const struct rib_address *router_address(struct rib_vr *v, uint8_t family, int *of)
{
    struct rib_link *l, *best = NULL;

    rib_map_each (&v->link, l)
        if (primary_address(l, family, RT_SCOPE_UNIVERSE) && is_better(best, l))
            best = l;
    *of = best ? best->ifindex : 0;
    return best ? primary_address(best, family, RT_SCOPE_UNIVERSE) : NULL;
}

// Updates them after a change on this link.
static void router_addresses(struct rib_vr *v, const struct rib_link *changed)
{
    const struct rib_address *a;
    struct vr *vr = vr_get(v->id);
    bool concerned = false;

    for (unsigned k = 0; k < 2; k++)
        concerned |= v->addresses_of[k] == changed->ifindex ||
                     primary_address(changed, k ? IP6 : IP4, RT_SCOPE_UNIVERSE);
    if (!concerned)
        return;
    a = router_address(v, IP4, &v->addresses_of[0]);

    __atomic_store_n(&vr->addr4, a ? a->addr.ip4 : 0, __ATOMIC_RELAXED);
    write_addr6(vr->addr6, router_address(v, IP6, &v->addresses_of[1]));
}

void rib_iface_addresses(struct rib_vr *v, struct rib_link *l)
{
    const struct rib_address *a;
    struct iface *i;

    router_addresses(v, l);
    rib_iface_update_via(v, l);
    if (!l->iface)
        return;
    i = iface_get(l->iface);
    a = primary_address(l, IP4, RT_SCOPE_UNIVERSE);
    if (!a)
        a = primary_address(l, IP4, RT_SCOPE_LINK);
    __atomic_store_n(&i->addr4, a ? a->addr.ip4 : 0, __ATOMIC_RELAXED);
    write_addr6(i->addr6, primary_address(l, IP6, RT_SCOPE_UNIVERSE));
    write_addr6(i->addr6_ll, primary_address(l, IP6, RT_SCOPE_LINK));
}

static void (*on_event)(const struct iface_kernel_event *e);

void rib_iface_set_event(void (*fn)(const struct iface_kernel_event *e))
{
    on_event = fn;
}

static void deliver_event(void *arg)
{
    if (on_event)
        on_event(arg);
    free(arg);
}

static void add_master(struct rib_vr *v, const struct rib_link *l, struct iface_kernel_event *e)
{
    const struct rib_link *master = l->told.master ? rib_link_find(v, l->told.master) : NULL;

    if (!master)
        return;
    memcpy(e->master, master->name, sizeof e->master);
    e->vrf_table = master->told.vrf_table;
}

bool rib_iface_has_vrf(const struct rib_vr *v)
{
    struct rib_link *l;

    if (!v->n_vrfs)
        return false;
    rib_map_each (&v->link, l)
        if (l->known && l->told.kind == NETLINK_LINK_VRF && l->told.vrf_table == v->table)
            return true;
    return false;
}

// The devices on top of the link: MACs of macvlans, a VLAN device.
static void add_uppers(struct rib_vr *v, const struct rib_link *base, struct iface_kernel_event *e)
{
    struct rib_link *l;

    if (!v->n_uppers)
        return;
    rib_map_each (&v->link, l) {
        if (is_stacked(l, base) && l->lent) {
            if (e->n_macs < IFACE_MACS)
                e->mac[e->n_macs] = l->lent;
            e->n_macs++;
        } else if (l->known && l->told.kind == NETLINK_LINK_VLAN &&
                   l->told.lower == base->ifindex) {
            memcpy(e->vlan_device, l->name, sizeof e->vlan_device);
            e->vlan = l->told.vlan;
        }
    }
}

void rib_iface_report(struct rib_vr *v, const struct rib_link *l, bool gone)
{
    struct iface_kernel_event *e = malloc(sizeof *e);

    bug_on(!e);
    *e = (struct iface_kernel_event){.vr = v->id,
                                     .iface = l->iface,
                                     .ifindex = l->ifindex,
                                     .gone = gone,
                                     .has_vrf = rib_iface_has_vrf(v)};
    add_master(v, l, e);
    add_uppers(v, l, e);
    manager_reply(deliver_event, e);
}

void rib_iface_vrf(struct rib_vr *v, const struct rib_link *device)
{
    struct rib_link *l;

    if (device->told.kind != NETLINK_LINK_VRF || device->told.vrf_table != v->table)
        return;
    rib_map_each (&v->link, l)
        if (l->iface && l->known)
            rib_iface_report(v, l, false);
}

void rib_iface_vlan(struct rib_vr *v, const struct rib_link *device)
{
    const struct rib_link *base =
        device->told.kind == NETLINK_LINK_VLAN ? rib_link_find(v, device->told.lower) : NULL;

    if (base && base->iface && base->known)
        rib_iface_report(v, base, false);
}

static void ask_to_look(struct rib_vr *v, int ifindex, uint16_t iface, const char *upper)
{
    struct iface_kernel_event *e = malloc(sizeof *e);

    bug_on(!e);
    *e = (struct iface_kernel_event){
        .vr = v->id, .iface = iface, .ifindex = ifindex, .settings = true};
    memcpy(e->upper, upper, strnlen(upper, sizeof e->upper - 1));
    if (mailbox_post(ROLE_CONTROL, deliver_event, e)) // control also checks periodically
        free(e);
}

void rib_iface_suspect(struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = ifindex > 0 ? rib_link_find(v, ifindex) : NULL;

    if (ifindex == NETCONFA_IFINDEX_ALL || (l && l->iface))
        ask_to_look(v, ifindex, l ? l->iface : 0, "");
    else if (l)
        rib_iface_upper(v, l);
}

void rib_iface_upper(struct rib_vr *v, const struct rib_link *l)
{
    const struct rib_link *lower =
        l->told.lower && !l->iface ? rib_link_find(v, l->told.lower) : NULL;

    if (lower && lower->iface)
        ask_to_look(v, lower->ifindex, lower->iface,
                    l->told.odd_name[0] ? l->told.odd_name : l->name);
}

// --- Linux tunnels ---

static void (*on_tunnel)(const struct iface_tunnel_event *e);

void rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e))
{
    on_tunnel = fn;
}

static void deliver_tunnel(void *arg)
{
    if (on_tunnel)
        on_tunnel(arg);
    free(arg);
}

void rib_iface_tunnel(struct rib_vr *v, const struct rib_link *l, bool gone)
{
    const struct rib_link *master = l->told.master ? rib_link_find(v, l->told.master) : NULL,
                          *dev = l->told.tunnel.dev ? rib_link_find(v, l->told.tunnel.dev) : NULL;
    struct iface_tunnel_event *e;

    if (!l->told.tunnel.kind || v->table != RIB_TABLE_MAIN)
        return;
    e = malloc(sizeof *e);
    bug_on(!e);
    *e = (struct iface_tunnel_event){.vr = v->id, .gone = gone, .link = l->told};
    if (l->told.master)
        snprintf(e->master, sizeof e->master, "%s", master ? master->name : "another device");
    if (dev)
        snprintf(e->dev, sizeof e->dev, "%s", dev->name);
    manager_reply(deliver_tunnel, e);
}
