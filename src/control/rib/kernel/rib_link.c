// SPDX-License-Identifier: BSD-3-Clause
// rib_link.c - links and addresses, and the routes that the kernel deletes silently
//
// rtnetlink announces that a link went down, but not the loss of its IPv4 routes and next-hop
// objects. So we repeat the kernel's changes:
//
//     link down                 routes whose legs are all dead, except local ones of IPv4; next-hop
//                               objects on the link
//     carrier lost              next-hop objects on the link, and IPv4 routes with them; other
//                               routes are only flagged
//     link deleted or moved     all of the above, local routes too, and IPv4 multipath routes with
//                               one leg on the link
//     last IPv4 address gone    IPv4 routes whose legs are all dead, local ones too; legs stay dead
//                               until there is an address again
//     next-hop object deleted   routes that name it (nexthop_object.c)
//
// Then we request a dump, because the kernel is right and we only guess. The kernel announces the
// loss of IPv6 routes, unless net.ipv6.route.skip_notify_on_dev_down is set, but not of a leg of a
// multipath route; so we check the link of each leg in both families. After the loss of the last
// IPv6 address, only the dump tells whether IPv6 is disabled on the link, which ends its routes.
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "base/clock.h"
#include "rib/neigh.h"
#include "rib/rib_multicast.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/tunnel.h"

#define VERIFY_DELAY_NS (100 * NS_PER_MS)

enum loss { LOSS_DOWN, LOSS_ADDRESS, LOSS_GONE };

// Unlike hop_is_dead(): a leg without carrier may be left out, but does not count as dead here.
static bool is_up(const struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = rib_link_find(v, ifindex);

    return l && l->up;
}

// Does this kind of link loss make the kernel delete the path's routes?
static bool is_lost(struct rib_vr *v, const struct rib_path *p, int ifindex, enum loss loss)
{
    bool on_it = false, all_dead = true;

    if (p->condemned || p->nhid || !p->n_hops)
        return false;
    if (p->family == IP6 ? loss == LOSS_ADDRESS : loss == LOSS_DOWN && p->type == RTN_LOCAL)
        return false;
    for (unsigned i = 0; i < p->n_hops; i++) {
        if (p->hop[i].ifindex == ifindex)
            on_it = true;
        else if (!(p->own.n && p->own.hop[i].lost) && is_up(v, p->hop[i].ifindex))
            all_dead = false;
    }
    return on_it && (all_dead || (loss == LOSS_GONE && p->family == IP4));
}

static void lose_paths(struct rib_vr *v, int ifindex, enum loss loss)
{
    for (uint32_t id = 1; id < v->path.n; id++) {
        struct rib_path *p = rib_path_at(v, id);

        if (p && is_lost(v, p, ifindex, loss))
            rib_path_condemn(v, p);
    }
    rib_sync_want(v, RIB_STAGES_ROUTES4 | RIB_STAGES_ROUTES6, VERIFY_DELAY_NS);
}

// IPv4 legs on the link die silently with its last address, and come back with the next one.
static void set_lost(struct rib_vr *v, int ifindex, bool lost)
{
    if (!rib_link_has_legs(v, ifindex))
        return;
    for (uint32_t id = 1; id < v->path.n; id++) {
        struct rib_path *p = rib_path_at(v, id);
        bool any = false;

        for (unsigned i = 0; p && p->family == IP4 && i < p->own.n; i++)
            if (p->own.hop[i].key.ifindex == ifindex && p->own.hop[i].lost != lost) {
                p->own.hop[i].lost = lost;
                any = true;
            }
        if (any && hop_set_resolve(v, &p->own))
            rib_path_dirty(v, p);
    }
}

static void count_link(struct rib_vr *v, const struct netlink_link *m, unsigned by)
{
    v->n_macvlans += m->kind == NETLINK_LINK_MACVLAN ? by : 0;
    v->n_vrfs += m->kind == NETLINK_LINK_VRF ? by : 0;
    v->n_uppers += m->lower ? by : 0;
}

