// SPDX-License-Identifier: BSD-3-Clause
// kernel.c - selects the kernel of bulk lookups
//
// One pointer for the process. It starts at functions that select the best kernel and continue with
// it, so no initialization is needed.
#include "base/cpu.h"
#include "poptrie/poptrie_priv.h"

#include <errno.h>

#define FEW 4u // fewer addresses are looked up one by one: a vector's gathers cost the same for one
               // lane

static void boot_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                       unsigned n);
static void boot_find6(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                       unsigned n);

static void boot_find4_each(const struct poptrie *const *each, const uint32_t *dst_be,
                            uint32_t *value, unsigned n);

static void boot_find6_each(const struct poptrie *const *each, const uint8_t (*dst)[16],
                            uint32_t *value, unsigned n);

static const struct kernel kernel_boot = {"auto", boot_find4, boot_find6, boot_find4_each,
                                          boot_find6_each, NULL};
static const struct kernel *current = &kernel_boot;
struct poptrie poptrie_nothing;

static const struct kernel *kernel_now(void)
{
    return __atomic_load_n(&current, __ATOMIC_RELAXED);
}

static bool kernel_runs(enum poptrie_kernel k, unsigned bits)
{
#ifdef POPTRIE_X86
    switch (k) {
    case POPTRIE_KERNEL_AVX2:
        return bits >= 256 && cpu_runs(CPU_AVX2);
    case POPTRIE_KERNEL_AVX512:
        return bits >= 512 && cpu_runs(CPU_AVX512);
    case POPTRIE_KERNEL_AVX512_VPOPCNT:
    case POPTRIE_KERNEL_AVX512_LOADS:
        return bits >= 512 && cpu_runs(CPU_AVX512_VPOPCNT);
    default:
        break;
    }
#endif
#ifdef __aarch64__
    if (k == POPTRIE_KERNEL_NEON)
        return bits >= 128;
#endif
    return k == POPTRIE_KERNEL_SCALAR;
}

static const struct kernel *kernel_of(enum poptrie_kernel k)
{
    switch (k) {
#ifdef POPTRIE_X86
    case POPTRIE_KERNEL_AVX2:
        return &poptrie_kernel_avx2;
    case POPTRIE_KERNEL_AVX512:
        return &poptrie_kernel_avx512;
    case POPTRIE_KERNEL_AVX512_VPOPCNT:
        return &poptrie_kernel_avx512_vpopcnt;
    case POPTRIE_KERNEL_AVX512_LOADS:
        return &poptrie_kernel_avx512_loads;
#endif
#ifdef __aarch64__
    case POPTRIE_KERNEL_NEON:
        return &poptrie_kernel_neon;
#endif
    default:
        return &poptrie_kernel_scalar;
    }
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
    __atomic_store_n(&current, kernel_of(k), __ATOMIC_RELAXED);
    return 0;
}

const char *poptrie_kernel_name(void)
{
    if (kernel_now() == &kernel_boot)
        poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
    return kernel_now()->name;
}

static void boot_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
    kernel_now()->find4(t, dst_be, value, n);
}

static void boot_find6(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                       unsigned n)
{
    poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
    kernel_now()->find6(t, dst, value, n);
}

static void boot_find4_each(const struct poptrie *const *each, const uint32_t *dst_be,
                            uint32_t *value, unsigned n)
{
    poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
    kernel_now()->find4_each(each, dst_be, value, n);
}

static void boot_find6_each(const struct poptrie *const *each, const uint8_t (*dst)[16],
                            uint32_t *value, unsigned n)
{
    poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0);
    kernel_now()->find6_each(each, dst, value, n);
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
