// SPDX-License-Identifier: BSD-3-Clause
// linear_match_simd.c - compares each packet with all rules of a short list, a vector at a time
// (linear_match.h)
#include "acl/key_burst.h"
#include "acl/linear_match.h"
#include "acl/lane_simd.h"

#define STEPS (LANE_COUNT / LANE_STEP) // per block

struct hits {
    lane_hits of[LINEAR_BLOCKS * STEPS];
};
_Static_assert(sizeof(struct hits) == sizeof(uint64_t), "a bit for each entry");

LANE_INLINE uint32_t address_word(const struct key_burst *b, uint8_t family, unsigned w, unsigned i)
{
    uint32_t v;

    if (family == ACL_IP4)
        return b->addr4[w][i];
    memcpy(&v, b->addr6[w / 4][i] + w % 4 * 4, sizeof v);
    return v;
}

// Bit = rule that packet i matches.
LANE_INLINE lane_hits entries_match(const lane_vec *row, const struct key_burst *b, unsigned i,
                                    uint8_t family)
{
    lane_vec differ =
        lane_differ_l4(&b->l4[i], row[LANE_L4], row[LANE_L4_MASK], row[LANE_PORT], row[LANE_SPAN]);

    for (unsigned w = 0; w < 2 * LANE_WORDS(family); w++)
        differ = lane_or(differ, lane_differ(address_word(b, family, w, i), row[LANE_ADDR + 2 * w],
                                             row[LANE_ADDR_MASK + 2 * w]));
    return lane_same(differ);
}

LANE_INLINE void block_match(const struct linear_rules *f, unsigned k, const struct key_burst *b,
                             struct hits *hit, uint8_t family)
{
    lane_vec row[LANE_ROWS(2 * LANE_WORDS(ACL_IP6))];

    for (unsigned r = 0; r < LANE_ROWS(2 * LANE_WORDS(family)); r++)
        row[r] = lane_load(f->row[k / STEPS][r] + k % STEPS * LANE_STEP);
    for (unsigned i = 0; i < b->n; i++)
        hit[i].of[k] = entries_match(row, b, i, family);
}

LANE_INLINE void burst_match(const struct linear_rules *f, unsigned blocks, struct key_burst *b,
                             uint8_t family)
{
    struct hits hit[KEY_BURST] = {0};

    for (unsigned k = 0; k < blocks * STEPS; k++)
        block_match(f, k, b, hit, family);
    for (unsigned i = 0; i < b->n; i++) {
        uint64_t m;
        memcpy(&m, &hit[i], sizeof m);
        unsigned at = m ? (unsigned)__builtin_ctzll(m) : LINEAR_ENTRIES;
        bool before = f->number[at] < b->best[i];
        b->slot[i] = before ? f->slot[at] : b->slot[i];
        b->best[i] = before ? f->number[at] : b->best[i];
    }
}

void LANE_KERNEL(linear_match)(const struct classifier *c, struct key_burst *b, unsigned blocks)
{
    key_burst_read_l4(b, b->left); // a lower number than any here decided the others
    if (c->family == ACL_IP4)
        burst_match(c->linear, blocks, b, ACL_IP4);
    else
        burst_match(c->linear, blocks, b, ACL_IP6);
}
