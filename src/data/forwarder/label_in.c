// SPDX-License-Identifier: BSD-3-Clause
// Stage labels_in: what the top label of each packet says
//
//   in     packets with labels (0x8847) of interfaces that accept them; hop[] is the top entry
//   out    packets with other labels stay, with all that ether_out needs; packets without labels
//          join in4, in6, odd4, odd6 (pop into a lookup) or bare4, bare6 (pop to a next hop)
//   exits  label_error.c; router alert -> punt; MPLS_UNKNOWN_LABEL, MPLS_RESERVED, MPLS_TRUNCATED,
//          MPLS_STACK, MPLS_PAYLOAD, MPLS_ROOM, BLACKHOLE, UNREACHABLE, ECMP_EMPTY, IP4_TRUNCATED,
//          IP4_VERSION, IP6_TRUNCATED, IP6_VERSION
//
// Most labels are swapped, and such a packet passes as a plain one does: one load of the label
// table instead of a lookup, and a new word that ether_out writes where an IP packet has its TTL.
// So the frame is unchanged until then, and an exit sees it as received. Plain packets that lose
// their only label are taken together, too. Other operations take one packet at a time.
//
// Labels that end here are taken off one after the other, up to LABELS_ENDING; the TTL is lowered
// once per hop however many there are. In the uniform model (RFC 3443) the packet gets the lowest
// of their TTLs, if it is below its own: a label that came from a pipe does not raise it. The class
// of a swapped label is kept (RFC 5462 2), and new labels on top of it get the same.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/label.h"
#include "forwarder/lanes_priv.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

#define LABELS_ENDING 8
#define HEADROOM 32 // for the Ethernet header in front of new labels

bool stack_read(const uint8_t *at, uint32_t readable, struct label_stack *s)
{
    for (s->n = 1; s->n <= LABEL_DEPTH && s->n * LABEL_HDR <= readable; s->n++) {
        if (!(label_load(at + (s->n - 1) * LABEL_HDR) & ENTRY_BOTTOM))
            continue;
        const uint32_t left = readable - s->n * LABEL_HDR;
        s->below = at + s->n * LABEL_HDR;
        const uint8_t version = left ? s->below[0] >> 4 : 0;
        s->family = version == 4 && left >= IP4_HDR   ? IP4
                    : version == 6 && left >= IP6_HDR ? IP6
                                                      : 0;
        return true;
    }
    return false;
}

uint32_t label_hash(const uint8_t *at, uint32_t readable, uint32_t len, struct flow_hash how)
{
    uint64_t h = how.seed;
    uint32_t before = LABEL_MAX;

    for (unsigned k = 0; k < LABEL_HASHED && readable >= LABEL_HDR; k++) {
        const uint32_t entry = label_load(at), label = entry >> 12;
        if (before == LABEL_ENTROPY)
            return (uint32_t)(hash_mix64(how.seed ^ label) >> 32);
        if (label >= LABEL_FIRST) // RFC 6790 4.3: reserved ones do not count
            h = hash_mix64(h ^ label);
        before = label;
        at += LABEL_HDR;
        readable -= LABEL_HDR;
        len -= LABEL_HDR;
        if (!(entry & ENTRY_BOTTOM))
            continue;
        if (readable >= IP4_HDR && at[0] >> 4 == 4)
            return flow_hash4(at, readable, len, how);
        if (readable >= IP6_HDR && at[0] >> 4 == 6)
            return flow_hash6(at, readable, len, how);
        break;
    }
    return (uint32_t)(h >> 32);
}

static uint32_t member_of(struct forwarder *f, const struct burst *b, unsigned i,
                          const struct nexthop *group)
{
    const struct flow_hash how = vr_flow_hash(vr_get(b->vr[i]));
    uint32_t member = nexthop_member(
        group, label_hash(b->ip[i], packet_readable(b->pkt[i], b->ip[i]), b->len[i], how));

    f->chosen[member]++;
    return member;
}

// --- packets without labels ---

enum drop_reason label_check_ip(const uint8_t *ip, uint8_t family, uint32_t readable, uint32_t len)
{
    const bool four = family == IP4;

