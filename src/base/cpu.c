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
