// SPDX-License-Identifier: BSD-3-Clause
// label_push.c - puts labels in front of packets whose next hop says so, and sends them
//
//   in     packets of fwd.c whose next hop is ENCAP, with a neighbor behind it
//   out    sent, with their labels; the burst they came in goes on without them
//   exits  hold, with their labels; all of exit.c, as IP packets; MPLS_ROOM
//
// The neighbor's next hop decides (kind, TTL), as it does for packets without labels; the MTU is
// that of the ENCAP, which counts the labels. ether_out_push() sends all packets that their
// neighbors take. The others pass apply_neighbors(), and so does a burst if an output list, a
// policer or a program is to see its packets before they get labels, or if they are counted. TTL:
// uniform, the packet's; pipe, the next hop's or the virtual router's. The class is the precedence,
// the upper three bits of the DSCP (RFC 3270); Linux sends class 0.
#include "forwarder/checks.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/label.h"
#include "forwarder/lanes_priv.h"
#include "forwarder/stages.h"
#include "forwarder/super.h"
#include "forwarder/forbidden.h"

#define HEADROOM 32 // for the Ethernet header in front of labels

static const struct nexthop_encap *encap_of(const struct burst *p, unsigned i)
{
    return &nexthop_get(p->nh[i])->encap;
}

static bool has_room(const struct burst *p, unsigned i)
{
    return p->ip[i] - (const uint8_t *)p->pkt[i]->buf_addr >=
           (ptrdiff_t)(encap_of(p, i)->n * LABEL_HDR + HEADROOM);
}

// Reads the neighbors' next hops, like lanes->apply_nexthops(). word[]: of the neighbor, with the
// MTU of packets without labels. Returns the mask of packets that they neither take nor hold, or
// that have no room for labels.
static uint64_t apply_neighbors(struct burst *p, bool lower)
{
    uint64_t out = 0;

    p->out_ports = 0;
    for (unsigned i = 0; i < p->n; i++) {
        const struct nexthop_encap *e = encap_of(p, i);
        const struct nexthop *nh = nexthop_get(e->n ? e->via : 0);
        const uint16_t mtu = nexthop_word_mtu(p->word[i]);
        const bool fits = !mtu || p->len[i] <= mtu,
                   lives = !lower || ttl_of(p->ip[i], p->family) > 1;
        uint64_t word = nexthop_word(nh);
        enum nexthop_kind kind = nexthop_word_kind(word);

        p->header[i] = nexthop_rewrite(nh, word) + NEXTHOP_REWRITE;
        if (kind == NEXTHOP_GLEAN) // a neighbor per packet is no neighbor of labels
            word = (word & ~0xffull) | NEXTHOP_UNREACHABLE;
        if (!has_room(p, i) || !lives ||
            !(kind == NEXTHOP_HOLD || (kind == NEXTHOP_ADJACENCY && fits)))
            out |= 1ull << i;
        p->word[i] = nexthop_word_narrowed(word, mtu);
        p->out_iface[i] = nexthop_word_iface(word);
        p->out_port[i] = nexthop_word_port(word);
        p->out_ports |= 1ull << nexthop_word_port(word);
        p->hop_out[i] = lower ? lanes_hop_lowered(p->hop[i], p->family) : p->hop[i];
        p->size[i] = (uint16_t)(p->len[i] + e->n * LABEL_HDR + nexthop_word_head(word));
    }
    return out;
}

static bool drop_without_room(struct forwarder *f, struct burst *p, unsigned i)
{
    if (has_room(p, i))
        return false;
    packet_drop_of(f, p, i, DROP_MPLS_ROOM);
    return true;
}

// The neighbor of packet i is not resolved: the packet waits with its labels.
static void hold_labeled(struct forwarder *f, struct burst *p, unsigned i)
{
    const struct nexthop_encap *e = encap_of(p, i);
    const uint16_t mtu = nexthop_word_mtu(p->word[i]), more = (uint16_t)(e->n * LABEL_HDR);
    const uint8_t family = p->family;

    p->ip[i] = labels_put(p, i, e);
    p->hop_out[i] = load32(p->ip[i]);
    p->len[i] = (uint16_t)(p->len[i] + more);
    p->nh[i] = e->via;
    if (mtu)
        p->word[i] = nexthop_word_narrowed(p->word[i], (uint16_t)(mtu + more));
    p->family = LABELS;
    packet_hold(f, p, i);
    p->family = family;
    packet_meta(p->pkt[i])->pushed = true;
}

