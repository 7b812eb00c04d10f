// SPDX-License-Identifier: BSD-3-Clause
// acl_decide.c - finds the rule that each packet of a group matches, and applies it
//
// The verdict cache or the list finds a slot for each packet, the packet is counted for its rule,
// and one byte per rule tells whether that is all; acl_act.c does the rest, packet by packet.
//
// The classifier determines how much of a packet is read. A list without rules needs nothing. A
// list of rules by address sets, and any list whenever the cache is bypassed (scans, attacks, very
// many flows), need addresses, and read the rest only of packets whose addresses come close to a
// rule. The cache needs whole keys, and so do bursts in which some packet has more than a plain
// header (acl_sources).
//
// The few addresses that the filter of a large set leaves undecided cost dependent memory reads.
// Meanwhile the burst's destinations are looked up, which ip4_fwd would do later.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "forwarder/acl.h"
#include "forwarder/drop.h"
#include "forwarder/lookup.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))

// --- the rule's slot ---

bool acl_match_by_address(struct forwarder *f, struct burst *b, struct acl_group *g)
{
    const struct acl_asked q = acl_asked_of(g->c, g->list);
    enum acl_family family = acl_family_of(b);
    _Alignas(64) uint8_t src[BURST_MAX][16];

    if (b->kind != BURST_TRANSIT)
        return false;
    if (acl_cache_for(f, g->c) && !acl_is_by_sets(q.rules, family) &&
        !acl_cache_is_bypassed(f->acl_cache, q.list, q.epoch, b->n))
        return false;
    if (unlikely(!acl_sources(b, src)))
        return false;
    // redirect4 changes the result.
    bool ahead = family == ACL_IP4 && !g->out && !(b->features & IFACE_REDIRECT);
    const struct acl_late late = {src, family == ACL_IP4 ? (const void *)b->dst4 : b->dst6, b->ip,
                                  ahead};
    struct acl_search search;
    if (acl_late_begin(&search, q.rules, family, &late, g->slot, b->n)) { // most packets will pass
        fwd_lookup(f, b, IP4);
        b->decided.looked_up = true;
    }
    acl_late_end(&search);
    g->matched = true;
    return true;
}

// Finds the slots of the group's packets, by their keys.
static void find_slots(struct forwarder *f, const struct burst *b, struct acl_group *g)
{
    union acl_keys some;
    const union acl_keys *key = g->key;
    const struct acl_asked q = acl_asked_of(g->c, g->list);

    if (g->n < b->n) {
        for (unsigned k = 0; k < g->n; k++)
            if (b->family == IP4)
                some.four[k] = g->key->four[g->at[k]];
            else
                some.six[k] = g->key->six[g->at[k]];
        key = &some;
    }
    acl_cache_classify(acl_cache_for(f, g->c), &q, acl_family_of(b), key, g->slot, g->n);
}

// --- packets that need more than a permit ---

// The interface whose list decides.
static uint16_t bound_iface(const struct burst *b, unsigned i, bool out)
{
    return out ? nexthop_word_iface(b->word[i]) : b->iface[i];
}

struct one_key {
    union {
        struct acl_key4 four;
        struct acl_key6 six;
    };
};

// NULL: the list has no rules. `room`: for a key that has not been made yet.
static const void *key_of_packet(const struct burst *b, const struct acl_group *g, unsigned i,
                          struct one_key *room)
{
    if (!g->c->rules)
        return NULL;
    if (g->key)
        return b->family == IP4 ? (const void *)&g->key->four[i] : &g->key->six[i];
    b->family == IP4 ? acl_key4(b, i, &room->four) : acl_key6(b, i, &room->six);
    return room;
}

// Acts on the packets of `odd`, indexes in the group. Returns the mask, in the burst, of packets
// that end.
static __rte_noinline uint64_t act_on_packets(struct forwarder *f, struct burst *b,
                                              const struct acl_group *g, uint64_t odd)
{
    uint64_t gone = 0;

    for (; odd; odd &= odd - 1) {
        unsigned k = (unsigned)__builtin_ctzll(odd), i = g->at[k];
        struct one_key room;
        struct acl_verdict v = {.c = g->c,
                                .place = acl_place(g->c, g->slot[k]),
                                .list = g->list,
                                .iface = bound_iface(b, i, g->out),
                                .out = g->out,
                                .key = key_of_packet(b, g, i, &room)};
        enum drop_reason why = acl_act(f, b, i, &v);
        if (why == DROP_NONE)
            continue;
        packet_drop_of(f, b, i, why);
        gone |= 1ull << i;
    }
    return gone;
}

