// SPDX-License-Identifier: BSD-3-Clause
// label_push.c - puts labels in front of packets whose next hop says so, and sends them
//
//   in     packets of fwd.c whose next hop is ENCAP, with a neighbor behind it
//   out    ether_out, with their labels; the burst they came in goes on without them
//   exits  hold, with their labels; all of exit.c, as IP packets; MPLS_ROOM
//
// All such packets of a burst are handled together. Their neighbor's next hop decides (kind, TTL
// and MTU, less the labels), as it does for packets without labels; output lists, policers and
// programs see the packet before it gets labels. TTL: uniform, the packet's; pipe, the next hop's
// or the virtual router's. The class is the precedence, the upper three bits of the DSCP (RFC
// 3270); Linux sends class 0.
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

static bool has_room(const struct rte_mbuf *m, const uint8_t *ip, unsigned n)
{
    return ip - (const uint8_t *)m->buf_addr >= (ptrdiff_t)(n * LABEL_HDR + HEADROOM);
}

static const struct nexthop_encap *encap_of(const struct burst *p, unsigned i)
{
    return &nexthop_get(p->nh[i])->encap;
}

// For an exit, or a packet that is held: the neighbor's word with the largest MTU that the packet
// may have without its labels. `route`: MTU of its route, 0 = none. A neighbor per packet is no
// neighbor of labels.
static uint64_t word_beside(uint64_t word, unsigned n, uint16_t route)
{
    uint16_t mtu = nexthop_word_mtu(word), labels = (uint16_t)(n * LABEL_HDR);

    if (mtu)
        mtu = mtu > labels ? (uint16_t)(mtu - labels) : 1;
    if (route && (!mtu || route < mtu))
        mtu = route;
    if (nexthop_word_kind(word) == NEXTHOP_GLEAN)
        word = (word & ~0xffull) | NEXTHOP_UNREACHABLE;
    return nexthop_word_narrowed(word, mtu);
}

// Reads the neighbors' next hops, like lanes->apply_nexthops(). Returns the mask of packets that
// they neither take nor hold, or that have no room for labels.
static inline __attribute__((always_inline)) uint64_t apply_neighbors_of(struct burst *p,
                                                                         bool lower, uint8_t family)
{
    const struct nexthop *const table = nexthop_table; // stores might change the global
    const unsigned n = p->n;
    uint64_t out = 0, ports = 0;
    unsigned heads = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct nexthop_encap *e = &table[p->nh[i]].encap;
        const struct nexthop *nh = &table[e->n ? encap_via(e) : 0];
        uint64_t word = nexthop_word(nh);
        const uint32_t hop = p->hop[i], ttl = family == IP4 ? hop & 0xff : hop >> 24;
        const uint16_t route = nexthop_word_mtu(p->word[i]), len = p->len[i],
                       whole = (uint16_t)(len + e->n * LABEL_HDR);
        // An MTU of 0 means none, as in lanes.c.
        const unsigned fits = ((uint16_t)(whole - 1) <= (uint16_t)(nexthop_word_mtu(word) - 1)) &
                              ((uint16_t)(len - 1) <= (uint16_t)(route - 1)),
                       room = has_room(p->pkt[i], p->ip[i], e->n), lives = !lower | (ttl > 1);

        p->header[i] = nexthop_rewrite(nh, word) + NEXTHOP_REWRITE;
        if (unlikely(!(fits & room & lives & (nexthop_word_kind(word) == NEXTHOP_ADJACENCY)))) {
            word = word_beside(word, e->n, route);
            out |= (uint64_t) !(room & lives & (nexthop_word_kind(word) == NEXTHOP_HOLD)) << i;
        }
        heads |= nexthop_word_head(word) ^ ETHER_HDR;
        ports |= 1ull << nexthop_word_port(word);
        p->word[i] = word;
        p->out_iface[i] = nexthop_word_iface(word);
        p->out_port[i] = nexthop_word_port(word);
        p->hop_out[i] = lower ? lanes_hop_lowered(hop, family) : hop;
        p->size[i] = (uint16_t)(whole + nexthop_word_head(word));
    }
    p->out_ports = ports;
    p->same = p->in_place = false;
    p->l2 = heads ? 0 : ETHER_HDR; // before the labels
    return out;
}

