// SPDX-License-Identifier: BSD-3-Clause
// kernel_neon.c - bulk lookups of IPv4 with NEON, which every 64-bit ARM has
//
// The passes of kernel_scalar.c, the second one with four addresses per vector. NEON has no
// gathers: run vectors and leaves are loaded into their lanes one by one. The gain is in the
// arithmetic between the loads: 22 instructions per address instead of 62. The scalar kernel
// handles bursts of several tables and IPv6.
#include "poptrie/walk.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))
#define BURST 64u
#define LANES 4u

typedef uint32_t unaligned __attribute__((aligned(1)));

// Counts the bits up to child c in the run vectors of the blocks at p.
INLINE uint32x4_t run_counts(const uint8_t *const p[LANES], uint32x4_t c)
{
    const uint32x4_t up = veorq_u32(c, vdupq_n_u32(63));
    uint64x2_t lo =
        vcombine_u64(vld1_u64((const uint64_t *)p[0]), vld1_u64((const uint64_t *)p[1]));
    uint64x2_t hi =
        vcombine_u64(vld1_u64((const uint64_t *)p[2]), vld1_u64((const uint64_t *)p[3]));

    lo = vshlq_u64(lo, vreinterpretq_s64_u64(vmovl_u32(vget_low_u32(up))));
    hi = vshlq_u64(hi, vreinterpretq_s64_u64(vmovl_u32(vget_high_u32(up))));
    return vpaddq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(lo)))),
                      vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(hi)))));
}

// Loads 32 bits from byte `byte` of the leaves of the blocks at p.
INLINE uint32x4_t leaf_loads(const uint8_t *const p[LANES], uint32x4_t byte)
{
    uint32x4_t v = vdupq_n_u32(0);

    v = vld1q_lane_u32((const unaligned *)(p[0] + 8 + vgetq_lane_u32(byte, 0)), v, 0);
    v = vld1q_lane_u32((const unaligned *)(p[1] + 8 + vgetq_lane_u32(byte, 1)), v, 1);
    v = vld1q_lane_u32((const unaligned *)(p[2] + 8 + vgetq_lane_u32(byte, 2)), v, 2);
    return vld1q_lane_u32((const unaligned *)(p[3] + 8 + vgetq_lane_u32(byte, 3)), v, 3);
}

// Looks up four addresses (host order) with directory words w. Returns the lanes that need more
// than one block.
INLINE uint32x4_t four_answers(const struct poptrie *t, uint32x4_t w, uint32x4_t dst,
                               uint32_t value[LANES])
{
    const uint32x4_t one = vdupq_n_u32(1);
    uint32x4_t code = vandq_u32(vshrq_n_u32(w, WORD_CODE_SHIFT), vdupq_n_u32(31));
    uint32x4_t is_ref = vcltzq_s32(vreinterpretq_s32_u32(w));
    uint32x4_t special =
        vtstq_u32(vshlq_u32(one, vreinterpretq_s32_u32(code)), vdupq_n_u32(CODES_SPECIAL));
    uint32x4_t used = vbicq_u32(is_ref, special); // lanes that use the block's leaf, the others the
                                                  // word
    // Other lanes read block 0.
    uint32x4_t ref = vandq_u32(vandq_u32(w, used), vdupq_n_u32(WORD_OFFSET));
    const uint8_t *const p[LANES] = {t->arena + (size_t)vgetq_lane_u32(ref, 0) * POOL_UNIT,
                                     t->arena + (size_t)vgetq_lane_u32(ref, 1) * POOL_UNIT,
                                     t->arena + (size_t)vgetq_lane_u32(ref, 2) * POOL_UNIT,
                                     t->arena + (size_t)vgetq_lane_u32(ref, 3) * POOL_UNIT};
    uint32x4_t width = vaddq_u32(vandq_u32(code, vdupq_n_u32(15)), one);
    uint32x4_t run = vsubq_u32(run_counts(p, vshrq_n_u32(vshlq_n_u32(dst, DIR4_BITS), 26)), one);
    uint32x4_t bit = vandq_u32(vmulq_u32(run, width), used);
    uint32x4_t mask = vsubq_u32(vshlq_u32(one, vreinterpretq_s32_u32(width)), one);
    int32x4_t down = vnegq_s32(vreinterpretq_s32_u32(vandq_u32(bit, vdupq_n_u32(7))));
    uint32x4_t leaf = vandq_u32(vshlq_u32(leaf_loads(p, vshrq_n_u32(bit, 3)), down), mask);
    uint32x4_t place =
        vandq_u32(vcgtq_u32(code, vdupq_n_u32(CODE_MIXED)), vbicq_u32(leaf, vshrq_n_u32(mask, 1)));
    uint32x4_t v = vbslq_u32(used, leaf, w);

    vst1q_u32(value, v);
    if (vmaxvq_u32(vceqzq_u32(v))) // rare in a full table
        for (unsigned i = 0; i < LANES; i++)
            value[i] = leaf_answer(t, value[i], dst[i] >> (32 - FLOOR_BITS));
    return vorrq_u32(vandq_u32(is_ref, special), vandq_u32(place, used));
}

static void neon_burst4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                        unsigned n)
{
    uint32_t word[BURST], dst[BURST], answer[BURST];
    uint32x4_t deep = vdupq_n_u32(0);
    unsigned whole = (n + LANES - 1) / LANES * LANES;

    for (unsigned i = 0; i < n; i++) {
        dst[i] = __builtin_bswap32(dst_be[i]);
        word[i] = word_load(&t->dir[dst[i] >> (32 - DIR4_BITS)]);
    }
    for (unsigned i = n; i < whole; i++)
        dst[i] = word[i] = 0;
    for (unsigned i = 0; i < whole; i += LANES)
        deep =
            vorrq_u32(deep, four_answers(t, vld1q_u32(word + i), vld1q_u32(dst + i), answer + i));
    if (vmaxvq_u32(deep))
        for (unsigned i = 0; i < n; i++)
            if (word_is_ref(word[i]) && word_code(word[i]) >= CODE_MIXED)
                answer[i] = walk_answer4(t, word[i], dst[i]);
    memcpy(value, answer, n * sizeof *value);
}

static void neon_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    for (unsigned i = 0; i < n; i += BURST)
        neon_burst4(t, dst_be + i, value + i, n - i < BURST ? n - i : BURST);
}

const struct kernel poptrie_kernel_neon = {
    "neon", neon_find4, poptrie_find6_scalar, poptrie_find4_each_scalar, poptrie_find6_each_scalar,
    NULL};
