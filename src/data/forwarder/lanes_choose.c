// SPDX-License-Identifier: BSD-3-Clause
// lanes_choose.c - selects the set of lanes.h functions for this machine
//
// It takes the widest set that the CPU and the limit in bits allow (0 = no limit). A CPU with slow
// gathers gets the AVX-512 set that uses loads instead.
#include "forwarder/lanes_priv.h"

#include <string.h>

#include "base/cpu.h"

const struct lanes *lanes_by_name(const char *name)
{
#ifdef LANES_X86
    if (!strcmp(name, "avx2"))
        return cpu_runs(CPU_AVX2) ? &lanes_avx2 : NULL;
    if (!strcmp(name, "avx512"))
        return cpu_runs(CPU_AVX512) ? &lanes_avx512 : NULL;
    if (!strcmp(name, "avx512-loads"))
        return cpu_runs(CPU_AVX512) ? &lanes_avx512_loads : NULL;
#endif
    return strcmp(name, "scalar") ? NULL : &lanes_scalar;
}

const struct lanes *lanes_choose(unsigned simd_bits)
{
    const struct lanes *wide = !simd_bits || simd_bits >= 512
                                   ? lanes_by_name(gather_is_slow() ? "avx512-loads" : "avx512")
                                   : NULL;

    if (!wide && (!simd_bits || simd_bits >= 256))
        wide = lanes_by_name("avx2");
    return wide ? wide : &lanes_scalar;
}