    if (readable < (four ? IP4_HDR : IP6_HDR))
        return four ? DROP_IP4_TRUNCATED : DROP_IP6_TRUNCATED;
    if (!four)
        return ip[0] >> 4 != 6                                 ? DROP_IP6_VERSION
               : load16_host(ip + 4) + (uint32_t)IP6_HDR > len ? DROP_IP6_TRUNCATED
                                                               : DROP_NONE;
    const uint32_t hlen = (ip[0] & 15) * 4u, whole = load16_host(ip + 2);
    if (ip[0] >> 4 != 4 || hlen < IP4_HDR)
        return DROP_IP4_VERSION;
    return whole < hlen || whole > len || hlen > readable ? DROP_IP4_TRUNCATED : DROP_NONE;
}

// Lowers the TTL of an IP header to that of its label, where it is higher.
static void ttl_limit(uint8_t *ip, uint8_t family, uint8_t ttl)
{
    uint8_t *hop = ip + (family == IP4 ? 8 : 4);

    if (ttl < ttl_of(ip, family))
        store32(hop, lanes_hop_lowered_by(load32(hop), ttl_of(ip, family) - ttl, family));
}

// --- the usual operations, for all packets of a burst ---

// The word of a label whose next hop is a group: of the member for packet i.
static __rte_noinline uint64_t word_of_member(struct forwarder *f, const struct burst *b,
                                              unsigned i, uint64_t word)
{
    const struct nexthop *nh = nexthop_get(label_word_id(word));

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_GROUP
               ? label_word_of(member_of(f, b, i, nh))
               : word;
}

// Packets that lose their only label, as b->word[] says.
struct uncovered {
    uint64_t popped, bare; // into a lookup; to a next hop
};

// Swaps labels of packets that keep their number of them. Returns the mask of the others.
static uint64_t swap_usual(struct forwarder *f, struct burst *b, struct uncovered *u)
{
    const uint32_t keep = rte_cpu_to_be_32(ENTRY_CLASS | ENTRY_BOTTOM | ENTRY_TTL);
    const struct label_table *const table = label_table(b->vr[0]);
    const size_t n = b->n;
    uint64_t others = 0, popped = 0, bare = 0, bit = 1;

    for (size_t i = 0; i < n; i++, bit <<= 1) {
        const uint32_t hop = b->hop[i], entry = rte_be_to_cpu_32(hop);
        uint64_t word = label_find(table, entry >> 12);
        if (unlikely(!(word & (LABEL_SWAP | LABEL_POP | LABEL_BARE))))
            word = word_of_member(f, b, (unsigned)i, word);
        if (word & LABEL_SWAP) {
            label_set_done(b, (unsigned)i, (struct label_done){label_word_id(word), 0});
            b->hop[i] = label_word_new(word) | (hop & keep);
            b->nh[i] = label_word_to(word);
            continue;
        }
        b->word[i] = word;
        if (unlikely(!(word & (LABEL_POP | LABEL_BARE)) ||
                     (entry & (ENTRY_BOTTOM | ENTRY_TTL)) <= ENTRY_BOTTOM + 1))
            others |= bit;
        else if (word & LABEL_POP)
            popped |= bit;
        else
            bare |= bit;
    }
    *u = (struct uncovered){popped, bare};
    return others | popped | bare;
}

// Passes those packets `of` b that are plain behind their label to `to`, without it. Returns their
// mask. `bare`: their next hops are known.
static inline __attribute__((always_inline)) uint64_t pop_usual(struct forwarder *f,
                                                                struct burst *b, uint64_t of,
                                                                struct burst *to, uint8_t family,
                                                                bool bare)
{
    const bool four = family == IP4;
    size_t k = to->n;
    const uint64_t plain = (four ? f->lanes->append_below4 : f->lanes->append_below6)(b, of, to);

    if (!plain)
        return 0;
    const uint64_t first = b->word[__builtin_ctzll(plain)];
    uint64_t several = 0;

    for (uint64_t left = plain; left; left &= left - 1, k++) {
        const size_t i = (size_t)__builtin_ctzll(left);
        const uint64_t word = b->word[i];
        const uint32_t hop = to->hop[k], ttl = b->hop[i] >> 24, // of the label, in network order
            has = four ? (uint8_t)hop : hop >> 24;
        to->vr[k] = bare ? b->vr[i] : label_word_to(word);
        if (bare)
            to->nh[k] = label_word_to(word);
        else
            several |= word ^ first;
        if (ttl < has && is_uniform((uint8_t)label_word_new(word), b->vr[i])) {
            to->hop[k] = lanes_hop_lowered_by(hop, has - ttl, family);
            store32(to->ip[k] + (four ? 8 : 4), to->hop[k]);
        }
    }
    if (bare)
        to->decided.looked_up = true;
    else
        to->mixed |= label_word_to(several) || to->vr[0] != label_word_to(first);
    to->features |= b->features;
    return plain;
}

