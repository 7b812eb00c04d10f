// SPDX-License-Identifier: BSD-3-Clause
// urpf.c - is the source where the packet comes from? (RFC 3704, RFC 8704)
//
// An input feature. One more lookup, of the sources of all packets of the burst whose interface
// asks for it, in the FIB of its virtual router:
//
//     loose     some route leads to the source
//     strict    the best one leaves by the interface the packet came in by, or one of its ECMP
//     members does feasible  the same of any route to the longest prefix of the source
//
// The FIB's next hop answers the first two. That a prefix is the default route, which counts only
// with allow-default, and what other routes it has, is told by aliases (table/nexthop.h), which
// rib_manager makes where a virtual router has interfaces that ask. A source that leads nowhere (no
// route, blackhole, unreachable, prohibit) or to ourselves is never believed. Sources of this link
// only (fe80::/10, 169.254/16) are nobody's to route: they are not asked about. Neither is what
// went up before this: broadcast of a host without address (DHCP), control multicast, neighbor
// discovery.
#include "forwarder/drop.h"
#include "forwarder/input_check.h"
#include "forwarder/packet.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "forwarder/forbidden.h"

struct asked { // packets whose source is asked about
    unsigned n;
    uint8_t at[BURST_MAX]; // place in the burst
    uint16_t vr[BURST_MAX];
    union {
        ip4_t src4[BURST_MAX];
        uint8_t src6[BURST_MAX][16];
    };
    uint32_t nh[BURST_MAX];
};

static bool is_of_link(const uint8_t *ip, uint8_t family)
{
    return family == IP4 ? ip[12] == 169 && ip[13] == 254 : ip[8] == 0xfe && (ip[9] & 0xc0) == 0x80;
}

static void ask(struct asked *a, const struct burst *b)
{
    const uint16_t bit = b->family == IP4 ? IFACE_URPF4 : IFACE_URPF6;

    a->n = 0;
    for (unsigned i = 0; i < b->n; i++) {
        const struct iface *iface = iface_get(b->iface[i]);
        if (!(iface->flags & bit) || is_of_link(b->ip[i], b->family))
            continue;
        if (b->family == IP4)
            a->src4[a->n] = load32(b->ip[i] + 12);
        else
            memcpy(a->src6[a->n], b->ip[i] + 8, 16);
        a->vr[a->n] = iface->vr;
        a->at[a->n++] = (uint8_t)i;
    }
}

static void lookup(struct asked *a, const struct fib *const *of, uint8_t family, bool mixed)
{
    if (mixed)
        family == IP4 ? fib_find4_each(of, a->vr, a->src4, a->nh, a->n)
                      : fib_find6_each(of, a->vr, a->src6, a->nh, a->n);
    else if (family == IP4)
        fib_find4_bulk(rcu_load(&of[a->vr[0]]), a->src4, a->nh, a->n);
    else
        fib_find6_bulk(rcu_load(&of[a->vr[0]]), a->src6, a->nh, a->n);
}

// Does a next hop of that kind lead to anybody but us?
static bool leads_on(enum nexthop_kind kind)
{
    const unsigned on = 1u << NEXTHOP_ADJACENCY | 1u << NEXTHOP_HOLD | 1u << NEXTHOP_GLEAN |
                        1u << NEXTHOP_FAILED | 1u << NEXTHOP_GROUP;

    return on >> kind & 1;
}

static bool other_leads_out(const struct nexthop *alias, uint16_t iface)
{
    for (unsigned i = 0; i < alias->alias.n; i++)
        if (nexthop_leads_out(alias->alias.other[i], iface))
            return true;
    return false;
}

// Why a packet that came in by `iface`, from a source that `id` leads to, is not believed;
// DROP_NONE: it is.
static enum drop_reason judge(const struct iface *iface, uint8_t family, uint32_t id)
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
    struct asked a;
    uint64_t gone = 0;

    ask(&a, b);
    if (!a.n)
        return;
    lookup(&a, vr_fibs(b->family, f->node), b->family, b->mixed);
    for (unsigned k = 0; k < a.n; k++) {
        unsigned i = a.at[k];
        enum drop_reason why = judge(iface_get(b->iface[i]), b->family, a.nh[k]);
        if (likely(why == DROP_NONE))
            continue;
        packet_drop(f, b->pkt[i], b->iface[i], why);
        f->counter->iface[b->iface[i]].urpf_packets++;
        gone |= 1ull << i;
    }
    if (gone)
        burst_remove(b, gone);
}
