// SPDX-License-Identifier: BSD-3-Clause
// acl_rte.c - see acl_rte.h
//
// Our keys have rte_acl's layout except for the ports, which rte_acl expects in network order. So
// keys are copied, with swapped ports, to a fixed buffer of each thread, and rte_acl's array of
// pointers is filled only once. Fields that no rule uses are left out, which saves four bytes per
// packet.
#include "table/acl_rte.h"

#include <errno.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <rte_acl.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

#define BURST 64u
#define FIELDS6 11
#define WORDS6 4u // of an address

typedef uint8_t bytes16 __attribute__((vector_size(16)));

typedef bool copy4_of(bytes16 *to, const struct acl_key4 *key, unsigned n);

RTE_ACL_RULE_DEF(rte_rule, FIELDS6); // large enough for both families

struct acl_rte {
    struct rte_acl_ctx *ctx[2]; // IPv4, IPv6; NULL: no rules
    size_t bytes;
    copy4_of *copy_keys4;
};

bool acl_rte_can(const struct acl_rule *r)
{
    return r->src.set == ACL_NO_SET && r->dst.set == ACL_NO_SET && r->part == ACL_ANY_PART &&
           !r->tcp_mask && !r->tcp_any && r->dscp == ACL_DSCP_ANY;
}

// --- keys ---

_Static_assert(sizeof(struct acl_key4) == 16 && offsetof(struct acl_key4, l4.sport) == 8 &&
                   offsetof(struct acl_key4, l4.part) == 15,
               "as copied, shuffled and looked at");

// Copies keys with ports in network order. Returns true if one is of a later fragment.
static bool copy_keys4(bytes16 *to, const struct acl_key4 *key, unsigned n)
{
    bytes16 any = {0};

    for (unsigned i = 0; i < n; i++) {
        bytes16 k;
        memcpy(&k, &key[i], sizeof k);
        any |= k;
        to[i] = __builtin_shufflevector(k, k, 0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 12, 13, 14, 15);
    }
    return any[15] & ACL_LATER;
}

#if defined(__x86_64__)
static __attribute__((target("avx512f,avx512bw"))) bool
copy4_avx512(bytes16 *to, const struct acl_key4 *key, unsigned n)
{
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 12, 13, 14, 15));
    __m512i any = _mm512_setzero_si512();
    unsigned i = 0;

    for (; i + 4 <= n; i += 4) {
        __m512i k = _mm512_loadu_si512(key + i);
        any = _mm512_or_si512(any, k);
        _mm512_store_si512(to + i, _mm512_shuffle_epi8(k, order));
    }
    bool later = _mm512_test_epi8_mask(any, _mm512_set1_epi8(ACL_LATER)) & 0x8000800080008000;
    return copy_keys4(to + i, key + i, n - i) || later;
}

static __attribute__((target("avx2"))) bool copy4_avx2(bytes16 *to, const struct acl_key4 *key,
                                                       unsigned n)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 12, 13, 14, 15));
    __m256i any = _mm256_setzero_si256();
    unsigned i = 0;

    for (; i + 2 <= n; i += 2) {
        __m256i k = _mm256_loadu_si256((const __m256i *)(key + i));
        any = _mm256_or_si256(any, k);
        _mm256_store_si256((__m256i *)(to + i), _mm256_shuffle_epi8(k, order));
    }
    bool later = !_mm256_testz_si256(
        any, _mm256_set_epi64x((int64_t)ACL_LATER << 56, 0, (int64_t)ACL_LATER << 56, 0));
    return copy_keys4(to + i, key + i, n - i) || later;
}
#endif

static copy4_of *copy4_best(void)
{
#if defined(__x86_64__)
    if (cpu_runs(CPU_AVX512))
        return copy4_avx512;
    if (cpu_runs(CPU_AVX2))
        return copy4_avx2;
#endif
    return copy_keys4;
}

// --- rules ---

struct fields { // fields that some rule uses, besides the protocol
    unsigned words; // of an address
    bool side[2], ports;
};

static const struct acl_side *side_of(const struct acl_rule *r, unsigned s)
{
    return s ? &r->dst : &r->src;
}

static struct fields find_fields(const struct acl_rule *const *rule, uint32_t n, uint8_t family)
{
    struct fields f = {.words = family == ACL_IP4 ? 1 : WORDS6};

