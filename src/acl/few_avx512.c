// SPDX-License-Identifier: BSD-3-Clause
// few_avx512.c - each packet against 16 rules at once (few.h)
#include "acl/classify.h"
#include "acl/few.h"
#include "acl/lane_avx512.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t address_word(const struct burst *b, uint8_t family, unsigned w, unsigned i)
{
    uint32_t v;

    if (family == ACL_IP4)
        return b->addr4[w][i];
    memcpy(&v, b->addr6[w / 4][i] + w % 4 * 4, sizeof v);
    return v;
}

// Bit = rule of this block that packet i matches.
INLINE __mmask16 match(const __m512i *row, const struct burst *b, unsigned i, uint8_t family)
{
    __m512i differ = lane_differ_l4(&b->l4[i], row[LANE_L4], row[LANE_L4_MASK], row[LANE_PORT], row[LANE_SPAN]);

    for (unsigned w = 0; w < 2 * LANE_WORDS(family); w++)
        differ = _mm512_or_si512(differ, lane_differ(address_word(b, family, w, i), row[LANE_ADDR + 2 * w], row[LANE_ADDR_MASK + 2 * w]));
    return _mm512_testn_epi32_mask(differ, differ);
}

INLINE void block(const struct few *f, unsigned k, const struct burst *b, uint16_t hit[BURST][FEW_BLOCKS], uint8_t family)
{
    __m512i row[LANE_ROWS(2 * LANE_WORDS(ACL_IP6))];

    for (unsigned r = 0; r < LANE_ROWS(2 * LANE_WORDS(family)); r++)
        row[r] = _mm512_load_si512(f->row[k][r]);
    for (unsigned i = 0; i < b->n; i++)
        hit[i][k] = match(row, b, i, family);
}

INLINE void find(const struct few *f, unsigned blocks, struct burst *b, uint8_t family)
{
    uint16_t hit[BURST][FEW_BLOCKS] = {0};

    for (unsigned k = 0; k < blocks; k++)
        block(f, k, b, hit, family);
    for (unsigned i = 0; i < b->n; i++) {
        uint64_t m;
        memcpy(&m, hit[i], sizeof m);
        unsigned at = m ? (unsigned)__builtin_ctzll(m) : FEW_ENTRIES;
        bool before = f->number[at] < b->best[i];
        b->slot[i] = before ? f->slot[at] : b->slot[i];
        b->best[i] = before ? f->number[at] : b->best[i];
    }
}

void few_avx512(const struct core *c, struct burst *b, unsigned blocks)
{
    l4_read(b, b->left); // what is not left was decided by a lower number than any here
    if (c->family == ACL_IP4)
        find(c->few, blocks, b, ACL_IP4);
    else
        find(c->few, blocks, b, ACL_IP6);
}
