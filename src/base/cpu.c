// SPDX-License-Identifier: BSD-3-Clause
// cpu.c - finds the vector instructions of this CPU, within the limit of KAMUEE_SIMD (cpu.h)
//
// A set contains the sets below it: AVX-512 counts only with all of F, BW, DQ, VL and CD, and with
// AVX2. The limit is read once; two threads that read it at the same time get the same value.
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char *const word_of[] = {[CPU_SCALAR] = "none",
                                      [CPU_AVX2] = "avx2",
                                      [CPU_AVX512] = "avx512",
                                      [CPU_AVX512_VPOPCNT] = "all"};

int cpu_simd_of(const char *word)
{
    for (int set = CPU_SCALAR; set <= CPU_AVX512_VPOPCNT; set++)
        if (!strcmp(word, word_of[set]))
            return set;
    return -1;
}

static int read_simd_limit(void)
{
    const char *word = getenv("KAMUEE_SIMD");
    int set = word ? cpu_simd_of(word) : CPU_AVX512_VPOPCNT;

    if (set >= 0)
        return set;
    log_warning("cpu: KAMUEE_SIMD=%s: not none, avx2, avx512 or all; all is used", word);
    return CPU_AVX512_VPOPCNT;
}

static int simd_limit(void)
{
    static _Atomic int known = -1; // two threads at once compute the same value
    int set = atomic_load_explicit(&known, memory_order_relaxed);

    if (set < 0)
        atomic_store_explicit(&known, set = read_simd_limit(), memory_order_relaxed);
    return set;
}

unsigned cpu_simd_bits(void)
{
    static const unsigned bits[] = {
        [CPU_SCALAR] = 128, [CPU_AVX2] = 256, [CPU_AVX512] = 512, [CPU_AVX512_VPOPCNT] = 512};

    return bits[simd_limit()];
}

#if defined(__x86_64__)
#include <cpuid.h>

static bool cpu_has(enum cpu_simd set)
{
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");

    switch (set) {
    case CPU_SCALAR:
        return true;
    case CPU_AVX2:
        return avx2;
    case CPU_AVX512:
        return avx512;
    case CPU_AVX512_VPOPCNT:
        return avx512 && __builtin_cpu_supports("avx512vpopcntdq");
    }
    return false;
}

bool cpu_runs_vaes(void) // clang 14's __builtin_cpu_supports does not know it
{
    unsigned a, b, c = 0, d;

    return simd_limit() > CPU_AVX512 && cpu_has(CPU_AVX512) &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & bit_VAES;
}
#else
static bool cpu_has(enum cpu_simd set)
{
    return set == CPU_SCALAR;
}

bool cpu_runs_vaes(void)
{
    return false;
}
#endif

bool cpu_runs(enum cpu_simd set)
{
    return set <= (enum cpu_simd)simd_limit() && cpu_has(set);
}

// --- gathers ---
//
// Measured, because a list of CPU models would miss new ones and those slowed by microcode. Loads
// and gathers differ by a factor of about two; the minimum of many trials is immune to interrupts.
// The trials run for about a millisecond, because some CPUs run at a quarter of their speed during
// the first 0.1 to 0.2 ms of 512-bit code, when the two look alike (Ice Lake: loads 3.63 cycles a
// word, gathers 3.65, then 0.88 and 3.08).

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <immintrin.h>
#include <stdint.h>

#define WORDS 64u // each in its own cache line: 4 KiB
#define TIMES 32u // reads of each word in a trial: makes the cost of reading the clock negligible
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