// Rest of packet i behind its removed labels.
struct rest {
    uint8_t *at;
    uint32_t readable, len; // from there on
    uint8_t ttl;            // the lowest of uniform labels
    uint16_t vr;            // looks it up
};

// The family of the packet below; IP_NONE: neither.
static uint8_t family_of(const struct rest *r, uint8_t flags)
{
    const uint8_t version = r->readable ? r->at[0] >> 4 : 0;

    return flags & NEXTHOP_ENCAP_IP4   ? IP4
           : flags & NEXTHOP_ENCAP_IP6 ? IP6
           : version == 4              ? IP4
           : version == 6              ? IP6
                                       : IP_NONE;
}

// Appends the packet to a burst of IP packets, which looks it up in r->vr.
static void join(struct burst *to, const struct burst *b, unsigned i, const struct rest *r)
{
    const unsigned k = burst_add(to, b->pkt[i], r->at, b->iface[i]);

    to->vr[k] = r->vr;
    to->mixed |= r->vr != to->vr[0];
    to->len[k] = (uint16_t)r->len;
    to->size[k] = (uint16_t)b->pkt[i]->pkt_len;
    if (to->family == IP4)
        to->dst4[k] = load32(r->at + 16);
    else
        memcpy(to->dst6[k], r->at + 24, 16);
}

static bool uncover(struct forwarder *f, struct burst *b, unsigned i, const struct rest *r,
                    uint8_t family)
{
    enum drop_reason why = family == IP_NONE ? DROP_MPLS_PAYLOAD
                           : r->readable < (family == IP4 ? IP4_HDR : IP6_HDR)
                               ? family == IP4 ? DROP_IP4_TRUNCATED : DROP_IP6_TRUNCATED
                               : DROP_NONE;
    if (why) {
        packet_drop_of(f, b, i, why);
        return false;
    }
    ttl_limit(r->at, family, r->ttl);
    b->pkt[i]->ol_flags &= ~RTE_MBUF_F_RX_IP_CKSUM_MASK; // of another header, if any
    return true;
}

// Pop into a lookup.
static void to_lookup(struct forwarder *f, struct burst *b, unsigned i, struct rest *r,
                      uint8_t flags)
{
    const uint8_t family = family_of(r, flags);

    if (!uncover(f, b, i, r, family))
        return;
    join(family == IP4 ? &f->odd4 : &f->odd6, b, i, r);
}

// Pop to a next hop: penultimate hop popping.
static void to_nexthop(struct forwarder *f, struct burst *b, unsigned i, struct rest *r,
                       uint8_t flags, uint32_t via)
{
    const uint8_t family = family_of(r, flags);
    struct burst *to = family == IP4 ? &f->bare4 : &f->bare6;

    if (!uncover(f, b, i, r, family))
        return;
    enum drop_reason why = label_check_ip(r->at, family, r->readable, r->len);
    if (why) {
        packet_drop_of(f, b, i, why);
        return;
    }
    r->len = family == IP4 ? load16_host(r->at + 2) : load16_host(r->at + 4) + IP6_HDR;
    join(to, b, i, r);
    to->nh[to->n - 1] = via;
    to->decided.looked_up = true;
}

// --- packet by packet ---

static void take_off(struct rest *r)
{
    r->at += LABEL_HDR;
    r->readable -= LABEL_HDR;
    r->len -= LABEL_HDR;
}

// Packet i continues in its burst, with `entry` on top.
static void stay(struct burst *b, unsigned i, uint8_t *top, uint32_t len, uint32_t entry,
                 uint32_t via)
{
    if (b->ip[i] != top)
        b->l2 = 0;
    b->ip[i] = top;
    b->len[i] = (uint16_t)len;
    label_store((uint8_t *)&b->hop[i], entry);
    b->nh[i] = via;
}

