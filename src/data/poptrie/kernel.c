// SPDX-License-Identifier: BSD-3-Clause
// kernel.c - selects the kernel of bulk lookups
//
// One pointer for the process. The first table selects the best kernel, unless one was set before.
#include "base/cpu.h"
#include "poptrie/poptrie_priv.h"

#include <errno.h>

#define FEW 4u // fewer addresses are looked up one by one: a vector's gathers cost the same for one
               // lane

static const struct kernel *current = &poptrie_kernel_scalar;
static bool chosen;
struct poptrie poptrie_nothing;

static const struct kernel *kernel_now(void)
{
    return __atomic_load_n(&current, __ATOMIC_RELAXED);
}

static const struct {
    const struct kernel *kernel; // NULL: of another architecture
    unsigned bits;
    enum cpu_simd simd;
} kernels[POPTRIE_KERNELS] = {
    [POPTRIE_KERNEL_SCALAR] = {&poptrie_kernel_scalar, 0, CPU_SCALAR},
#ifdef __aarch64__
    [POPTRIE_KERNEL_NEON] = {&poptrie_kernel_neon, 128, CPU_SCALAR},
#endif
#ifdef POPTRIE_X86
    [POPTRIE_KERNEL_AVX2] = {&poptrie_kernel_avx2, 256, CPU_AVX2},
    [POPTRIE_KERNEL_AVX512] = {&poptrie_kernel_avx512, 512, CPU_AVX512},
    [POPTRIE_KERNEL_AVX512_VPOPCNT] = {&poptrie_kernel_avx512_vpopcnt, 512, CPU_AVX512_VPOPCNT},
    [POPTRIE_KERNEL_AVX512_LOADS] = {&poptrie_kernel_avx512_loads, 512, CPU_AVX512_VPOPCNT},
#endif
};

static bool kernel_runs(enum poptrie_kernel k, unsigned bits)
{
    return kernels[k].kernel && bits >= kernels[k].bits && cpu_runs(kernels[k].simd);
}

int poptrie_set_kernel(enum poptrie_kernel k, unsigned max_simd_bits)
{
    unsigned bits = max_simd_bits == 0 ? 512 : max_simd_bits;

    if (k == POPTRIE_KERNEL_AUTO)
        for (k = gather_is_slow() ? POPTRIE_KERNEL_AVX512_LOADS : POPTRIE_KERNEL_AVX512_VPOPCNT;
             !kernel_runs(k, bits);)
            k--;
    if (!kernel_runs(k, bits))
        return -ENOTSUP;
    __atomic_store_n(&current, kernels[k].kernel, __ATOMIC_RELAXED);
    __atomic_store_n(&chosen, true, __ATOMIC_RELAXED);
    return 0;
}

void poptrie_choose_kernel(void)
{
    if (!__atomic_load_n(&chosen, __ATOMIC_RELAXED))
        poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
}

const char *poptrie_kernel_name(void)
{
    poptrie_choose_kernel();
    return kernel_now()->name;
}

void poptrie_find4_bulk(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                        unsigned n)
{
    if (n >= FEW)
        kernel_now()->find4(t, dst_be, value, n);
    else
        for (unsigned i = 0; i < n; i++)
            value[i] = poptrie_find4(t, dst_be[i]);
}

void poptrie_find6_bulk(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                        unsigned n)
{
    if (n >= FEW)
        kernel_now()->find6(t, dst, value, n);
    else
        for (unsigned i = 0; i < n; i++)
            value[i] = poptrie_find6(t, dst[i]);
}

void poptrie_find4_each(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                        unsigned n)
{
    if (n >= FEW)
        kernel_now()->find4_each(each, dst_be, value, n);
    else
        for (unsigned i = 0; i < n; i++)
            value[i] = poptrie_find4(each[i], dst_be[i]);
}

bool poptrie_find4_of(const void *const *of, const uint16_t *which, const struct poptrie **each,
                      const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    const struct kernel *k = kernel_now();

    return n >= FEW && k->find4_of && k->find4_of(of, which, each, dst_be, value, n);
}

void poptrie_find6_each(const struct poptrie *const *each, const uint8_t (*dst)[16],
                        uint32_t *value, unsigned n)
{
    if (n >= FEW)
        kernel_now()->find6_each(each, dst, value, n);
    else
        for (unsigned i = 0; i < n; i++)
            value[i] = poptrie_find6(each[i], dst[i]);
}