void rib_link_gone(struct rib_vr *v, struct rib_link *l)
{
    if (l->iface)
        rib_iface_report(v, l, true);
    rib_iface_tunnel(v, l, true);
    l->known = l->up = l->carrier = false;
    vec_clear(&l->addr);
    count_link(v, &l->told, -1u);
    rib_iface_addresses(v, l);
    rib_sync_link_lost(v, l->ifindex);
    rib_iface_vrf(v, l);
    rib_iface_vlan(v, l);
    rib_multicast_link_gone(v, l);
    lose_paths(v, l->ifindex, LOSS_GONE);
    nexthop_object_link_lost(v, l->ifindex);
    neigh_link_gone(v, l);
    rib_link_rehop(v, l->ifindex);
}

static void link_changed(struct rib_vr *v, struct rib_link *l, bool was_up, bool had_carrier)
{
    if ((was_up && !l->up) || (had_carrier && !l->carrier))
        rib_sync_link_lost(v, l->ifindex);
    if (was_up && !l->up)
        lose_paths(v, l->ifindex, LOSS_DOWN);
    if ((was_up && !l->up) || (had_carrier && !l->carrier)) {
        nexthop_object_link_lost(v, l->ifindex);
        rib_sync_want(v, RIB_STAGES_ROUTES4, VERIFY_DELAY_NS);
    }
    if (rib_link_is_alive(l)) // before its gateways join groups
        neigh_carrier_changed(l);
    rib_link_rehop(v, l->ifindex);
    neigh_link_changed(v, l);
}

void rib_event_link(struct rib_vr *v, const struct netlink_event *e)
{
    const struct netlink_link *m = &e->link;
    struct rib_link *l = e->del ? rib_link_find(v, m->ifindex) : rib_link_get(v, m->ifindex);
    bool was_up, had_carrier, is_news;

    if (!l || (e->del && !l->known))
        return;
    if (e->del) {
        rib_link_gone(v, l);
        return;
    }
    was_up = l->up;
    had_carrier = l->carrier;
    is_news = !l->known || memcmp(&l->told, m, sizeof *m);
    // Linux changes the MTU of IPv6 routes silently when that of their link changes.
    if (l->known && l->told.mtu != m->mtu && v->n_mtu_paths)
        rib_sync_want(v, RIB_STAGES_ROUTES6, VERIFY_DELAY_NS);
    if (l->known)
        count_link(v, &l->told, -1u);
    count_link(v, m, 1);
    l->known = true;
    l->gen = v->gen;
    l->up = m->up;
    l->carrier = m->carrier;
    l->told = *m;
    memcpy(l->name, m->name, sizeof l->name);
    if (is_news) {
        rib_iface_update_via(v, l);
        rib_iface_vrf(v, l);
        rib_iface_vlan(v, l);
        rib_iface_tunnel(v, l, false);
    }
    if (l->iface && is_news)
        rib_iface_report(v, l, false);
    else if (is_news)
        rib_iface_upper(v, l);
    if (!was_up && l->up)
        set_lost(v, l->ifindex, false);
    if (was_up != l->up || had_carrier != l->carrier)
        link_changed(v, l, was_up, had_carrier);
}

static struct rib_address *find_addr(struct rib_link *l, const struct netlink_addr *m)
{
    vec_foreach (&l->addr, a)
        if (ip_equal(&a->addr, &m->addr) && a->len == m->len)
            return a;
    return NULL;
}

static bool has_address(const struct rib_link *l, uint8_t family)
{
    vec_foreach (&l->addr, a)
        if (a->addr.family == family)
            return true;
    return false;
}

static void verify_without_addr6(struct rib_vr *v, const struct rib_link *l)
{
    if (!has_address(l, IP6))
        rib_sync_want(v, RIB_STAGES_ROUTES6, VERIFY_DELAY_NS);
}

