// SPDX-License-Identifier: BSD-3-Clause
// classify.c - the readers' entry points: choose a kernel once, then take each burst through the
// steps of acl.h
#include <string.h>

#include "acl/key_burst.h"
#include "acl/list.h"
#include "acl/lane_rules.h"
#include "base/cpu.h"

// --- which kernel ---

static const struct acl_kernel *current; // chosen at first use; every thread chooses the same

static const struct acl_kernel *kernel_of(enum acl_simd s) // NULL: not on this CPU
{
#ifdef ACL_X86
    if (s == ACL_AVX2)
        return cpu_runs(CPU_AVX2) ? &acl_kernel_avx2 : NULL;
    if (s == ACL_AVX512) {
        (void)gather_is_slow(); // measured here, not by a burst
        return cpu_runs(CPU_AVX512) ? &acl_kernel_avx512 : NULL;
    }
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

static const struct acl_kernel *current_kernel(void)
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
    return current_kernel()->name;
}

// --- bursts ---

static void rules_match(const struct classifier *c, const struct acl_kernel *k, struct key_burst *b)
{
    b->lanes = __atomic_load_n(&c->lanes, __ATOMIC_ACQUIRE); // partner: lanes_add_rule
    if (b->lanes && b->lanes->whole && !k->lanes_all)
        b->lanes = NULL;
    if (b->lanes && b->lanes->whole)
        k->lanes_all(c, b);
    else if (b->lanes && !b->lanes->behind_prefilter)
        k->lanes_near(c, b);
    else
        (c->family == ACL_IP4 ? k->classify4 : k->classify6)(c, b);
}

static void burst_finish(const struct classifier *c, const struct acl_kernel *k,
                         struct key_burst *b)
{
    if (b->left && b->tuples)
        rules_match(c, k, b);
    key_burst_end(b, c);
}

// b has addresses, `tuples` and l4.
static void burst_classify(const struct classifier *c, const struct acl_kernel *k,
                           struct key_burst *b, uint32_t *slot, unsigned n)
{
    b->ip = NULL;
    b->ahead = false;
    key_burst_begin(b, c, slot, n);
    burst_finish(c, k, b);
}

static bool has_tuple_rules(const struct classifier *c)
{
    return __atomic_load_n(&c->in_tuples, __ATOMIC_RELAXED);
}

void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const struct classifier *c = list_classifier(a, 0);
    uint32_t addr[2][KEY_BURST];
    struct key_burst b;

    for (unsigned i = 0; i < n; i += KEY_BURST) {
        unsigned part = n - i < KEY_BURST ? n - i : KEY_BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        b.tuples = has_tuple_rules(c);
        current_kernel()->part4(key + i, part, addr[0], addr[1], b.tuples ? b.l4 : NULL);
        b.addr4[0] = addr[0];
        b.addr4[1] = addr[1];
        burst_classify(c, current_kernel(), &b, slot + i, part);
    }
}

void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const struct classifier *c = list_classifier(a, 1);
    uint8_t addr[2][KEY_BURST][16];
    struct key_burst b;

    for (unsigned i = 0; i < n; i += KEY_BURST) {
        unsigned part = n - i < KEY_BURST ? n - i : KEY_BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        for (unsigned j = 0; j < part; j++) {
            memcpy(addr[0][j], key[i + j].src, sizeof addr[0][j]);
            memcpy(addr[1][j], key[i + j].dst, sizeof addr[1][j]);
            b.l4[j] = key[i + j].l4;
        }
        b.tuples = has_tuple_rules(c);
        b.addr6[0] = (const uint8_t(*)[16])addr[0];
        b.addr6[1] = (const uint8_t(*)[16])addr[1];
        burst_classify(c, current_kernel(), &b, slot + i, part);
    }
}

_Static_assert(sizeof(struct key_burst) <= sizeof(struct acl_search), "room");

bool acl_late_begin(struct acl_search *s, const struct acl *a, enum acl_family family,
                    const struct acl_late *p, uint32_t *slot, unsigned n)
{
    const struct classifier *c = list_classifier(a, family == ACL_IP6);
    struct key_burst *b = (void *)s->room;

    b->late = c;
    if (!c) {
        memset(slot, 0xff, n * sizeof *slot);
        return false;
    }
    if (family == ACL_IP4) {
        b->addr4[0] = p->src;
        b->addr4[1] = p->dst;
    } else {
        b->addr6[0] = p->src;
        b->addr6[1] = p->dst;
    }
    b->tuples = has_tuple_rules(c);
    b->ip = p->ip;
    b->ahead = p->ahead;
    key_burst_begin(b, c, slot, n);
    return b->ahead && key_burst_waits(b);
}

void acl_late_end(struct acl_search *s)
{
    struct key_burst *b = (void *)s->room;

    if (b->late)
        burst_finish(b->late, current_kernel(), b);
}

bool acl_is_by_sets(const struct acl *a, enum acl_family family)
{
    const struct classifier *c = list_classifier(a, family == ACL_IP6);

    return !c || !has_tuple_rules(c);
}
