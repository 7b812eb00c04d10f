// SPDX-License-Identifier: BSD-3-Clause
// gather.c - see gather.h
//
// Measured, because a list of CPU models would miss new ones and those slowed by microcode. The two
// differ by a factor of about two; the minimum of many trials is immune to interrupts. The trials
// run for about a millisecond, because some CPUs run at a quarter of their speed during the first
// 0.1 to 0.2 ms of 512-bit code, when the two look alike (Ice Lake: loads 3.63 cycles a word,
// gathers 3.65, then 0.88 and 3.08).
#include "base/gather.h"

#include "base/cpu.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <immintrin.h>
#include <stdint.h>

#define WORDS 64u // each in its own cache line: 4 KiB
#define TIMES 32u  // reads of each word in a trial: makes the cost of reading the clock negligible
#define TRIALS 1000u // 1 to 3 ms
#define AVX512 __attribute__((target("avx512f")))

static uint64_t word[WORDS * 8];
static const double *at[WORDS];

static AVX512 __attribute__((noinline)) uint64_t by_gathers(void)
{
    __m512i sum = _mm512_setzero_si512();
    uint64_t begun = __builtin_ia32_rdtsc();

    for (unsigned i = 0; i < WORDS * TIMES; i += 8)
        sum = _mm512_add_epi64(sum,
                               _mm512_i64gather_epi64(_mm512_loadu_si512(at + i % WORDS), NULL, 1));
    __asm__ volatile("" ::"v"(sum));
    return __builtin_ia32_rdtsc() - begun;
}

static AVX512 inline __attribute__((always_inline)) __m256d load_four_rows(const double *const *p)
{
    __m128d low = _mm_loadh_pd(_mm_load_sd(p[0]), p[1]),
            high = _mm_loadh_pd(_mm_load_sd(p[2]), p[3]);

    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

static AVX512 __attribute__((noinline)) uint64_t by_loads(void)
{
    __m512i sum = _mm512_setzero_si512();
    uint64_t begun = __builtin_ia32_rdtsc();

    for (unsigned i = 0; i < WORDS * TIMES; i += 8) {
        __m512d v = _mm512_insertf64x4(_mm512_castpd256_pd512(load_four_rows(at + i % WORDS)),
                                       load_four_rows(at + i % WORDS + 4), 1);
        sum = _mm512_add_epi64(sum, _mm512_castpd_si512(v));
    }
    __asm__ volatile("" ::"v"(sum));
    return __builtin_ia32_rdtsc() - begun;
}

static bool measure_gathers(void)
{
    uint64_t gathers = UINT64_MAX, loads = UINT64_MAX, t;

    for (unsigned i = 0; i < WORDS; i++)
        at[i] = (const double *)&word[i * 37 % WORDS * 8];
    for (unsigned k = 0; k < TRIALS; k++) {
        gathers = (t = by_gathers()) < gathers ? t : gathers;
        loads = (t = by_loads()) < loads ? t : loads;
    }
    return loads < gathers;
}

bool gather_is_slow(void)
{
    static int known = -1;

    if (known < 0)
        known = cpu_runs(CPU_AVX512) && measure_gathers();
    return known;
}
#else
bool gather_is_slow(void)
{
    return false;
}
#endif
