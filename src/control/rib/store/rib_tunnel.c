// SPDX-License-Identifier: BSD-3-Clause
// rib_tunnel.c - the path to the remote end of each tunnel (rib_manager.h)
//
// A tunnel's next hop is the FIB entry of its outer virtual router for the remote address. After a
// commit that changed a FIB, it is looked up again for the tunnels whose remote address is in a
// changed prefix, and soon afterwards for all. No reference is held: the commit that removes a next
// hop from the FIB comes before the commit that frees it.
//
// A path into the tunnel itself is refused, and so is a path through more than TUNNEL_NESTED_MAX
// tunnels (RFC 2473 4.1.1 lets the packet carry a limit; here the router knows).
#include "rib/rib_manager.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "core/rcu.h"
#include "rib/vr.h"
#include "table/fib.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/tunnel.h"

#define TOLD_PER_TICK 64 // ICMP errors processed
#define NOTED_MAX 256u   // prefixes of one commit
#define IP4_PATH_MIN 576 // smaller reports are not accepted

static void (*changed)(uint16_t number);

static struct told { // reports by ICMP
    uint32_t made; // identifies the reported tunnel
    uint64_t until_ns;
    uint16_t mtu; // 0 = nothing
} * told;         // [TUNNEL_NUMBERS]
static unsigned n_told, told_now;

void rib_tunnel_set_event(void (*fn)(uint16_t number))
{
    changed = fn;
}

// Interfaces that a next hop leads through, at most NEXTHOP_GROUP_IFACES.
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
        const struct tunnel *via = tunnel_get(tunnel_of_iface(i));
        if (via == t || depth == TUNNEL_NESTED_MAX || leads_into(via->nexthop, t, depth + 1))
            return true;
    }
    return false;
}

// MTU of the path: the route's, or the smallest of its interfaces. Unknown for a very large group.
static uint16_t path_mtu(uint32_t nexthop)
{
    uint16_t iface[NEXTHOP_GROUP_IFACES], least = nexthop_route_mtu(nexthop);
    unsigned n = ways_out(nexthop, iface);

    for (unsigned k = 0; k < n; k++) {
        uint16_t mtu = iface_get(iface[k])->mtu;
        least = !least || mtu < least ? mtu : least;
    }
    return least ? least : TUNNEL_PATH_ANY;
}

// The smaller of the reported MTU and `mtu`; drops a report about an earlier tunnel with this
// number.
static uint16_t told_mtu(const struct tunnel *t, uint16_t number, uint16_t mtu)
{
    struct told *o = n_told ? &told[number] : NULL;

    if (o && o->mtu && o->made != t->made) {
        o->mtu = 0;
        n_told--;
    }
    return o && o->mtu && o->mtu < mtu ? o->mtu : mtu;
}

static void deliver_change(void *number)
{
    changed(*(uint16_t *)number);
    free(number);
}

static void tell_control(uint16_t number)
{
    uint16_t *n = malloc(sizeof *n);

    bug_on(!n);
    *n = number;
    manager_reply(deliver_change, n);
}

static void refresh(struct rib_vr *v, struct tunnel *t, uint16_t number)
{
    struct ip_addr remote = {.family = t->id.family};
    uint8_t state = TUNNEL_NO_ROUTE, before = t->state;
    uint16_t mtu_before = t->path_mtu;
    uint16_t out[NEXTHOP_GROUP_IFACES];
    uint32_t nexthop;

    memcpy(remote.b, t->id.remote, sizeof remote.b);
    nexthop = fib_find(rib_fib(v, t->id.family), &remote);
    if (nexthop && nexthop_leads_on(nexthop_real(nexthop)))
        state = leads_into(nexthop, t, 0) ? TUNNEL_RECURSION : TUNNEL_UP;
    if (state != TUNNEL_UP)
        nexthop = 0;
    bool ours = nexthop && ways_out(nexthop, out) && iface_get(out[0])->vr == t->id.vr;
    tunnel_set_out(t, ours ? out[0] : 0);
    tunnel_set_path(t, nexthop, state,
                    nexthop ? told_mtu(t, number, path_mtu(nexthop)) : mtu_before);
    if (changed && (state != before || t->path_mtu != mtu_before))
        tell_control(number);
}

// Drops reports about removed tunnels.
static void forget_told(void)
{
    for (uint16_t number = 1; n_told && number < tunnel_end; number++)
        if (told[number].mtu && !__atomic_load_n(&tunnel_get(number)->kind, __ATOMIC_ACQUIRE)) {
            told[number].mtu = 0;
            n_told--;
        }
}

// --- tunnels whose path may have changed ---

// All tunnels, in the order of their remote ends. A tunnel gets a next hop only after it is listed
// here.
static struct remote_end {
    uint16_t vr, number;
    uint8_t family, remote[16];
} * remote_ends;
static unsigned n_remote_ends;

static struct { // since the last commit
    uint16_t vr;
    struct prefix prefix;
} noted[NOTED_MAX];
static unsigned n_noted; // NOTED_MAX + 1: more, or all
static bool due;         // look up all

