// SPDX-License-Identifier: BSD-3-Clause
// classify.c - bursts: which kernel runs, and who asks
#include <string.h>

#include "acl/key_burst.h"
#include "acl/list.h"
#include "acl/address_bucket.h"
#include "base/cpu.h"

// --- which kernel ---

static const struct acl_kernel *current; // chosen at first use; any thread finds the same

static const struct acl_kernel *kernel_of(enum acl_simd s) // NULL: not on this CPU
{
#ifdef ACL_X86
    if (s == ACL_AVX2)
        return cpu_runs(CPU_AVX2) ? &acl_kernel_avx2 : NULL;
    if (s == ACL_AVX512)
        return cpu_runs(CPU_AVX512) ? &acl_kernel_avx512 : NULL;
#endif
    return s == ACL_PLAIN ? &acl_kernel_scalar : NULL;
}

bool acl_use_simd(enum acl_simd s)
{
    const struct acl_kernel *k = kernel_of(s);

    if (k)
        __atomic_store_n(&current, k, __ATOMIC_RELAXED);
    return k;
}

static const struct acl_kernel *kernel(void)
{
    const struct acl_kernel *k = __atomic_load_n(&current, __ATOMIC_RELAXED);

    if (__builtin_expect(!k, 0)) {
        for (int s = ACL_SIMDS; !acl_use_simd((enum acl_simd)(s - 1));)
            s--;
        k = __atomic_load_n(&current, __ATOMIC_RELAXED);
    }
    return k;
}

const char *acl_kernel_name(void)
{
    return kernel()->name;
}

// --- bursts ---

static void ask(const struct core *c, const struct acl_kernel *k, struct burst *b)
{
    unsigned blocks =
        k->few ? __atomic_load_n(&c->few_blocks, __ATOMIC_ACQUIRE) : 0; // partner: core_few

    b->shelf = __atomic_load_n(&c->shelf, __ATOMIC_ACQUIRE); // partner: shelf_take
    if (blocks)
        k->few(c, b, blocks);
    else if (b->shelf && !b->shelf->behind_gates)
        k->shelf(c, b);
    else
        (c->family == ACL_IP4 ? k->classify4 : k->classify6)(c, b);
}

// b: addresses, tuples, late, and l4 if there are any.
static void classify(const struct core *c, const struct acl_kernel *k, struct burst *b,
                     uint32_t *slot, unsigned n)
{
    burst_begin(b, c, slot, n);
    if (b->left && b->tuples)
        ask(c, k, b);
    burst_end(b, c);
}

static bool has_tuples(const struct core *c)
{
    return __atomic_load_n(&c->in_tuples, __ATOMIC_RELAXED);
}

void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 0);
    uint32_t addr[2][BURST];
    struct burst b;

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        b.tuples = has_tuples(c);
        kernel()->part4(key + i, part, addr[0], addr[1], b.tuples ? b.l4 : NULL);
        b.addr4[0] = addr[0];
        b.addr4[1] = addr[1];
        b.late = NULL;
        classify(c, kernel(), &b, slot + i, part);
    }
}

void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 1);
    uint8_t addr[2][BURST][16];
    struct burst b;

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        for (unsigned j = 0; j < part; j++) {
            memcpy(addr[0][j], key[i + j].src, sizeof addr[0][j]);
            memcpy(addr[1][j], key[i + j].dst, sizeof addr[1][j]);
            b.l4[j] = key[i + j].l4;
        }
        b.tuples = has_tuples(c);
        b.addr6[0] = (const uint8_t(*)[16])addr[0];
        b.addr6[1] = (const uint8_t(*)[16])addr[1];
        b.late = NULL;
        classify(c, kernel(), &b, slot + i, part);
    }
}

void acl_classify_late(const struct acl *a, enum acl_family family, const struct acl_late *p,
                       uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, family == ACL_IP6);
    struct burst b;

    if (!c) {
        memset(slot, 0xff, n * sizeof *slot);
        return;
    }
    if (family == ACL_IP4) {
        b.addr4[0] = p->src;
        b.addr4[1] = p->dst;
    } else {
        b.addr6[0] = p->src;
        b.addr6[1] = p->dst;
    }
    b.tuples = has_tuples(c);
    b.late = p;
    classify(c, kernel(), &b, slot, n);
}

bool acl_is_by_sets(const struct acl *a, enum acl_family family)
{
    const struct core *c = list_core(a, family == ACL_IP6);

    return !c || !has_tuples(c);
}
