// SPDX-License-Identifier: BSD-3-Clause
// cpu.h - which vector instructions this process uses
//
// What the CPU has, unless the environment forbids it: KAMUEE_SIMD=none, avx2, avx512 or all. Every
// choice of vector code asks here, and DPDK's limit (--force-max-simd-bitwidth) follows it, so a
// machine can run as one with fewer. Any thread; the answers never change.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

enum cpu_simd {
    CPU_SCALAR,         // what every CPU of the architecture has
    CPU_AVX2,           // AVX2 and BMI2: Haswell, Zen
    CPU_AVX512,         // F, BW, DQ, VL and CD as well: Skylake-X
    CPU_AVX512_VPOPCNT, // VPOPCNTDQ as well: Ice Lake, Zen 4
};

// May code that needs this set run? CPU_SCALAR always may.
bool cpu_runs(enum cpu_simd set);
// CPU_AVX512 and VAES.
bool cpu_runs_vaes(void);
// Width of the widest vector that KAMUEE_SIMD allows, in bits, whatever the CPU has: 128, 256 or
// 512.
unsigned cpu_simd_bits(void);
// The set that a word of KAMUEE_SIMD allows at most; -1: no such word.
int cpu_simd_of(const char *word);

#endif
