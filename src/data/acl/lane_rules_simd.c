// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_simd.c - compares rules in lanes, a block in one vector or two; compiled for AVX2 and
// AVX-512 (lane_rules.h)
//
// A whole bucket: each vector of rules is compared with all packets, so it is loaded once a burst.
// By prefix: each packet is compared with its own blocks (lane_rules_find.h).
#include "acl/keys_simd.h"
#include "acl/lane_rules_find.h"
#include "base/cpu.h"

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
    for (unsigned i = 0, n = b->n; i < n; i++)
        hit[i].of[k] = rules_hit(row, b, i, family);
}

LANE_INLINE void whole_compare(const struct lane_rules *s, struct key_burst *b, uint8_t family)
{
    uint32_t place = *s->place[0];
    const uint8_t *block = s->block + (place >> BUCKET_BLOCKS_BITS) * WHOLE_UNIT(family);
    const uint64_t *name = s->name + (place >> BUCKET_BLOCKS_BITS) * LANE_COUNT;
    struct hits hit[KEY_BURST] = {0};

    for (unsigned k = 0; k < (place & BUCKET_BLOCKS) * STEPS; k++)
        vector_compare((const lane_row *)(block + k / STEPS * WHOLE_UNIT(family)), k, b, hit,
                       family);
    uint32_t *slot = b->slot;
    const uint64_t left = b->left;
    for (unsigned i = 0, n = b->n; i < n; i++) {
        uint64_t m;

        memcpy(&m, &hit[i], sizeof m);
        uint64_t first = name[m ? (unsigned)__builtin_ctzll(m) : WHOLE_LANES];
        // the fields of other packets were never read: an earlier step decided them
        bool before = (left >> i & 1) & (first >> 32 < b->best[i]);
        slot[i] = before ? (uint32_t)first : slot[i];
        b->best[i] = before ? (uint32_t)(first >> 32) : b->best[i];
    }
}

void LANE_KERNEL(lane_rules_all)(const struct classifier *c, struct key_burst *b)
{
    key_burst_read_l4(b, b->left);
    if (c->family == ACL_IP4)
        whole_compare(b->lanes, b, ACL_IP4);
    else
        whole_compare(b->lanes, b, ACL_IP6);
}

// --- by prefix ---

#ifdef __AVX512F__
// The words at `at` where m; they have 16 bits, so a gather also reads the next one.
LANE_INLINE lane_vec nets_gather(const uint16_t *t, lane_vec at, lane_hits m, lane_vec others)
{
    lane_vec word = _mm512_mask_i32gather_epi32(others, m, at, t, sizeof *t);

    return _mm512_and_si512(word, lane_all(UINT16_MAX));
}

// Numbers of the longest prefixes around the addresses.
LANE_INLINE lane_vec net_numbers_simd(const uint16_t *t, lane_vec addr, lane_hits m)
{
    lane_vec word = nets_gather(t, lane_shr(addr, 16), m, lane_all(0));

    for (unsigned shift = 16; shift && (m = m & lane_any(word, lane_all(NET_DEEP)));) {
        shift -= 8;
        lane_vec chunk = _mm512_sub_epi32(_mm512_slli_epi32(word, 8),
                                          lane_all(NET_DEEP * NET_CHUNK - NET_FIRST));
        lane_vec in_chunk = lane_and(lane_shr(addr, shift), lane_all(NET_CHUNK - 1));

        word = nets_gather(t, _mm512_add_epi32(chunk, in_chunk), m, word);
    }
    return word;
}

LANE_INLINE void bucket_places_simd(const struct key_burst *b, struct bucket_queue a[2])
{
    for (unsigned side = 0; side < 2; side++) {
        struct bucket_queue *q = &a[side];

        q->n = 0;
        for (unsigned i = 0; i < b->n; i += LANE_COUNT) {
            lane_hits m = (lane_hits)(b->left >> i);
            lane_vec addr = lane_swap(lane_load_some(b->addr4[side] + i, m));
            lane_vec number = net_numbers_simd(b->lanes->net[side], addr, m);
            lane_vec place = lane_gather(b->lanes->place[side], number, m);

            m = lane_any(place, place);
            lane_pack(q->place + q->n, place, m);
            lane_pack(q->packet + q->n, lane_numbers(i), m);
            q->n += (unsigned)__builtin_popcount(m);
        }
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
#ifdef __AVX512F__
    if (gather_is_slow()) {
        buckets_match(b, bucket_places_plain, block_match);
        return;
    }
#endif
    buckets_match(b, bucket_places_simd, block_match);
}