static void record_verdict(struct forwarder *f, const struct burst *b, const struct acl_group *g)
{
    unsigned i = g->at[0];
    struct one_key room;

    acl_record(f, b,
             &(struct acl_verdict){.c = g->c,
                                   .place = acl_place(g->c, g->c->rules ? g->slot[0] : ACL_MISS),
                                   .list = g->list,
                                   .iface = bound_iface(b, i, g->out),
                                   .out = g->out,
                                   .key = key_of_packet(b, g, i, &room)});
}

// --- counting ---

static uint64_t first_packets(unsigned n)
{
    return UINT64_MAX >> (BURST_MAX - n);
}

static void add_hits(struct acl_hits *h, uint64_t packets, uint64_t bytes)
{
    h->packets += packets;
    h->bytes += bytes;
}

// Counts all packets of `left` with the same slot as the first one at once: a counter written per
// packet makes each packet wait for the previous one. `all`: the group is the whole burst. *left:
// the other packets.
INLINE uint64_t count_alike(struct forwarder *f, const struct burst *b, const struct acl_group *g,
                            uint64_t *left, bool all)
{
    const uint32_t common = g->slot[__builtin_ctzll(*left)], place = acl_place(g->c, common);
    uint64_t same = 0, bytes = 0;
    unsigned k = 0;

#ifdef __SSE2__
    const __m128i want = _mm_set1_epi32((int)common), zero = _mm_setzero_si128();
    __m128i sum = zero;
    for (; all && k + 8 <= g->n; k += 8) {
        __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(g->slot + k)), want);
        __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(g->slot + k + 4)), want);
        __m128i eight = _mm_packs_epi32(low, high),
                len = _mm_and_si128(_mm_loadu_si128((const __m128i *)(b->len + k)), eight);
        same |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_packs_epi16(eight, zero)) << k;
        sum = _mm_add_epi32(
            sum, _mm_add_epi32(_mm_unpacklo_epi16(len, zero), _mm_unpackhi_epi16(len, zero)));
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    bytes = (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
#endif
    for (; k < g->n; k++) {
        bool is = g->slot[k] == common;
        same |= (uint64_t)is << k;
        bytes += is ? b->len[all ? k : g->at[k]] : 0;
    }
    *left &= ~same;
    if (likely(!f->dry))
        add_hits(&g->c->hits[f->index][place], (unsigned)__builtin_popcountll(same), bytes);
    return g->c->verb[place] != ACL_PERMIT ? same : 0;
}

// Counts each packet for its rule, except in a dry run. Returns the mask, in the group, of packets
// that need more than a permit. Most packets of a burst match one rule, or one of two.
INLINE uint64_t count_verdicts(struct forwarder *f, const struct burst *b,
                               const struct acl_group *g, bool all)
{
    uint64_t others = first_packets(g->n), odd = count_alike(f, b, g, &others, all);

    if (others & (others - 1))
        odd |= count_alike(f, b, g, &others, all);
    for (; others; others &= others - 1) {
        unsigned k = (unsigned)__builtin_ctzll(others);
        uint32_t at = acl_place(g->c, g->slot[k]);
        if (likely(!f->dry))
            add_hits(&g->c->hits[f->index][at], 1, b->len[all ? k : g->at[k]]);
        odd |= (uint64_t)(g->c->verb[at] != ACL_PERMIT) << k;
    }
    return odd;
}

// Without rules, all packets match the default.
static uint64_t count_default(struct forwarder *f, const struct burst *b, struct acl_group *g)
{
    uint32_t at = g->c->slots, bytes = 0;

    if (likely(g->n == b->n))
        for (unsigned k = 0; k < b->n; k++)
            bytes += b->len[k];
    else
        for (unsigned k = 0; k < g->n; k++)
            bytes += b->len[g->at[k]];
    if (likely(!f->dry))
        add_hits(&g->c->hits[f->index][at], g->n, bytes);
    if (likely(g->c->verb[at] == ACL_PERMIT))
        return 0;
    memset(g->slot, 0xff, g->n * sizeof *g->slot);
    return first_packets(g->n);
}

uint64_t acl_decide(struct forwarder *f, struct burst *b, struct acl_group *g)
{
    uint64_t odd;

    if (g->c->rules) {
        if (!g->matched)
            find_slots(f, b, g);
        odd = g->n == b->n ? count_verdicts(f, b, g, true) : count_verdicts(f, b, g, false);
    } else {
        odd = count_default(f, b, g);
    }
    if (unlikely(f->record.on))
        record_verdict(f, b, g);
    return likely(!odd) ? 0 : act_on_packets(f, b, g, odd);
}
