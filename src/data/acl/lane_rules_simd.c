// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_simd.c - compares rules in lanes, a block in one vector or two; compiled for AVX2 and
// AVX-512 (lane_rules.h)
//
// A whole bucket: each vector of rules is compared with all packets, so it is loaded once a burst.
// By prefix: each packet is compared with its own blocks (lane_rules_find.h).
#include "acl/lane_simd.h"
#include "acl/lane_rules_find.h"

// --- a whole bucket ---

#define STEPS (LANE_COUNT / LANE_STEP) // per block

struct hits { // of a packet
    lane_hits of[WHOLE_BLOCKS * STEPS];
};
_Static_assert(sizeof(struct hits) == sizeof(uint64_t), "a bit for each lane");

LANE_INLINE uint32_t address_word(const struct key_burst *b, uint8_t family, unsigned w, unsigned i)
{
    uint32_t v;

    if (family == ACL_IP4)
        return b->addr4[w][i];
    memcpy(&v, b->addr6[w / 4][i] + w % 4 * 4, sizeof v);
    return v;
}

// Bit = rule that packet i matches.
LANE_INLINE lane_hits rules_hit(const lane_vec *row, const struct key_burst *b, unsigned i,
                                uint8_t family)
{
    lane_vec differ =
        lane_differ_l4(&b->l4[i], row[LANE_L4], row[LANE_L4_MASK], row[LANE_PORT], row[LANE_SPAN]);

    for (unsigned w = 0; w < WHOLE_WORDS(family); w++)
        differ = lane_or(differ, lane_differ(address_word(b, family, w, i), row[LANE_ADDR + 2 * w],
                                             row[LANE_ADDR_MASK + 2 * w]));
    return lane_same(differ);
}

LANE_INLINE void vector_compare(const lane_row *rows, unsigned k, const struct key_burst *b,
                                struct hits *hit, uint8_t family)
{
    lane_vec row[LANE_ROWS(WHOLE_WORDS(ACL_IP6))];

    for (unsigned r = 0; r < LANE_ROWS(WHOLE_WORDS(family)); r++)
        row[r] = lane_load(rows[r] + k % STEPS * LANE_STEP);
    for (unsigned i = 0; i < b->n; i++)
        hit[i].of[k] = rules_hit(row, b, i, family);
}

LANE_INLINE void whole_compare(const struct lane_rules *s, struct key_burst *b, uint8_t family)
{
    // partner: bucket_add_rule
    uint32_t place = __atomic_load_n(s->place[0], __ATOMIC_ACQUIRE);
    const uint8_t *block =
        s->block + (place >> BUCKET_BLOCKS_BITS) * BUCKET_UNIT(WHOLE_WORDS(family));
    struct hits hit[KEY_BURST] = {0};

    for (unsigned k = 0; k < (place & BUCKET_BLOCKS) * STEPS; k++)
        vector_compare((const lane_row *)(block + k / STEPS * BUCKET_UNIT(WHOLE_WORDS(family))), k,
                       b, hit, family);
    for (unsigned i = 0; i < b->n; i++) {
        uint64_t m, name, have = (uint64_t)b->best[i] << 32 | b->slot[i];

        memcpy(&m, &hit[i], sizeof m);
        unsigned lane = (unsigned)__builtin_ctzll(m | !m);
        memcpy(&name,
               block + lane / LANE_COUNT * BUCKET_UNIT(WHOLE_WORDS(family)) +
                   LANE_ROWS(WHOLE_WORDS(family)) * sizeof(lane_row) +
                   lane % LANE_COUNT * sizeof name,
               sizeof name);
        name |= (uint64_t)(m != 0) - 1;
        name = name < have ? name : have;
        b->best[i] = (uint32_t)(name >> 32);
        b->slot[i] = (uint32_t)name;
    }
}

void LANE_KERNEL(lane_rules_all)(const struct classifier *c, struct key_burst *b)
{
    key_burst_read_l4(b, b->left); // a lower number than any here decided the others
    if (c->family == ACL_IP4)
        whole_compare(b->lanes, b, ACL_IP4);
    else
        whole_compare(b->lanes, b, ACL_IP6);
}

// --- by prefix ---

#ifdef __AVX512F__
BUCKET_INLINE void bucket_places_simd(const uint32_t *place, const uint32_t *number, unsigned n,
                                      struct bucket_queue *a)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    a->n = 0;
    for (unsigned i = 0; i < n; i += LANE_COUNT) {
        __mmask16 m = (__mmask16)(n - i < LANE_COUNT ? (1u << (n - i)) - 1 : 0xffff);
        __m512i at = _mm512_maskz_loadu_epi32(m, number + i);
        // partner: bucket_add_rule
        __m512i p =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, place, sizeof *place);

        m = _mm512_mask_test_epi32_mask(m, p, p);
        _mm512_storeu_si512(a->place + a->n, _mm512_maskz_compress_epi32(m, p));
        _mm512_storeu_si512(a->packet + a->n,
                            _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, lane_all(i))));
        a->n += (unsigned)__builtin_popcount(m);
    }
}
#else
#define bucket_places_simd bucket_places_plain
#endif

LANE_INLINE lane_vec row_of(const lane_row *row, unsigned r, unsigned from)
{
    return lane_load(row[r] + from);
}

// Bit = matching rule of the block, from lane `from` on.
LANE_INLINE unsigned lanes_match(const lane_row *row, const struct acl_key_l4 *k, uint32_t addr,
                                 unsigned from)
{
    lane_vec d = lane_differ_l4(k, row_of(row, LANE_L4, from), row_of(row, LANE_L4_MASK, from),
                                row_of(row, LANE_PORT, from), row_of(row, LANE_SPAN, from));

    return lane_same(lane_or(
        d, lane_differ(addr, row_of(row, LANE_ADDR, from), row_of(row, LANE_ADDR_MASK, from))));
}

LANE_INLINE unsigned block_match(const lane_row *row, const struct acl_key_l4 *k, uint32_t addr)
{
    unsigned hit = 0;

    for (unsigned from = 0; from < LANE_COUNT; from += LANE_STEP)
        hit |= lanes_match(row, k, addr, from) << from;
    return hit;
}

void LANE_KERNEL(lane_rules_near)(const struct classifier *c, struct key_burst *b)
{
    buckets_match(b, bucket_places_simd, block_match);
}
