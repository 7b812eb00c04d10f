// SPDX-License-Identifier: BSD-3-Clause
// cpu.h - the vector instructions that this process may use
//
// All that the CPU has, unless the environment limits it: KAMUEE_SIMD=none, avx2, avx512 or all.
// Every choice of vector code asks here, and DPDK's limit (--force-max-simd-bitwidth) follows it,
// so KAMUEE_SIMD makes a machine behave like an older one. Any thread; the answers never change.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

enum cpu_simd {
    CPU_SCALAR,         // baseline of the architecture
    CPU_AVX2,           // AVX2 and BMI2: Haswell, Zen
    CPU_AVX512,         // also F, BW, DQ, VL and CD: Skylake-X
    CPU_AVX512_VPOPCNT, // also VPOPCNTDQ: Ice Lake, Zen 4
};

// May code run that needs this set? Always true for CPU_SCALAR.
bool cpu_runs(enum cpu_simd set);
// CPU_AVX512 and VAES.
bool cpu_runs_vaes(void);
// Widest vector that KAMUEE_SIMD allows, in bits: 128, 256 or 512. Ignores the CPU.
unsigned cpu_simd_bits(void);
// The highest set that a value of KAMUEE_SIMD allows; -1 if the value is unknown.
int cpu_simd_of(const char *word);
// True if eight loads and shuffles into one register are faster than the same AVX-512 gather.
// Measured once, in the L1 cache, in a few ms; false without AVX-512. Call before threads start, or
// under a lock.
bool gather_is_slow(void);

#endif