// Sends p regardless of its packets' sizes, or holds them.
static void send(struct forwarder *f, struct burst *p, bool lower)
{
    for (unsigned i = 0; i < p->n; i++)
        if (nexthop_word_kind(p->word[i]) == NEXTHOP_ADJACENCY)
            p->word[i] = nexthop_word_narrowed(p->word[i], UINT16_MAX);
    // A packet whose neighbor has changed meanwhile stays, too.
    for (uint64_t held = ether_out_push(f, p, lower); held; held &= held - 1)
        hold_labeled(f, p, (unsigned)__builtin_ctzll(held));
}

// The packets among `of` whose next hop is ENCAP, without super-packets.
static uint64_t find_encap(const struct forwarder *f, const struct burst *b, uint64_t of)
{
    uint64_t found = 0;

    for (; of; of &= of - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(of);
        found |= (uint64_t)(nexthop_word_kind(b->word[i]) == NEXTHOP_ENCAP &&
                            !(unlikely(f->supers) && super_is(b->pkt[i])))
                 << i;
    }
    return found;
}

// Copies packets to f->pushed.
static struct burst *take_packets(struct forwarder *f, const struct burst *b, uint64_t of)
{
    struct burst *p = &f->pushed;

    burst_reset(p);
    p->kind = b->kind;
    p->family = b->family;
    p->mixed = b->mixed;
    p->chained = b->chained;
    p->features = b->features;
    for (; of; of &= of - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(of), k = p->n++;
        p->pkt[k] = b->pkt[i];
        p->ip[k] = b->ip[i];
        p->word[k] = b->word[i];
        p->nh[k] = b->nh[i];
        p->hop[k] = b->hop[i];
        p->iface[k] = b->iface[i];
        p->vr[k] = b->vr[i];
        p->len[k] = b->len[i];
        p->size[k] = b->size[i];
        if (b->family == IP4)
            p->dst4[k] = b->dst4[i];
        else
            memcpy(p->dst6[k], b->dst6[i], 16);
    }
    return p;
}

static __rte_noinline void push_checked(struct forwarder *f, struct burst *p)
{
    const bool lower = !burst_ttl_is_final(p);
    const uint64_t gone = apply_neighbors(p, lower);

    for (uint64_t left = gone; left; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (!drop_without_room(f, p, i))
            fwd_exit(f, p, i);
    }
    if (gone)
        burst_remove(p, gone);
    if (p->features & IFACE_ACL_OUT && p->kind != BURST_ORIGIN && p->n)
        checks_out(f, p);
    if (unlikely(f->counting))
        path_count(f, p);
    if (p->n)
        send(f, p, lower);
}

uint64_t label_push(struct forwarder *f, struct burst *b, uint64_t out)
{
    uint64_t left = out;

    if (likely(!(b->features & IFACE_ACL_OUT) && !nexthop_count_row(f->counting) && !f->supers)) {
        left &= ether_out_push(f, b, !burst_ttl_is_final(b));
        if (unlikely(f->counting) && left != out)
            burst_cross_of(f, b, out & ~left);
    }
    const uint64_t mine = left ? find_encap(f, b, left) : 0;
    if (unlikely(mine))
        push_checked(f, take_packets(f, b, mine));
    return left & ~mine;
}

void label_send(struct forwarder *f, struct burst *p, bool lower)
{
    uint64_t gone = apply_neighbors(p, lower);

    for (uint64_t left = gone; left; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (drop_without_room(f, p, i))
            continue;
        if (nexthop_word_kind(p->word[i]) == NEXTHOP_ADJACENCY) // larger than the MTU
            gone &= ~(1ull << i);
        else
            packet_drop_of(f, p, i, DROP_NEIGH_FAILED);
    }
    if (gone)
        burst_remove(p, gone);
    if (!p->n)
        return;
    burst_cross(f, p);
    send(f, p, lower);
}

void label_resume(struct forwarder *f, struct burst *b)
{
    uint64_t out = f->lanes->apply_nexthops(b, false);

    for (unsigned i = 0; i < b->n; i++) {
        const uint16_t mtu = packet_meta(b->pkt[i])->mtu; // of route and next hop when held
        if (!mtu || b->len[i] <= mtu)
            continue;
        if (!nexthop_word_mtu(b->word[i]) || mtu < nexthop_word_mtu(b->word[i]))
            b->word[i] = nexthop_word_narrowed(b->word[i], mtu);
        out |= 1ull << i;
    }
    label_leave(f, b, out);
}
