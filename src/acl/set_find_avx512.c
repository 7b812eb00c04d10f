// SPDX-License-Identifier: BSD-3-Clause
// set_find_avx512.c - the filter of IPv4 sets, 16 addresses at a time
#include "acl/set_priv.h"

#include <immintrin.h>

uint64_t set4_filter_avx512(const uint32_t *word, unsigned shift, const uint32_t *addr_be, unsigned n)
{
    const __m512i swap = _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    const __m512i one = _mm512_set1_epi32(1), low = _mm512_set1_epi32(31);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    uint64_t pass = 0;

    for (unsigned i = 0; i < n; i += 16) {
        __mmask16 m = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
        __m512i bit = _mm512_srl_epi32(_mm512_shuffle_epi8(_mm512_maskz_loadu_epi32(m, addr_be + i), swap), by);
        __m512i w = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, _mm512_srli_epi32(bit, 5), word, 4);
        pass |= (uint64_t)_mm512_test_epi32_mask(w, _mm512_sllv_epi32(one, _mm512_and_si512(bit, low))) << i;
    }
    return pass;
}