static void addr_del(struct rib_vr *v, struct rib_link *l, struct rib_address *a)
{
    uint8_t family = a->addr.family;
    size_t i = (size_t)(a - l->addr.item);

    rib_multicast_own(v, l, &a->addr, false);
    memmove(a, a + 1, (l->addr.n - i - 1) * sizeof *a); // the order determines the primary one
    l->addr.n--;
    rib_iface_addresses(v, l);
    if (family == IP6) {
        verify_without_addr6(v, l);
        return;
    }
    rib_sync_link_lost(v, l->ifindex);
    if (has_address(l, IP4)) {
        rib_sync_want(v, RIB_STAGES_ROUTES4, VERIFY_DELAY_NS);
        return;
    }
    lose_paths(v, l->ifindex, LOSS_ADDRESS);
    set_lost(v, l->ifindex, true);
}

void rib_event_addr(struct rib_vr *v, const struct netlink_event *e)
{
    const struct netlink_addr *m = &e->addr;
    struct rib_link *l = e->del ? rib_link_find(v, m->ifindex) : rib_link_get(v, m->ifindex);
    struct rib_address *a = l ? find_addr(l, m) : NULL;

    if (e->del) {
        // Linux announces no automatic address before it has checked that no other host has it.
        if (a)
            addr_del(v, l, a);
        else if (l && m->addr.family == IP6)
            verify_without_addr6(v, l);
        return;
    }
    if (!l)
        return;
    if (!a)
        a = vec_push(&l->addr);
    *a = (struct rib_address){m->addr,      m->len,    m->scope,     v->gen,
                              m->secondary, m->usable, m->automatic, m->deprecated};
    rib_multicast_own(v, l, &m->addr, true);
    rib_iface_addresses(v, l);
    if (m->addr.family == IP4)
        set_lost(v, l->ifindex, false);
}

void rib_link_sweep_addr(struct rib_vr *v)
{
    struct rib_link *l;

    rib_map_each (&v->link, l) {
        for (size_t i = l->addr.n; i-- > 0;)
            if (l->addr.item[i].gen != v->gen) {
                v->swept++;
                addr_del(v, l, &l->addr.item[i]);
            }
    }
}

// A tunnel made by Linux, which must not forward (interface/tap_sysctl.c).
static bool is_of_linux(struct rib_vr *v, int ifindex)
{
    const struct rib_link *l = ifindex > 0 ? rib_link_find(v, ifindex) : NULL;

    return l && l->iface && tunnel_is_by_linux(iface_get(l->iface));
}

void rib_event_netconf(struct rib_vr *v, const struct netlink_netconf *m)
{
    bool six = m->family == IP6, *flag = NULL;
    struct rib_link *l;

    if (m->suspect || (m->forwards && !six && is_of_linux(v, m->ifindex)))
        rib_iface_suspect(v, m->ifindex);
    if (m->has_multicast && m->ifindex > 0)
        rib_multicast_daemon(v, rib_link_get(v, m->ifindex), m->family, m->multicast);
    if (!m->has_ignore_linkdown)
        return;
    // "all" counts for IPv4 only: the kernel checks "all or this link" for IPv4, and only the link
    // for IPv6.
    if (m->ifindex == NETCONFA_IFINDEX_ALL && !six)
        flag = &v->ignore_linkdown_all4;
    else if ((l = rib_link_get(v, m->ifindex)))
        flag = &l->ignore_linkdown[six];
    if (!flag || *flag == m->ignore_linkdown)
        return;
    *flag = m->ignore_linkdown;
    rib_link_rehop(v, 0);
}

void rib_event_nexthop(struct rib_vr *v, const struct netlink_event *e)
{
    if (!e->del) {
        nexthop_object_set(v, &e->nexthop);
        return;
    }
    nexthop_object_links_lost(v, e->nexthop.id);
    nexthop_object_del(v, e->nexthop.id);
    rib_sync_want(v, RIB_STAGES_ROUTES4, VERIFY_DELAY_NS);
}
