// SPDX-License-Identifier: BSD-3-Clause
// fwd_priv.h - what ip4_fwd and ip6_fwd have in common
//
// Stages ip4_fwd, ip6_fwd: choose each packet's next hop.
//
//   in     packets checked by ip4_in / ip6_in
//   out    survivors in the same order: nh[] names an adjacency, word[] is its state when it was looked at, hop_out[] the
//          header word with the TTL one lower, size[] the length of the frame to send
//   exits  all of exit.c
//
// One bulk lookup of the burst, each packet in its virtual router's table; then one pass (lanes.h) reads the next hops' words and decides for
// all packets whether the adjacency takes them. Packets whose next hop is a group choose their member, and are decided again. Packets themselves are not
// changed: what an exit sees and an ICMP error quotes is what was received.
//
// The TTL is looked at after the route, not before: a packet that reaches us
// with TTL 1 and is addressed to us must be delivered (RFC 1812, 5.3.1).
//
// Included by the two stage files, which give `family` as a constant: the
// compiler makes two loops of one text.
#ifndef FORWARDER_FWD_PRIV_H
#define FORWARDER_FWD_PRIV_H

#include <rte_prefetch.h>

#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/lookup.h"

// Replaces packet i's group by the member of its flow. An empty group stays: fwd_exit tells it from "no route" by its kind.
FWD_INLINE void fwd_choose(struct forwarder *f, struct burst *b, unsigned i, uint8_t family)
{
    uint32_t member = nexthop_member(nexthop_get(b->nh[i]), fwd_hash(b, i, family));

    rte_prefetch0(nexthop_get(member));
    b->nh[i] = member ? member : b->nh[i];
    f->chosen[member]++;
}

// Packet i's prefix has an alias: counts it, if that is asked for, and replaces the alias by what it stands for.
FWD_INLINE void fwd_unalias(struct forwarder *f, struct burst *b, unsigned i)
{
    const struct nexthop_alias *alias = &nexthop_get(b->nh[i])->alias;
    struct prefix_count *c = &f->prefix_count[alias->counter]; // nobody reads the first, which others have

    c->packets++;
    c->bytes += b->len[i];
    b->nh[i] = alias->target;
}

// Those whose next hop is a group get their member, those of an alias what it stands for. True when there were any.
FWD_INLINE bool fwd_regroup(struct forwarder *f, struct burst *b, uint64_t out, uint8_t family)
{
    bool any = false;

    for (; out; out &= out - 1) {
        unsigned i = (unsigned)__builtin_ctzll(out);
        enum nexthop_kind kind = nexthop_word_kind(b->word[i]);
        if (kind == NEXTHOP_ALIAS) {
            fwd_unalias(f, b, i);
            kind = nexthop_word_kind(nexthop_word(nexthop_get(b->nh[i])));
            any = true;
        }
        if (kind == NEXTHOP_GROUP) {
            fwd_choose(f, b, i, family);
            any = true;
        }
    }
    return any;
}

// nh[] -> survivors with an adjacency that takes them; the rest leaves by fwd_exit.
FWD_INLINE void fwd_decide(struct forwarder *f, struct burst *b, uint8_t family, bool lower)
{
    uint64_t out = f->lanes->take(b, lower);

    if (likely(!out))
        return;
    if (fwd_regroup(f, b, out, family))
        out = f->lanes->take(b, lower);
    for (uint64_t left = out; left; left &= left - 1)
        fwd_exit(f, b, (unsigned)__builtin_ctzll(left));
    if (out)
        burst_remove(b, out);
}

// Is it for us? What came in a broadcast or multicast frame only as a broadcast of IP (RFC 1122 3.3.6).
FWD_INLINE bool fwd_is_ours(const struct burst *b, unsigned i)
{
    uint64_t word = nexthop_word(nexthop_get(b->nh[i]));

    if (nexthop_word_kind(word) == NEXTHOP_LOCAL)
        return b->why[i] != DROP_ETHER_BROADCAST;
    return nexthop_word_kind(word) == NEXTHOP_BROADCAST && nexthop_word_iface(word) == b->iface[i];
}

// Deliver what is addressed to us, drop the rest.
FWD_INLINE void fwd_local(struct forwarder *f, struct burst *b, uint8_t family)
{
    fwd_lookup(f, b, family);
    for (unsigned i = 0; i < b->n; i++) {
        if (!fwd_is_ours(b, i)) {
            if (b->why[i] == DROP_IP6_LINK_LOCAL)
                icmp6_beyond_scope(f, b, i);
            packet_drop(f, b->pkt[i], b->iface[i], b->why[i]);
        } else if (family == IP4)
            punt_ip4(f, b->pkt[i], b->ip[i], b->iface[i]);
        else
            punt_ip6(f, b->pkt[i], b->ip[i], b->iface[i]);
    }
    b->n = 0;
}

#endif