// Swaps the label and pushes others on top.
static enum drop_reason swap(struct burst *b, unsigned i, const struct rest *r, uint32_t entry,
                             const struct nexthop_encap *e, uint32_t via)
{
    uint8_t *top = r->at + LABEL_HDR - e->n * LABEL_HDR;
    const uint32_t ttl = RTE_MIN(r->ttl, entry & ENTRY_TTL),
                   keep = entry & (ENTRY_CLASS | ENTRY_BOTTOM);

    if (top - (uint8_t *)b->pkt[i]->buf_addr < HEADROOM)
        return DROP_MPLS_ROOM;
    if (e->n == 1) {
        stay(b, i, top, r->len, rte_be_to_cpu_32(e->label_be[0]) | keep | ttl, via);
        return DROP_NONE;
    }
    if (ttl > 1) // an expired packet stays as it came, for the error about it
        for (unsigned k = 1; k < e->n; k++)
            label_store(top + k * LABEL_HDR, rte_be_to_cpu_32(e->label_be[k]) |
                                                 (k == e->n - 1u ? keep : keep & ENTRY_CLASS) |
                                                 (ttl - 1));
    else
        top = r->at;
    stay(b, i, top, r->len + (uint32_t)(r->at - top),
         rte_be_to_cpu_32(e->label_be[0]) | (keep & ENTRY_CLASS) | ttl, via);
    return DROP_NONE;
}

// Pop, and more labels follow. Like Linux, the pipe model lowers the TTL of what it exposes.
static enum drop_reason expose(struct burst *b, unsigned i, struct rest *r, uint32_t via)
{
    take_off(r);
    if (r->readable < LABEL_HDR)
        return DROP_MPLS_TRUNCATED;
    const uint32_t entry = label_load(r->at), ttl = RTE_MIN(r->ttl, entry & ENTRY_TTL);
    stay(b, i, r->at, r->len, (entry & ~(uint32_t)ENTRY_TTL) | ttl, via);
    return DROP_NONE;
}

static enum drop_reason refusal(enum nexthop_kind kind)
{
    return kind == NEXTHOP_NONE        ? DROP_MPLS_UNKNOWN_LABEL
           : kind == NEXTHOP_BLACKHOLE ? DROP_BLACKHOLE
           : kind == NEXTHOP_GROUP     ? DROP_ECMP_EMPTY
                                       : DROP_UNREACHABLE;
}

enum next { GONE, AGAIN, STAYS };

// A reserved label on top.
static enum next reserved(struct forwarder *f, struct burst *b, unsigned i, struct rest *r,
                          uint32_t entry)
{
    const uint32_t label = entry >> 12;

    if (label == LABEL_ROUTER_ALERT) {
        punt(f, b->pkt[i], b->iface[i], PUNT_OTHER);
        return GONE;
    }
    if (label != LABEL_IP4_NULL && label != LABEL_IP6_NULL && label != LABEL_ENTROPY) {
        packet_drop_of(f, b, i, DROP_MPLS_RESERVED);
        return GONE;
    }
    if (label != LABEL_ENTROPY && (entry & ENTRY_TTL) <= 1) {
        label_expire(f, b, i, r->vr);
        return GONE;
    }
    if (label == LABEL_ENTROPY) { // and the entropy label, whose TTL is 0 (RFC 6790 4.2)
        take_off(r);
        if (entry & ENTRY_BOTTOM || r->readable < LABEL_HDR) {
            packet_drop_of(f, b, i, entry & ENTRY_BOTTOM ? DROP_MPLS_STACK : DROP_MPLS_TRUNCATED);
            return GONE;
        }
        entry = label_load(r->at);
    } else if (vr_mpls(r->vr).ttl_propagate) {
        r->ttl = RTE_MIN(r->ttl, entry & ENTRY_TTL);
    }
    take_off(r);
    if (!(entry & ENTRY_BOTTOM)) // also explicit null (RFC 4182)
        return AGAIN;
    to_lookup(f, b, i, r,
              label == LABEL_IP4_NULL   ? NEXTHOP_ENCAP_IP4
              : label == LABEL_IP6_NULL ? NEXTHOP_ENCAP_IP6
                                        : 0);
    return GONE;
}

