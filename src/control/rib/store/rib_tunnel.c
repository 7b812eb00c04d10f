// SPDX-License-Identifier: BSD-3-Clause
// rib_tunnel.c - see rib_tunnel.h
//
// A tunnel's next hop is what its outer virtual router's FIB has for the remote address, looked up
// again after every commit that changed a FIB: a lookup for each tunnel. No reference is held: the
// commit that takes a next hop out of the FIB comes before the one that frees it.
//
// A path into the tunnel itself is refused, and one through more than TUNNEL_NESTED_MAX tunnels
// (RFC 2473 4.1.1 has the packet carry a limit; here the router knows).
#include "rib/rib_tunnel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/mailbox.h"
#include "core/rcu.h"
#include "rib/vr.h"
#include "table/fib.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/tunnel.h"

#define TOLD_PER_TICK 64 // ICMP errors that are looked at

static void (*changed)(uint16_t vlan);

static struct told { // by ICMP
    struct tunnel_key id;
    uint64_t until_ns;
    uint16_t mtu; // 0 = nothing
} * told;         // [TUNNEL_MAX + 1]
static unsigned n_told, told_now;

void rib_tunnel_set_event(void (*fn)(uint16_t vlan))
{
    changed = fn;
}

// The interfaces by which a next hop leads, at most NEXTHOP_GROUP_IFACES.
static unsigned ways_out(uint32_t nexthop, uint16_t iface[NEXTHOP_GROUP_IFACES])
{
    const struct nexthop *nh = nexthop_get(nexthop_real(nexthop));
    uint64_t word = nexthop_word(nh);
    unsigned n = 0;

    if (nexthop_word_kind(word) != NEXTHOP_GROUP) {
        iface[0] = nexthop_word_iface(word);
        return iface[0] != 0;
    }
    for (unsigned k = 0; k < NEXTHOP_GROUP_IFACES; k++)
        if (nh->group.iface[k] && nh->group.iface[k] != NEXTHOP_IFACES_MANY)
            iface[n++] = nh->group.iface[k];
    return n;
}

static bool leads_into(uint32_t nexthop, const struct tunnel *t, unsigned depth)
{
    uint16_t iface[NEXTHOP_GROUP_IFACES];
    unsigned n = ways_out(nexthop, iface);

    for (unsigned k = 0; k < n; k++) {
        const struct iface *i = iface_get(iface[k]);
        if (i->kind != IFACE_TUNNEL)
            continue;
        const struct tunnel *via = tunnel_get(i->vlan);
        if (via == t || depth == TUNNEL_NESTED_MAX || leads_into(via->nexthop, t, depth + 1))
            return true;
    }
    return false;
}

// What the way takes: the route's MTU, or the smallest of its interfaces.
static uint16_t path_mtu(uint32_t nexthop)
{
    uint16_t iface[NEXTHOP_GROUP_IFACES], least = nexthop_route_mtu(nexthop);
    unsigned n = ways_out(nexthop, iface);

    for (unsigned k = 0; k < n; k++) {
        uint16_t mtu = iface_get(iface[k])->mtu;
        least = !least || mtu < least ? mtu : least;
    }
    return least;
}

// The smaller of both; `t` is another tunnel than the one of which it was told.
static uint16_t told_mtu(const struct tunnel *t, uint16_t vlan, uint16_t mtu)
{
    struct told *o = n_told ? &told[vlan] : NULL;

    if (o && o->mtu && memcmp(&o->id, &t->id, sizeof o->id)) {
        o->mtu = 0;
        n_told--;
    }
    return o && o->mtu && (!mtu || o->mtu < mtu) ? o->mtu : mtu;
}

static bool is_way_out(uint32_t nexthop)
{
    switch (nexthop_word_kind(nexthop_word(nexthop_get(nexthop_real(nexthop))))) {
    case NEXTHOP_ADJACENCY:
    case NEXTHOP_GROUP:
    case NEXTHOP_GLEAN:
    case NEXTHOP_HOLD:
    case NEXTHOP_FAILED:
        return true;
    default:
        return false;
    }
}

static void tell_control(void *vlan)
{
    changed((uint16_t)(uintptr_t)vlan);
}