    for (uint32_t i = 0; i < n; i++) {
        const struct acl_rule *r = rule[i];

        if (!(r->families & family))
            continue;
        for (unsigned s = 0; s < 2; s++)
            f.side[s] |= side_of(r, s)->len > 0;
        f.ports |=
            r->sport[0] || r->dport[0] || r->sport[1] != UINT16_MAX || r->dport[1] != UINT16_MAX;
    }
    return f;
}

static struct rte_acl_field *put_prefix(struct rte_acl_field *f, const struct acl_side *s,
                                        unsigned words)
{
    for (unsigned w = 0; w < words; w++, f++) {
        uint32_t v;
        int len = s->len - 32 * (int)w;

        memcpy(&v, s->addr + 4 * w, sizeof v);
        f->value.u32 = __builtin_bswap32(v);
        f->mask_range.u32 = len < 0 ? 0 : len > 32 ? 32 : (uint32_t)len;
    }
    return f;
}

static struct rte_rule make_rule(const struct acl_rule *r, uint32_t slot, uint32_t rank,
                               const struct fields *f)
{
    struct rte_rule to = {.data = {.category_mask = 1,
                                   .priority = (int32_t)(RTE_ACL_MAX_PRIORITY - rank),
                                   .userdata = slot + 1}};
    struct rte_acl_field *at = to.field;

    at->value.u8 = r->proto_any ? 0 : r->proto;
    (at++)->mask_range.u8 = r->proto_any ? 0 : 0xff;
    for (unsigned s = 0; s < 2; s++)
        if (f->side[s])
            at = put_prefix(at, side_of(r, s), f->words);
    if (f->ports)
        for (unsigned p = 0; p < 2; p++, at++) {
            at->value.u16 = p ? r->dport[0] : r->sport[0];
            at->mask_range.u16 = p ? r->dport[1] : r->sport[1];
        }
    return to;
}

static void add_field(struct rte_acl_config *c, uint8_t type, uint8_t size, unsigned input,
                      size_t offset)
{
    uint8_t i = (uint8_t)c->num_fields++;

    c->defs[i] = (struct rte_acl_field_def){type, size, i, (uint8_t)input, (uint32_t)offset};
}

static struct rte_acl_config make_layout(const struct fields *f, size_t max_bytes)
{
    struct rte_acl_config c = {.num_categories = 1, .max_size = max_bytes};
    const uint32_t l4 = 8 * f->words;
    unsigned input = 0;

    add_field(&c, RTE_ACL_FIELD_TYPE_BITMASK, sizeof(uint8_t), input++,
              l4 + offsetof(struct acl_key_l4, proto));
    for (unsigned s = 0; s < 2; s++)
        for (unsigned w = 0; f->side[s] && w < f->words; w++)
            add_field(&c, RTE_ACL_FIELD_TYPE_MASK, sizeof(uint32_t), input++,
                      4 * (s * f->words + w));
    for (unsigned p = 0; f->ports && p < 2; p++)
        add_field(&c, RTE_ACL_FIELD_TYPE_RANGE, sizeof(uint16_t), input, l4 + 2 * p);
    return c;
}

static struct rte_acl_ctx *compile_rules(const struct acl_rule *const *rule, const uint32_t *slot,
                                   uint32_t n, uint8_t family, size_t max_bytes)
{
    static _Atomic unsigned number; // DPDK needs unique names
    const struct fields fields = find_fields(rule, n, family);
    char name[RTE_ACL_NAMESIZE];
    struct rte_acl_config cfg = make_layout(&fields, max_bytes);

    snprintf(name, sizeof name, "acl%u", atomic_fetch_add(&number, 1));
    struct rte_acl_param param = {.name = name,
                                  .socket_id = SOCKET_ID_ANY,
                                  .rule_size = RTE_ACL_RULE_SZ(FIELDS6),
                                  .max_rule_num = n};
    struct rte_acl_ctx *ctx = rte_acl_create(&param);
    int rc = ctx ? 0 : -rte_errno;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct rte_rule r = make_rule(rule[i], slot[i], i, &fields);
        if (rule[i]->families & family)
            rc = rte_acl_add_rules(ctx, (const struct rte_acl_rule *)&r, 1);
    }
    if (!rc)
        rc = rte_acl_build(ctx, &cfg);
    if (rc) {
        rte_acl_free(ctx);
        errno = -rc;
        return NULL;
    }
    return ctx;
}

