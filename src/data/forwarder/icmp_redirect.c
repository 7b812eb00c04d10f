// SPDX-License-Identifier: BSD-3-Clause
// icmp_redirect.c - tells hosts to send directly to the next hop
//
// An input check, off unless configured. A packet that leaves by its input interface is forwarded,
// and its sender gets a redirect (RFC 1812 5.2.7.2, RFC 4861 8.2), if
//
//     the sender is a neighbor on that interface, and
//     the next hop is resolved and of the packet's family: the destination itself, or a router (for
//     IPv6 by its link-local address, which the message must carry)
//
// The IPv4 message is sent like any ICMP error (icmp_error.c). The IPv6 message must arrive with
// hop limit 255, from our link-local address, so it is not looked up: it leaves by the sender's
// adjacency. Each interface has a token bucket for redirects. The destination is looked up twice,
// here and in ip4_fwd or ip6_fwd; only bursts of such interfaces pay for that.
#include "forwarder/checks.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/icmp.h"
#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "forwarder/packet.h"
#include "table/icmp.h"
#include "forwarder/forbidden.h"

enum { ICMP4_REDIRECT = 5, ICMP4_CODE_HOST = 1, ICMP6_REDIRECT = 137 };
enum { OPTION_TARGET_MAC = 2, OPTION_REDIRECTED = 4 };

#define REDIRECT6_HDR 40u // ICMPv6 header, target, destination
#define OPTION_MAC_LEN 8u
#define OPTION_QUOTE_HDR 8u
#define IP6_REDIRECT_MAX 1280u

// Returns the sender's adjacency; 0 = not a neighbor on its input interface.
static uint32_t sender_adjacency(const struct forwarder *f, const struct burst *b, unsigned i,
                                 uint8_t family)
{
    const struct fib *fib = fwd_fib(f, b->vr[i], family);
    struct ip_addr src = {.family = family};
    uint32_t id;

    memcpy(src.b, b->ip[i] + (family == IP4 ? 12 : 8), family == IP4 ? 4 : 16);
    if (family == IP4)
        fib_find4_bulk(fib, &src.ip4, &id, 1);
    else
        fib_find6_bulk(fib, (const uint8_t(*)[16])src.b, &id, 1);
    uint64_t word = nexthop_word(nexthop_get(id));
    bool neighbor =
        nexthop_word_kind(word) == NEXTHOP_ADJACENCY && nexthop_word_iface(word) == b->iface[i];
    return neighbor && nexthop_address[id].family && ip_equal(&nexthop_address[id], &src) ? id : 0;
}

// Returns the next hop that the sender should use itself; 0 = none.
FWD_INLINE uint32_t better_nexthop(struct burst *b, unsigned i, uint8_t family)
{
    if (!(iface_flags(iface_get(b->iface[i])) & IFACE_REDIRECT) || ttl_of(b->ip[i], family) <= 1)
        return 0;
    b->nh[i] = nexthop_real(b->nh[i]);
    if (nexthop_word_kind(nexthop_word(nexthop_get(b->nh[i]))) == NEXTHOP_GROUP)
        b->nh[i] = nexthop_member(nexthop_get(b->nh[i]),
                                  fwd_hash(b, i, family)); // not counted as chosen
    uint64_t word = nexthop_word(nexthop_get(b->nh[i]));
    if (nexthop_word_kind(word) != NEXTHOP_ADJACENCY || nexthop_word_iface(word) != b->iface[i])
        return 0;
    return nexthop_address[b->nh[i]].family == family ? b->nh[i] : 0;
}

void redirect4(struct forwarder *f, struct burst *b)
{
    fwd_lookup(f, b, IP4);
    for (unsigned i = 0; i < b->n; i++) {
        uint32_t id = better_nexthop(b, i, IP4);
        if (id && iface_get(b->iface[i])->addr4 && sender_adjacency(f, b, i, IP4))
            icmp4_error(f, b, i, ICMP4_REDIRECT, ICMP4_CODE_HOST,
                        rte_be_to_cpu_32(nexthop_address[id].ip4));
    }
}

// Makes the message about packet i, `id` being its better next hop; NULL without a buffer.
static struct rte_mbuf *redirect6_make(struct burst *b, unsigned i, uint32_t id,
                                       const uint8_t *from)
{
    const unsigned head = IP6_HDR + REDIRECT6_HDR + OPTION_MAC_LEN + OPTION_QUOTE_HDR;
    const struct nexthop *nh = nexthop_get(id);
    uint64_t word = nexthop_word(nh);
    // Option lengths are in units of 8 bytes.
    uint32_t quote = RTE_MIN(IP6_REDIRECT_MAX - head, (uint32_t)b->len[i]) & ~7u;
    struct rte_mbuf *m = icmp_quote(b, i, head, quote);

    if (!m)
        return NULL;
    uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *), *icmp = ip + IP6_HDR,
            *option = icmp + REDIRECT6_HDR;
    memset(ip, 0, head);
    memcpy(icmp + 8, nexthop_address[id].b, 16);
    memcpy(icmp + 24, b->ip[i] + 24, 16);
    option[0] = OPTION_TARGET_MAC;
    option[1] = 1;
    memcpy(option + 2, nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word), 6);
    option[8] = OPTION_REDIRECTED;
    option[9] = (uint8_t)((OPTION_QUOTE_HDR + quote) / 8);
    icmp6_fill(ip, m->data_len, from, b->ip[i] + 8, ICMP6_REDIRECT, 0, 0);
    ip[0] = 0x60;
    ip[7] = 255;
    return m;
}

// Sends to the neighbor of `id`, without changing the hop limit.
static void send_to_neighbor(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, uint32_t id)
{
    struct burst *one = &f->fragment;

    burst_reset(one);
    one->family = IP6;
    unsigned at = burst_add(one, m, rte_pktmbuf_mtod(m, uint8_t *), iface);
    one->len[at] = m->data_len;
    one->size[at] = 0;
    one->nh[at] = id;
    f->counter->inject++;
    f->counter->icmp.sent++;
    f->counter->iface[iface].inject_packets++;
    if (f->lanes->apply_nexthops(one, false)) { // it was resolved a moment ago
        packet_drop_bare(f, m, iface, DROP_NEIGH_FAILED);
    } else {
        burst_cross(f, one);
        ether_out(f, one);
    }
    one->family = IP4;
}

void redirect6(struct forwarder *f, struct burst *b)
{
    fwd_lookup(f, b, IP6);
    for (unsigned i = 0; i < b->n; i++) {
        const struct iface *iface = iface_get(b->iface[i]);
        uint32_t id = better_nexthop(b, i, IP6), to = id ? sender_adjacency(f, b, i, IP6) : 0;
        const uint8_t *router = nexthop_address[id].b;
        bool named = id && (ip6_is_link_local(router) || !memcmp(router, b->ip[i] + 24, 16));
        if (!to || !named || !ip6_is_link_local(iface->addr6_ll))
            continue;
        if (!icmp_may_send(ICMP_REDIRECT, b->iface[i], 0, f->now, f->dry)) {
            f->counter->icmp.limited++;
            continue;
        }
        struct rte_mbuf *m = redirect6_make(b, i, id, iface->addr6_ll);
        if (m)
            send_to_neighbor(f, m, b->iface[i], to);
    }
}