// A label with a next hop.
static enum next operate(struct forwarder *f, struct burst *b, unsigned i, struct rest *r,
                         uint32_t entry)
{
    const struct nexthop *nh =
        nexthop_get(label_word_id(label_find(label_table(r->vr), entry >> 12)));
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nh));

    if (kind == NEXTHOP_GROUP) {
        uint32_t member = member_of(f, b, i, nh);
        nh = member ? nexthop_get(member) : nh;
        kind = nexthop_word_kind(nexthop_word(nh));
    }
    const struct nexthop_encap *e = &nh->encap;
    const uint32_t via = kind == NEXTHOP_ENCAP ? e->via : 0;
    enum drop_reason why = kind != NEXTHOP_ENCAP ? refusal(kind)
                           : e->n && !via        ? DROP_UNREACHABLE
                                                 : DROP_NONE;
    if (why) {
        packet_drop_of(f, b, i, why);
        return GONE;
    }
    if (!via && (entry & ENTRY_TTL) <= 1) {
        label_expire(f, b, i, e->vr);
        return GONE;
    }
    label_set_done(b, i,
                   (struct label_done){(uint32_t)(nh - nexthop_table),
                                       (uint32_t)(r->at - b->ip[i]) / LABEL_HDR + !e->n});
    if (!e->n && is_uniform(e->flags, r->vr))
        r->ttl = RTE_MIN(r->ttl, entry & ENTRY_TTL);
    if (!via) {
        take_off(r);
        r->vr = e->vr;
        if (!(entry & ENTRY_BOTTOM))
            return AGAIN;
        to_lookup(f, b, i, r, e->flags);
        return GONE;
    }
    if (!e->n && entry & ENTRY_BOTTOM) {
        take_off(r);
        to_nexthop(f, b, i, r, e->flags, via);
        return GONE;
    }
    why = e->n ? swap(b, i, r, entry, e, via) : expose(b, i, r, via);
    if (why)
        packet_drop_of(f, b, i, why);
    return why ? GONE : STAYS;
}

// Returns true if packet i stays in its burst.
static bool label_one(struct forwarder *f, struct burst *b, unsigned i)
{
    struct rest r = {.at = b->ip[i],
                     .readable = packet_readable(b->pkt[i], b->ip[i]),
                     .len = b->len[i],
                     .ttl = UINT8_MAX,
                     .vr = b->vr[i]};

    for (unsigned k = 0; k < LABELS_ENDING; k++) {
        if (r.readable < LABEL_HDR) {
            packet_drop_of(f, b, i, DROP_MPLS_TRUNCATED);
            return false;
        }
        const uint32_t entry = label_load(r.at);
        enum next next =
            entry >> 12 < LABEL_FIRST ? reserved(f, b, i, &r, entry) : operate(f, b, i, &r, entry);
        if (next != AGAIN)
            return next == STAYS;
    }
    packet_drop_of(f, b, i, DROP_MPLS_STACK);
    return false;
}

static __rte_noinline uint64_t label_others(struct forwarder *f, struct burst *b, uint64_t others)
{
    uint64_t gone = 0;

    for (; others; others &= others - 1) {
        unsigned i = (unsigned)__builtin_ctzll(others);
        gone |= (uint64_t)!label_one(f, b, i) << i;
    }
    return gone;
}

void labels_in(struct forwarder *f, struct burst *b)
{
    struct uncovered u = {0, 0};
    uint64_t gone = 0, others = b->mixed ? UINT64_MAX >> (64 - b->n) : swap_usual(f, b, &u);

    if (u.popped && !b->chained) {
        gone = pop_usual(f, b, u.popped, &f->in4, IP4, false);
        if (gone != u.popped)
            gone |= pop_usual(f, b, u.popped & ~gone, &f->in6, IP6, false);
    }
    if (u.bare && !b->chained) {
        gone |= pop_usual(f, b, u.bare, &f->bare4, IP4, true);
        if (u.bare & ~gone)
            gone |= pop_usual(f, b, u.bare & ~gone, &f->bare6, IP6, true);
    }
    others &= ~gone;
    if (others)
        gone |= label_others(f, b, others);
    if (gone)
        burst_remove(b, gone);
    if (b->n)
        label_leave(f, b, f->lanes->apply_nexthops(b, true));
}