static void refresh(struct rib_vr *v, struct tunnel *t, uint16_t vlan)
{
    struct ip_addr remote = {.family = t->family};
    uint8_t state = TUNNEL_NO_ROUTE, before = t->state;
    uint16_t mtu_before = t->path_mtu;
    uint32_t nexthop;

    memcpy(remote.b, t->id.remote, sizeof remote.b);
    nexthop = fib_find(rib_fib(v, t->family), &remote);
    if (nexthop && is_way_out(nexthop))
        state = leads_into(nexthop, t, 0) ? TUNNEL_RECURSION : TUNNEL_UP;
    if (state != TUNNEL_UP)
        nexthop = 0;
    tunnel_set_path(t, nexthop, state, nexthop ? told_mtu(t, vlan, path_mtu(nexthop)) : mtu_before);
    if (changed && (state != before || t->path_mtu != mtu_before))
        (void)mailbox_post(ROLE_CONTROL, tell_control, (void *)(uintptr_t)vlan);
}

// Of tunnels that are gone.
static void forget_told(void)
{
    for (uint16_t vlan = 1; n_told && vlan <= TUNNEL_MAX; vlan++)
        if (told[vlan].mtu && !__atomic_load_n(&tunnel_get(vlan)->kind, __ATOMIC_ACQUIRE)) {
            told[vlan].mtu = 0;
            n_told--;
        }
}

void rib_tunnel_refresh(void)
{
    forget_told();
    if (!rcu_load(&tunnel_index))
        return;
    for (uint16_t vlan = 1; vlan <= TUNNEL_MAX; vlan++) {
        struct tunnel *t = tunnel_get(vlan);
        struct rib_vr *v;

        if (__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) && (v = rib_vr_find(t->vr)))
            refresh(v, t, vlan);
    }
}

// --- what ICMP says ---

struct too_big {
    struct tunnel_key id;
    bool has_key;
    uint16_t mtu;
};

static bool is_about(const struct tunnel *t, const struct too_big *b)
{
    struct tunnel_key id = t->id;

    if (!b->has_key)
        id.key = b->id.key;
    return !memcmp(&id, &b->id, sizeof id);
}

// Without 1280 bytes inside, Linux takes IPv6 away from the interface.
static uint16_t least_mtu(const struct tunnel *t)
{
    return t->family == IP4
               ? 576
               : (uint16_t)(IP6_MTU_MIN + tunnel_overhead(t->id.kind, t->family, t->keyed));
}

static void note_told(const struct tunnel *t, uint16_t vlan, uint16_t mtu)
{
    mtu = mtu < least_mtu(t) ? least_mtu(t) : mtu;
    if (!told)
        told = calloc(TUNNEL_MAX + 1, sizeof *told);
    if (!told || mtu >= t->path_mtu)
        return;
    n_told += !told[vlan].mtu;
    told[vlan] = (struct told){t->id, clock_now_ns() + TUNNEL_TOLD_NS, mtu};
}

static void take_too_big(void *arg)
{
    const struct too_big *b = arg;

    for (uint16_t vlan = 1; rcu_load(&tunnel_index) && vlan <= TUNNEL_MAX; vlan++) {
        const struct tunnel *t = tunnel_get(vlan);
        if (__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) && is_about(t, b))
            note_told(t, vlan, b->mtu);
    }
    rib_tunnel_refresh();
    free(arg);
}

void rib_tunnel_too_big(const struct tunnel_key *k, bool has_key, uint16_t mtu)
{
    struct too_big *b = __atomic_fetch_add(&told_now, 1, __ATOMIC_RELAXED) < TOLD_PER_TICK
                            ? malloc(sizeof *b)
                            : NULL;

    if (!b)
        return;
    *b = (struct too_big){.id = *k, .has_key = has_key, .mtu = mtu};
    if (mailbox_post(ROLE_RIB_MANAGER, take_too_big, b))
        free(b);
}

void rib_tunnel_tick(uint64_t now_ns)
{
    bool over = false;

    __atomic_store_n(&told_now, 0, __ATOMIC_RELAXED);
    for (uint16_t vlan = 1; n_told && vlan <= TUNNEL_MAX; vlan++)
        if (told[vlan].mtu && now_ns > told[vlan].until_ns) {
            told[vlan].mtu = 0;
            n_told--;
            over = true;
        }
    if (over)
        rib_tunnel_refresh();
}
