// SPDX-License-Identifier: BSD-3-Clause
// lanes_choose.c - which set this machine runs; asked before the first packet
#include "forwarder/lanes_priv.h"

#include <string.h>

#include "base/gather.h"
#ifdef LANES_X86
#include <rte_cpuflags.h>
#endif

static bool have_avx512(void)
{
#ifdef LANES_X86
    static const enum rte_cpu_flag_t need[] = {RTE_CPUFLAG_AVX512F, RTE_CPUFLAG_AVX512BW, RTE_CPUFLAG_AVX512DQ, RTE_CPUFLAG_AVX512VL};

    for (unsigned i = 0; i < RTE_DIM(need); i++)
        if (rte_cpu_get_flag_enabled(need[i]) <= 0)
            return false;
    return true;
#else
    return false;
#endif
}

static bool have_avx2(void)
{
#ifdef LANES_X86
    return rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0;
#else
    return false;
#endif
}

const struct lanes *lanes_of(const char *name)
{
#ifdef LANES_X86
    if (!strcmp(name, "avx2"))
        return have_avx2() ? &lanes_avx2 : NULL;
    if (!strcmp(name, "avx512"))
        return have_avx512() ? &lanes_avx512 : NULL;
    if (!strcmp(name, "avx512-loads"))
        return have_avx512() ? &lanes_avx512_loads : NULL;
#endif
    return strcmp(name, "scalar") ? NULL : &lanes_scalar;
}

const struct lanes *lanes_choose(unsigned simd_bits)
{
    const struct lanes *wide = !simd_bits || simd_bits >= 512 ? lanes_of(gather_is_slow() ? "avx512-loads" : "avx512") : NULL;

    if (!wide && (!simd_bits || simd_bits >= 256))
        wide = lanes_of("avx2");
    return wide ? wide : &lanes_scalar;
}