static const enum rte_acl_classify_alg variant_of[ACL_RTE_VARIANTS] = {
    RTE_ACL_CLASSIFY_AVX512X32, RTE_ACL_CLASSIFY_AVX512X16, RTE_ACL_CLASSIFY_AVX2,
    RTE_ACL_CLASSIFY_SSE};

bool acl_rte_use(struct acl_rte *t, unsigned variant)
{
    for (unsigned f = 0; f < 2; f++)
        if (t->ctx[f] && rte_acl_set_ctx_classify(t->ctx[f], variant_of[variant]))
            return false;
    return true;
}

static bool has_family(const struct acl_rule *const *rule, uint32_t n, uint8_t family)
{
    for (uint32_t i = 0; i < n; i++)
        if (rule[i]->families & family)
            return true;
    return false;
}

static size_t heap_bytes(void)
{
    struct rte_malloc_socket_stats s;
    size_t n = 0;

    for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
        n += rte_malloc_get_socket_stats(socket, &s) ? 0 : s.heap_allocsz_bytes;
    return n;
}

struct acl_rte *acl_rte_new(const struct acl_rule *const *rule, const uint32_t *slot, uint32_t n,
                            size_t max_bytes)
{
    struct acl_rte *t = calloc(1, sizeof *t);
    size_t before = heap_bytes();

    if (t)
        t->copy_keys4 = copy4_best();
    for (unsigned f = 0; f < 2 && t; f++) {
        uint8_t family = f ? ACL_IP6 : ACL_IP4;

        if (!has_family(rule, n, family))
            continue;
        t->ctx[f] = compile_rules(rule, slot, n, family, max_bytes);
        if (!t->ctx[f]) {
            acl_rte_free(t);
            return NULL;
        }
    }
    if (t)
        t->bytes = heap_bytes() - before; // approximate: other threads may allocate meanwhile
    return t;
}

size_t acl_rte_bytes(const struct acl_rte *t)
{
    return t->bytes;
}

void acl_rte_free(struct acl_rte *t)
{
    if (!t)
        return;
    for (unsigned f = 0; f < 2; f++)
        rte_acl_free(t->ctx[f]);
    free(t);
}

// --- reader ---

struct asked { // per-thread buffers
    _Alignas(64) bytes16 four[BURST];
    struct acl_key6 six[BURST];
    const uint8_t *at4[BURST], *at6[BURST];
    bool ready;
};
static _Thread_local struct asked asked;

static struct asked *asked_of_thread(void)
{
    struct asked *a = &asked;

    if (__builtin_expect(a->ready, 1))
        return a;
    for (unsigned i = 0; i < BURST; i++) {
        a->at4[i] = (const uint8_t *)&a->four[i];
        a->at6[i] = (const uint8_t *)&a->six[i];
    }
    a->ready = true;
    return a;
}

static void rte_classify(const struct rte_acl_ctx *ctx, const uint8_t **at, uint32_t *slot,
                         unsigned n)
{
    if (!ctx)
        memset(slot, 0, n * sizeof *slot);
    else
        rte_acl_classify(ctx, at, slot, n, 1);
    for (unsigned i = 0; i < n; i++)
        slot[i]--; // 0 (no rule) becomes ACL_MISS
}

bool acl_rte_classify4(const struct acl_rte *t, const struct acl_key4 *key, uint32_t *slot,
                       unsigned n)
{
    struct asked *a = asked_of_thread();

    if (__builtin_expect(t->copy_keys4(a->four, key, n), 0))
        return false;
    rte_classify(t->ctx[0], a->at4, slot, n);
    return true;
}

bool acl_rte_classify6(const struct acl_rte *t, const struct acl_key6 *key, uint32_t *slot,
                       unsigned n)
{
    struct asked *a = asked_of_thread();
    unsigned any = 0;

    for (unsigned i = 0; i < n; i++) {
        any |= key[i].l4.part;
        a->six[i] = key[i];
        a->six[i].l4.sport = __builtin_bswap16(key[i].l4.sport);
        a->six[i].l4.dport = __builtin_bswap16(key[i].l4.dport);
    }
    if (__builtin_expect(any & ACL_LATER, 0))
        return false;
    rte_classify(t->ctx[1], a->at6, slot, n);
    return true;
}