static uint64_t apply_neighbors(struct burst *p, bool lower)
{
    if (p->family == IP4)
        return lower ? apply_neighbors_of(p, true, IP4) : apply_neighbors_of(p, false, IP4);
    return lower ? apply_neighbors_of(p, true, IP6) : apply_neighbors_of(p, false, IP6);
}

static bool drop_without_room(struct forwarder *f, struct burst *p, unsigned i)
{
    if (has_room(p->pkt[i], p->ip[i], encap_of(p, i)->n))
        return false;
    packet_drop_of(f, p, i, DROP_MPLS_ROOM);
    return true;
}

// Writes the TTL of packet i and its labels, except the top one, which is hop_out[] from now on.
static inline __attribute__((always_inline)) void write_labels(struct burst *p, unsigned i,
                                                               bool four)
{
    const struct nexthop_encap *e = encap_of(p, i);
    uint8_t *ip = p->ip[i];
    const uint32_t hop = p->hop_out[i], n = e->n,
                   class = four ? (uint32_t)(ip[1] & 0xe0) << 4 : (uint32_t)(ip[0] & 0x0e) << 8;
    uint32_t ttl = four ? hop & 0xff : hop >> 24, bottom = ENTRY_BOTTOM;

    if (unlikely(!encap_is_uniform(e, p->vr[i])))
        ttl = e->ttl ? e->ttl : vr_mpls(p->vr[i]).default_ttl;
    store32(ip + (four ? 8 : 4), hop);
    for (unsigned k = n - 1; k; k--) {
        ip -= LABEL_HDR;
        label_store(ip, e->label[k] | class | bottom | ttl);
        bottom = 0;
    }
    p->ip[i] = ip - LABEL_HDR;
    p->len[i] = (uint16_t)(p->len[i] + n * LABEL_HDR);
    p->hop_out[i] = rte_cpu_to_be_32(e->label[0] | class | bottom | ttl);
    p->nh[i] = encap_via(e);
}

// Makes p a burst of packets with labels, for their neighbors. Returns the mask of those to hold.
static uint64_t write_all(struct burst *p)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < p->n; i++) {
        const uint16_t len = p->len[i], mtu = nexthop_word_mtu(p->word[i]);
        p->family == IP4 ? write_labels(p, i, true) : write_labels(p, i, false);
        if (likely(nexthop_word_kind(p->word[i]) == NEXTHOP_ADJACENCY))
            continue;
        held |= 1ull << i;
        if (mtu)
            p->word[i] = nexthop_word_narrowed(p->word[i], (uint16_t)(mtu + p->len[i] - len));
    }
    p->family = LABELS;
    return held;
}

// Sends p, which is empty afterwards.
static void send(struct forwarder *f, struct burst *p)
{
    const uint8_t family = p->family;
    const uint32_t first = p->nh[0];
    const uint64_t held = write_all(p);

    for (uint64_t left = held; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        packet_hold(f, p, i);
        packet_meta(p->pkt[i])->pushed = true;
    }
    if (held)
        burst_remove(p, held);
    ether_out_pushed(f, p);
    p->family = family;
    p->nh[0] = first; // for a record (record.c)
}

static uint64_t all_of(const struct burst *b)
{
    return UINT64_MAX >> (64 - b->n);
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

// The whole of a burst is pushed in place: it is empty afterwards.
uint64_t label_push(struct forwarder *f, struct burst *b, uint64_t out)
{
    const uint64_t mine = find_encap(f, b, out);

    if (likely(!mine))
        return out;
    struct burst *p = mine == all_of(b) ? b : take_packets(f, b, mine);
    const uint64_t gone = apply_neighbors(p, !burst_ttl_is_final(p));
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
        send(f, p);
    return out & ~mine;
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
    send(f, p);
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
