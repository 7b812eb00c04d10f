// SPDX-License-Identifier: BSD-3-Clause
// Stages ip4_fwd and ip6_fwd: choose each packet's next hop
//
//   in     packets checked by ether_in, ip4_in or ip6_in
//   out    survivors in the same order: nh[] names an adjacency; word[] is a snapshot of it,
//          hop_out[] the header word with the TTL one lower, size[] the frame's new length
//   exits  all of exit.c
//
// One bulk lookup for the burst, each packet in its virtual router's table; then lanes.h reads the
// next hops' words and decides for all packets whether the adjacency takes them. Packets whose next
// hop is a group choose their member and are decided again. The packets themselves are not changed:
// an exit sees, and an ICMP error quotes, the packet as received.
//
// The TTL is checked after the lookup: a packet with TTL 1 that is addressed to us must be
// delivered (RFC 1812, 5.3.1).
//
// The stages give `family` as a constant: the compiler makes two loops from one text. Packets that
// were held or may only be delivered here are too few for that.
#include <rte_prefetch.h>

#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/label.h"
#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "forwarder/super.h"
#include "forwarder/tunnel.h"
#include "forwarder/forbidden.h"

// Replaces packet i's group by the member for its flow. An empty group stays: fwd_exit drops it
// with its own reason.
FWD_INLINE void fwd_choose_member(struct forwarder *f, struct burst *b, unsigned i, uint8_t family)
{
    uint32_t member = nexthop_member(nexthop_get(b->nh[i]), fwd_hash(b, i, family));

    rte_prefetch0(nexthop_get(member));
    b->nh[i] = member ? member : b->nh[i];
    f->chosen[member]++;
}

// Packets whose routes have an MTU.
struct fwd_narrow {
    uint64_t set; // mask in the burst
    uint16_t mtu[BURST_MAX];
};

FWD_INLINE void fwd_narrow_add(struct fwd_narrow *w, unsigned i, uint16_t mtu)
{
    w->set |= (uint64_t)(mtu != 0) << i;
    w->mtu[i] = mtu;
}

// Sets the MTU of word[] to the smaller one of route and next hop. Returns the mask of larger
// packets.
FWD_INLINE uint64_t fwd_narrow(struct burst *b, const struct fwd_narrow *w)
{
    uint64_t large = 0;

    for (uint64_t left = w->set; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        uint16_t mtu = nexthop_word_mtu(b->word[i]);
        if (mtu && mtu <= w->mtu[i])
            continue;
        b->word[i] = nexthop_word_narrowed(b->word[i], w->mtu[i]);
        large |= (uint64_t)(b->len[i] > w->mtu[i]) << i;
    }
    return large;
}

// Packet i's prefix has an alias: counts the packet for it, and replaces the alias by its target.
FWD_INLINE void fwd_resolve_alias(struct forwarder *f, struct burst *b, unsigned i,
                                  struct fwd_narrow *w)
{
    const struct nexthop_alias *alias = &nexthop_get(b->nh[i])->alias;
    // Slot 0, which is never read, if the prefix is not counted.
    struct prefix_count *c = &f->prefix_count[alias->counter];

    c->packets++;
    c->bytes += b->len[i];
    fwd_narrow_add(w, i, alias->mtu);
    b->nh[i] = alias->target;
}

// Replaces groups by a member and aliases by their targets, for the packets of mask `out`. Returns
// false if there were none.
FWD_INLINE bool fwd_resolve(struct forwarder *f, struct burst *b, uint64_t out, uint8_t family,
                            struct fwd_narrow *w)
{
    bool any = false;

    for (; out; out &= out - 1) {
        unsigned i = (unsigned)__builtin_ctzll(out);
        enum nexthop_kind kind = nexthop_word_kind(b->word[i]);
        if (kind == NEXTHOP_ALIAS) {
            fwd_resolve_alias(f, b, i, w);
            kind = nexthop_word_kind(nexthop_word(nexthop_get(b->nh[i])));
            any = true;
        }
        if (kind == NEXTHOP_GROUP) {
            fwd_choose_member(f, b, i, family);
            any = true;
        }
    }
    return any;
}

