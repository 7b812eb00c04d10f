// SPDX-License-Identifier: BSD-3-Clause
// urpf.c - checks that a source is reachable where its packet came in (RFC 3704, RFC 8704)
//
// An input check. The sources of all packets of interfaces with uRPF are looked up in the FIB of
// their virtual router:
//
//     loose     some route leads to the source
//     strict    the best route, or a member of its group, leaves by the input interface
//     feasible  any route to the longest prefix of the source leaves by the input interface
//
// The FIB's next hop answers the first two. Aliases (table/nexthop.h), which rib_manager makes in
// virtual routers with such interfaces, tell whether the prefix is the default route, which counts
// only with allow-default, and which other routes it has. A source without a usable route (none,
// blackhole, unreachable, prohibit), or one of our own addresses, is never accepted. Link-local
// sources (fe80::/10, 169.254/16) are not checked, nor packets that were punted earlier: broadcasts
// of hosts without an address (DHCP), control multicast, neighbor discovery.
#include "forwarder/checks.h"
#include "forwarder/drop.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "table/nexthop.h"
#include "table/trial.h"
#include "table/vr.h"
#include "forwarder/forbidden.h"

struct sources { // to be checked
    unsigned n;
    uint8_t at[BURST_MAX]; // index in the burst
    uint16_t vr[BURST_MAX];
    union {
        ip4_t src4[BURST_MAX];
        uint8_t src6[BURST_MAX][16];
    };
    uint32_t nh[BURST_MAX];
};

static bool is_of_link(const uint8_t *ip, uint8_t family)
{
    return family == IP4 ? ip4_is_link_local(ip + 12) : ip6_is_link_local(ip + 8);
}

static void collect_sources(struct sources *a, const struct burst *b)
{
    const unsigned bit = b->family == IP4 ? IFACE_URPF4 : IFACE_URPF6;

    a->n = 0;
    for (unsigned i = 0; i < b->n; i++) {
        const struct iface *iface = iface_get(b->iface[i]);
        if (!(iface_flags(iface) & bit) || is_of_link(b->ip[i], b->family))
            continue;
        if (b->family == IP4)
            a->src4[a->n] = load32(b->ip[i] + 12);
        else
            memcpy(a->src6[a->n], b->ip[i] + 8, 16);
        a->vr[a->n] = b->vr[i];
        a->at[a->n++] = (uint8_t)i;
    }
}

static void look_up_sources(struct sources *a, const struct fib *const *of, uint8_t family,
                            bool mixed)
{
    if (mixed)
        family == IP4 ? fib_find4_each(of, a->vr, a->src4, a->nh, a->n)
                      : fib_find6_each(of, a->vr, a->src6, a->nh, a->n);
    else if (family == IP4)
        fib_find4_bulk(rcu_load(&of[a->vr[0]]), a->src4, a->nh, a->n);
    else
        fib_find6_bulk(rcu_load(&of[a->vr[0]]), a->src6, a->nh, a->n);
}

// Does a next hop of that kind lead to a host other than us?
static bool leads_on(enum nexthop_kind kind)
{
    const unsigned on = 1u << NEXTHOP_ADJACENCY | 1u << NEXTHOP_HOLD | 1u << NEXTHOP_GLEAN |
                        1u << NEXTHOP_FAILED | 1u << NEXTHOP_GROUP | 1u << NEXTHOP_ENCAP;

    return on >> kind & 1;
}

static bool other_leads_out(const struct nexthop *alias, uint16_t iface)
{
    for (unsigned i = 0; i < alias->alias.n; i++)
        if (nexthop_leads_out(alias->alias.other[i], iface))
            return true;
    return false;
}

// Drop reason of a packet that came in by `iface`, with `id` as the next hop to its source; or
// DROP_NONE.
static enum drop_reason check_source(const struct iface *iface, uint8_t family, uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id), *alias = NULL;
    uint8_t how = iface->policy.urpf[family == IP6], mode = how & URPF_MODE;
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nh));

    if (kind == NEXTHOP_ALIAS) {
        alias = nh;
        if (alias->alias.is_default && !(how & URPF_ALLOW_DEFAULT))
            return DROP_URPF_SOURCE;
        id = alias->alias.target;
        kind = nexthop_word_kind(nexthop_word(nexthop_get(id)));
    }
    if (!leads_on(kind))
        return DROP_URPF_SOURCE;
    if (mode == URPF_LOOSE || nexthop_leads_out(id, iface->id))
        return DROP_NONE;
    return mode == URPF_FEASIBLE && alias && other_leads_out(alias, iface->id)
               ? DROP_NONE
               : DROP_URPF_INTERFACE;
}

void urpf(struct forwarder *f, struct burst *b)
{
    struct sources a;
    uint64_t gone = 0;

    collect_sources(&a, b);
    if (!a.n)
        return;
    if (unlikely(f->trial && f->trial->past))
        a.nh[0] = trial_source(f, b);
    else
        look_up_sources(&a, vr_fibs(b->family, f->node), b->family, b->mixed);
    for (unsigned k = 0; k < a.n; k++) {
        unsigned i = a.at[k];
        enum drop_reason why = check_source(iface_get(b->iface[i]), b->family, a.nh[k]);
        if (likely(why == DROP_NONE))
            continue;
        packet_drop(f, b->pkt[i], b->iface[i], why);
        f->counter->iface[b->iface[i]].urpf_packets++;
        gone |= 1ull << i;
    }
    if (gone)
        burst_remove(b, gone);
}