static int compare_ends(const void *x, const void *y)
{
    const struct remote_end *a = x, *b = y;
    int by_vr = a->vr - b->vr, by_family = a->family - b->family;

    return by_vr ? by_vr : by_family ? by_family : memcmp(a->remote, b->remote, sizeof a->remote);
}

static void refresh_end(const struct remote_end *e)
{
    struct tunnel *t = tunnel_get(e->number);
    struct rib_vr *v = rib_vr_find(e->vr);

    if (v && __atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) && t->id.vr == e->vr &&
        t->id.family == e->family && !memcmp(t->id.remote, e->remote, sizeof e->remote))
        refresh(v, t, e->number);
}

static void refresh_all(void)
{
    forget_told();
    for (unsigned i = 0; i < n_remote_ends; i++)
        refresh_end(&remote_ends[i]);
    n_noted = 0;
    due = false;
}

// Refreshes the tunnels in a prefix: they are adjacent in the array.
static void refresh_in(uint16_t vr, const struct prefix *p)
{
    struct remote_end first = {.vr = vr, .family = p->family};
    unsigned low = 0, high = n_remote_ends;

    memcpy(first.remote, p->b, ip_bits(p->family) / 8);
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (compare_ends(&remote_ends[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n_remote_ends && remote_ends[low].vr == vr && remote_ends[low].family == p->family;
         low++) {
        struct prefix host = {.family = p->family, .len = (uint8_t)ip_bits(p->family)};
        memcpy(host.b, remote_ends[low].remote, sizeof host.b);
        if (!prefix_covers(p, &host))
            break;
        refresh_end(&remote_ends[low]);
    }
}

void rib_tunnel_note(uint16_t vr, const struct prefix *p)
{
    if (!n_remote_ends || n_noted > NOTED_MAX)
        return;
    if (p && n_noted < NOTED_MAX) {
        noted[n_noted].vr = vr;
        noted[n_noted].prefix = *p;
        n_noted++;
    } else {
        n_noted = NOTED_MAX + 1;
    }
}

void rib_tunnel_commit(void)
{
    if (!n_remote_ends)
        return;
    if (n_noted > NOTED_MAX) {
        refresh_all();
        return;
    }
    for (unsigned k = 0; k < n_noted; k++)
        refresh_in(noted[k].vr, &noted[k].prefix);
    n_noted = 0;
    due = true;
}

// Forwarders use a tunnel's path MTU as that of its next hop, so the update must not be late.
void rib_tunnel_iface_changed(uint16_t iface)
{
    uint16_t out[NEXTHOP_GROUP_IFACES];

    due = true;
    if (iface_get(iface)->kind == IFACE_TUNNEL) // then each tunnel checks its own size
        return;
    for (unsigned k = 0; k < n_remote_ends; k++) {
        uint32_t nexthop = tunnel_get(remote_ends[k].number)->nexthop;
        if (nexthop && ways_out(nexthop, out) == 1 && out[0] == iface)
            refresh_end(&remote_ends[k]);
    }
}

void rib_tunnel_changed(void)
{
    n_remote_ends = 0;
    free(remote_ends);
    remote_ends = calloc(tunnel_end, sizeof *remote_ends);
    bug_on(!remote_ends);
    for (uint16_t number = 1; number < tunnel_end; number++) {
        const struct tunnel *t = tunnel_get(number);

        if (!__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE))
            continue;
        struct remote_end *e = &remote_ends[n_remote_ends++];
        *e = (struct remote_end){.vr = t->id.vr, .number = number, .family = t->id.family};
        memcpy(e->remote, t->id.remote, sizeof e->remote);
    }
    qsort(remote_ends, n_remote_ends, sizeof *remote_ends, compare_ends);
    refresh_all();
}

// --- ICMP reports ---

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

static void note_told(const struct tunnel *t, uint16_t number, uint16_t mtu)
{
    const uint16_t least = t->id.family == IP4 ? IP4_PATH_MIN : IP6_MTU_MIN;

    mtu = mtu < least ? least : mtu;
    if (!told)
        told = calloc(TUNNEL_NUMBERS, sizeof *told);
    if (!told || mtu >= t->path_mtu)
        return;
    n_told += !told[number].mtu;
    told[number] = (struct told){t->made, clock_now_ns() + TUNNEL_TOLD_NS, mtu};
}

static void take_too_big(void *arg)
{
    const struct too_big *b = arg;

    for (uint16_t number = 1; rcu_load(&tunnel_index) && number < tunnel_end; number++) {
        const struct tunnel *t = tunnel_get(number);
        if (__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) && is_about(t, b))
            note_told(t, number, b->mtu);
    }
    refresh_all();
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
    for (uint16_t number = 1; n_told && number < tunnel_end; number++)
        if (told[number].mtu && now_ns > told[number].until_ns) {
            told[number].mtu = 0;
            n_told--;
            over = true;
        }
    if (over || due)
        refresh_all();
}