// Passes the packets of mask `out` to their exits.
FWD_INLINE void fwd_leave(struct forwarder *f, struct burst *b, uint64_t out)
{
    uint64_t left = out;

    if (out && unlikely(tunnel_any()) && b->kind == BURST_TRANSIT)
        left = tunnel_take(f, b, out);
    if (left)
        left = label_push(f, b, left);
    for (; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (unlikely(super_is(b->pkt[i])))
            super_exit(f, b, i);
        else
            fwd_exit(f, b, i);
    }
    if (out)
        burst_remove(b, out);
}

// Is it for us? In a broadcast or multicast frame, only IP broadcasts are (RFC 1122 3.3.6).
FWD_INLINE bool fwd_is_ours(const struct burst *b, unsigned i)
{
    uint64_t word = nexthop_word(nexthop_get(b->nh[i]));

    if (nexthop_word_kind(word) == NEXTHOP_LOCAL)
        return b->why[i] != DROP_ETHER_BROADCAST;
    return nexthop_word_kind(word) == NEXTHOP_BROADCAST && nexthop_word_iface(word) == b->iface[i];
}

// Like fwd_decide for held packets, but only the next hop's MTU counts.
FWD_INLINE void fwd_tunnel(struct forwarder *f, struct burst *b, uint8_t family)
{
    uint64_t out = f->lanes->apply_nexthops(b, false);
    struct fwd_narrow narrow = {.set = 0};

    if (likely(!out))
        return;
    if (fwd_resolve(f, b, out, family, &narrow))
        out = f->lanes->apply_nexthops(b, false);
    fwd_leave(f, b, out | fwd_narrow(b, &narrow));
}

// Is the first packet that does not stay one that gets labels? Then perhaps all are.
FWD_INLINE bool fwd_begins_with_encap(const struct burst *b, uint64_t out)
{
    return nexthop_word_kind(b->word[__builtin_ctzll(out)]) == NEXTHOP_ENCAP;
}

// Keeps packets whose next hop is an adjacency that takes them; the others leave by fwd_exit.
// `held`: they come back from neigh_manager, with the MTU of their route.
FWD_INLINE void fwd_decide(struct forwarder *f, struct burst *b, uint8_t family, bool held)
{
    uint64_t out = f->lanes->apply_nexthops(b, !held);
    struct fwd_narrow narrow;

    if (likely(!out && !held && !f->supers))
        return;
    if (!held && !f->supers && fwd_begins_with_encap(b, out)) {
        const uint64_t left = label_push(f, b, out);
        burst_remove(b, out & ~left);
        if (!left)
            return;
        out = f->lanes->apply_nexthops(b, true);
    }
    narrow.set = 0;
    for (unsigned i = 0; held && i < b->n; i++)
        fwd_narrow_add(&narrow, i, packet_meta(b->pkt[i])->mtu);
    if (fwd_resolve(f, b, out, family, &narrow))
        out = f->lanes->apply_nexthops(b, !held);
    out |= fwd_narrow(b, &narrow);
    fwd_leave(f, b, unlikely(f->supers) ? super_stay(b, out) : out);
}

void ip4_fwd(struct forwarder *f, struct burst *b)
{
    fwd_look_up(f, b, IP4);
    fwd_decide(f, b, IP4, false);
}

void ip6_fwd(struct forwarder *f, struct burst *b)
{
    fwd_look_up(f, b, IP6);
    fwd_decide(f, b, IP6, false);
}

void ip4_tunnel(struct forwarder *f, struct burst *b)
{
    fwd_tunnel(f, b, IP4);
}

void ip6_tunnel(struct forwarder *f, struct burst *b)
{
    fwd_tunnel(f, b, IP6);
}

void fwd_resume(struct forwarder *f, struct burst *b)
{
    fwd_decide(f, b, b->family, true);
}

void fwd_local(struct forwarder *f, struct burst *b)
{
    if (!b->decided.looked_up)
        fwd_lookup(f, b, b->family);
    for (unsigned i = 0; i < b->n; i++) {
        if (fwd_is_ours(b, i)) {
            punt_ip(f, b->pkt[i], b->ip[i], b->iface[i], b->family);
            continue;
        }
        if (b->why[i] == DROP_IP6_LINK_LOCAL)
            icmp6_beyond_scope(f, b, i);
        packet_drop(f, b->pkt[i], b->iface[i], b->why[i]);
    }
    b->n = 0;
}
