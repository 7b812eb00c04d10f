// SPDX-License-Identifier: BSD-3-Clause
// classify_avx512.c - bursts with AVX-512: 16 packets a vector (core.h says what is done)
//
// Gates and guards first, for all packets; those that some tuple is left for are packed together, and only they are cut to
// all lengths. Then each tuple's packets are written into one list of the whole burst, so that the filter, heads and blocks
// are asked for 16 at a time, whatever packets they belong to, and no load waits for another one.
#include "acl/classify.h"

#include <immintrin.h>

#define LANES 16u
#define INLINE static inline __attribute__((always_inline))

struct lanes { // packets that are still looked at
    _Alignas(64) uint32_t digest[2][CORE_LEVELS][BURST];
    union { // by side; host order
        _Alignas(64) uint32_t addr4[2][BURST + LANES];
        _Alignas(64) uint64_t addr6[2][2][BURST + LANES]; // half
    };
    uint32_t open[BURST + LANES]; // tuples
    uint32_t port[BURST];
    uint32_t packet[BURST];
    uint64_t all; // bit = lane
    unsigned n;
};

static uint64_t first(unsigned n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

INLINE __mmask16 group_of(uint64_t lanes, unsigned at)
{
    return (__mmask16)(lanes >> at);
}

// Which of the lanes' keys does the filter have?
INLINE __mmask16 filter_has(const struct core *c, __m512i key, __mmask16 m)
{
    const __m512i one = _mm512_set1_epi32(1), low = _mm512_set1_epi32(31);
    __m512i at = _mm512_srlv_epi32(_mm512_mullo_epi32(key, _mm512_set1_epi32((int)CORE_MIX_WORD)), _mm512_set1_epi32((int)c->filter_shift));
    __m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, c->filter, sizeof(uint32_t));
    __m512i h = _mm512_mullo_epi32(key, _mm512_set1_epi32((int)CORE_MIX_BITS));
    __m512i bits = _mm512_ternarylogic_epi32(_mm512_sllv_epi32(one, _mm512_srli_epi32(h, 27)),
                                             _mm512_sllv_epi32(one, _mm512_and_si512(_mm512_srli_epi32(h, 22), low)),
                                             _mm512_sllv_epi32(one, _mm512_and_si512(_mm512_srli_epi32(h, 17), low)), 0xfe);
    __m512i missing = _mm512_andnot_si512(word, bits);

    return _mm512_mask_testn_epi32_mask(m, missing, missing);
}

INLINE void pack(uint32_t *to, __m512i v, __mmask16 m)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, v));
}

// --- guards and tuples, of both families ---

static void guards_ask(const struct core *c, const struct lanes *l, uint64_t *passed)
{
    for (unsigned g = 0; g < c->n_guards; g++) {
        const uint32_t *digest = l->digest[c->guard[g].side][c->guard[g].level];
        __m512i salt = _mm512_set1_epi32((int)c->guard[g].salt);

        passed[g] = 0;
        for (unsigned i = 0; i < l->n; i += LANES)
            passed[g] |= (uint64_t)filter_has(c, _mm512_xor_si512(_mm512_load_si512(digest + i), salt), group_of(l->all, i)) << i;
    }
}

static uint32_t tuples_in_use(const struct core *c, unsigned n_tuples)
{
    uint32_t used = 0;

    for (unsigned t = 0; t < n_tuples; t++)
        used |= (uint32_t)(__atomic_load_n(&c->tuple[t].rules, __ATOMIC_RELAXED) != 0) << t;
    return used;
}

static void gates_ask(const struct core *c, struct lanes *l, unsigned n_tuples)
{
    const __m512i used = _mm512_set1_epi32((int)tuples_in_use(c, n_tuples));

    for (unsigned i = 0; i < l->n; i += LANES) {
        __m512i open = used;

        for (unsigned s = 0; s < 2; s++) {
            const struct gate *g = &c->gate[s];

            if (g->level == CORE_NONE)
                continue;
            __m512i at = _mm512_mullo_epi32(_mm512_load_si512(l->digest[s][g->level] + i), _mm512_set1_epi32((int)CORE_MIX_WORD));
            __m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), group_of(l->all, i), _mm512_srli_epi32(at, g->shift), g->tuples, 4);
            open = _mm512_and_si512(open, _mm512_or_si512(word, _mm512_set1_epi32((int)__atomic_load_n(&g->always, __ATOMIC_RELAXED))));
        }
        _mm512_store_si512(l->open + i, open);
    }
}

static bool has_sides(const struct core *c)
{
    return c->n_guards || __atomic_load_n(&c->sets[CORE_SRC], __ATOMIC_RELAXED) | __atomic_load_n(&c->sets[CORE_DST], __ATOMIC_RELAXED);
}

// Shuts tuples for packets that a guard or a set keeps out.
static void sides_ask(const struct burst *b, const struct core *c, struct lanes *l, unsigned n_tuples, const uint64_t *passed)
{
    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        uint64_t m = UINT64_MAX;

        for (unsigned s = 0; s < 2; s++) {
            if (p->guard[s] != CORE_NONE)
                m &= passed[p->guard[s]];
            if (p->set[s] != CORE_NONE)
                m &= b->member[s][p->set[s]];
        }
        if (!(l->all & ~m))
            continue;
        for (unsigned i = 0; i < l->n; i += LANES) {
            __m512i open = _mm512_load_si512(l->open + i);
            _mm512_store_si512(l->open + i, _mm512_mask_and_epi32(open, (__mmask16)~group_of(m, i), open, _mm512_set1_epi32((int)~(1u << t))));
        }
    }
}

static uint64_t packets_left(const struct lanes *l)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < l->n; i += LANES) {
        __m512i open = _mm512_load_si512(l->open + i);
        any |= (uint64_t)_mm512_mask_test_epi32_mask(group_of(l->all, i), open, open) << i;
    }
    return any;
}

// Of the pairs of key and packet that were listed, those whose key the filter has.
static void filter_ask(struct burst *b, const struct core *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->n_found; i += LANES) {
        __m512i key = _mm512_loadu_si512(b->key + i), packet = _mm512_loadu_si512(b->packet + i);
        __mmask16 m = filter_has(c, key, group_of(first(b->n_found - i), 0));

        pack(b->key + n, key, m);
        pack(b->packet + n, packet, m);
        n += (unsigned)__builtin_popcount(m);
    }
    b->n_found = n;
}

// Tuples in the order of their first rules would end packets earlier; the filter leaves so few candidates that it does not pay.
static void tuples_ask(struct burst *b, const struct core *c, const struct lanes *l, unsigned n_tuples)
{
    unsigned listed = 0;

    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        const uint32_t *src = l->digest[CORE_SRC][p->level[CORE_SRC]], *dst = l->digest[CORE_DST][p->level[CORE_DST]];
        __m512i salt = _mm512_set1_epi32((int)p->salt), bit = _mm512_set1_epi32((int)(1u << t));

        for (unsigned i = 0; i < l->n; i += LANES) {
            __mmask16 m = _mm512_mask_test_epi32_mask(group_of(l->all, i), _mm512_load_si512(l->open + i), bit);
            __m512i key = _mm512_ternarylogic_epi32(_mm512_load_si512(src + i), _mm512_load_si512(dst + i), salt, 0x96);

            if (p->port)
                key = _mm512_xor_si512(key, _mm512_load_si512(l->port + i));
            pack(b->key + listed, key, m);
            pack(b->packet + listed, _mm512_load_si512(l->packet + i), m);
            listed += (unsigned)__builtin_popcount(m);
        }
        if (listed >= FOUND_MAX || t + 1 == n_tuples) {
            b->n_found = listed;
            filter_ask(b, c);
            burst_walk(b, c);
            candidates_search(b, c);
            listed = 0;
        }
    }
}

INLINE void lanes_begin(struct lanes *l, unsigned n, uint64_t left)
{
    l->n = n;
    l->all = left;
    for (unsigned i = 0; i < n; i += LANES)
        _mm512_store_si512(l->packet + i, _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                                           _mm512_set1_epi32((int)i)));
}

// Packs packets together when that saves vectors.
static bool lanes_pack(struct lanes *l, uint64_t any)
{
    unsigned n = (unsigned)__builtin_popcountll(any), at = 0;
    _Alignas(64) uint32_t packet[BURST + LANES], port[BURST + LANES];

    if ((n + LANES - 1) / LANES == (l->n + LANES - 1) / LANES)
        return false;
    for (unsigned i = 0; i < l->n; i += LANES) {
        __mmask16 m = group_of(any, i);

        pack(packet + at, _mm512_load_si512(l->packet + i), m);
        pack(port + at, _mm512_load_si512(l->port + i), m);
        pack(l->open + at, _mm512_load_si512(l->open + i), m);
        at += (unsigned)__builtin_popcount(m);
    }
    memcpy(l->packet, packet, sizeof l->packet);
    memcpy(l->port, port, sizeof l->port);
    l->n = n;
    l->all = first(n);
    return true;
}

INLINE unsigned levels_of(const struct core *c, unsigned side)
{
    return __atomic_load_n(&c->n_levels[side], __ATOMIC_ACQUIRE);
}

// digest_port of all packets; dport and proto lie side by side. Of those that are not left it means nothing.
INLINE void ports_load(const struct core *c, const struct burst *b, struct lanes *l)
{
    const __m512i secret = _mm512_set1_epi32((int)(c->secret[0][1] >> 32)), both = _mm512_set1_epi64(0xffffff);

    for (unsigned i = 0; i < l->n; i += LANES) {
        __m256i half[2];

        for (unsigned j = 0; j < 2; j++)
            half[j] = _mm512_cvtepi64_epi32(_mm512_and_si512(_mm512_srli_epi64(_mm512_loadu_si512(b->l4 + i + 8 * j), 16), both));
        __m512i x = _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
        _mm512_store_si512(l->port + i, _mm512_mullo_epi32(_mm512_xor_si512(x, secret), _mm512_set1_epi32((int)CORE_MIX1)));
    }
}

// --- IPv4 ---

static void part4(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST], struct acl_key_l4 *l4)
{
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i pick = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i low = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11), high = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);

    for (unsigned i = 0; i < n; i += LANES) {
        __m512i row[4], pair[2];

        for (unsigned j = 0; j < 4; j++) {
            unsigned at = i + 4 * j, left = n > at ? 2 * (n - at) : 0;
            row[j] = _mm512_maskz_loadu_epi64((__mmask8)(left >= 8 ? 0xff : (1u << left) - 1), key + at);
        }
        for (unsigned j = 0; j < 2; j++)
            pair[j] = _mm512_permutex2var_epi32(row[2 * j], pick, row[2 * j + 1]);
        for (unsigned j = 0; l4 && j < 2; j++)
            _mm512_storeu_si512(l4 + i + 8 * j, _mm512_permutex2var_epi64(row[2 * j], odd, row[2 * j + 1]));
        _mm512_storeu_si512(src + i, _mm512_permutex2var_epi64(pair[0], low, pair[1]));
        _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi64(pair[0], high, pair[1]));
    }
}

INLINE void load4(const struct burst *b, struct lanes *l)
{
    const __m512i swap = _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < l->n; i += LANES) {
            __m512i be = _mm512_maskz_loadu_epi32(group_of(first(l->n), i), b->addr4[s] + i);
            _mm512_store_si512(l->addr4[s] + i, _mm512_shuffle_epi8(be, swap));
        }
}

INLINE void cut4(const struct core *c, struct lanes *l, unsigned side, unsigned level)
{
    __m512i mask = _mm512_set1_epi32((int)mask4(c->len[side][level])), secret = _mm512_set1_epi32((int)(uint32_t)c->secret[side][0]);

    for (unsigned i = 0; i < l->n; i += LANES) {
        __m512i x = _mm512_xor_si512(_mm512_and_si512(_mm512_load_si512(l->addr4[side] + i), mask), secret);

        x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)CORE_MIX1));
        x = _mm512_mullo_epi32(_mm512_xor_si512(x, _mm512_srli_epi32(x, 15)), _mm512_set1_epi32((int)CORE_MIX2));
        _mm512_store_si512(l->digest[side][level] + i, x);
    }
}

INLINE void pack4(struct lanes *l, unsigned n, uint64_t any)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0, at = 0; i < n; i += LANES) {
            __mmask16 m = group_of(any, i);

            pack(l->addr4[s] + at, _mm512_load_si512(l->addr4[s] + i), m);
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- IPv6 ---

INLINE void load6(const struct burst *b, struct lanes *l)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < l->n; i++) {
            uint64_t w[2];

            memcpy(w, b->addr6[s][i], sizeof w);
            l->addr6[s][0][i] = __builtin_bswap64(w[0]);
            l->addr6[s][1][i] = __builtin_bswap64(w[1]);
        }
}

INLINE __m256i cut6_half(const struct core *c, const struct lanes *l, unsigned side, unsigned len, unsigned i)
{
    const __m512i mix_high = _mm512_set1_epi64((long long)CORE_MIX6_HIGH), mix_low = _mm512_set1_epi64((long long)CORE_MIX6_LOW);
    __m512i x = _mm512_and_si512(_mm512_load_si512(l->addr6[side][0] + i), _mm512_set1_epi64((long long)mask6(len, 0)));
    __m512i y = _mm512_and_si512(_mm512_load_si512(l->addr6[side][1] + i), _mm512_set1_epi64((long long)mask6(len, 1)));

    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_set1_epi64((long long)c->secret[side][0])), mix_high);
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
    y = _mm512_mullo_epi64(_mm512_xor_si512(y, _mm512_set1_epi64((long long)c->secret[side][1])), mix_low);
    x = _mm512_add_epi64(x, y);
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 29)), _mm512_set1_epi64((long long)CORE_MIX6_END));
    return _mm512_cvtepi64_epi32(_mm512_srli_epi64(x, 32));
}

INLINE void cut6(const struct core *c, struct lanes *l, unsigned side, unsigned level)
{
    unsigned len = c->len[side][level];

    for (unsigned i = 0; i < l->n; i += LANES / 2)
        _mm256_store_si256((__m256i *)(l->digest[side][level] + i), cut6_half(c, l, side, len, i));
}

INLINE void pack6(struct lanes *l, unsigned n, uint64_t any)
{
    for (unsigned j = 0; j < 4; j++)
        for (unsigned i = 0, at = 0; i < n; i += LANES / 2) {
            __mmask8 m = (__mmask8)(any >> i);
            uint64_t *p = l->addr6[j / 2][j % 2];

            _mm512_storeu_si512(p + at, _mm512_maskz_compress_epi64(m, _mm512_load_si512(p + i)));
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- either ---

INLINE void cut(const struct core *c, struct lanes *l, unsigned side, unsigned level, uint8_t family)
{
    family == ACL_IP4 ? cut4(c, l, side, level) : cut6(c, l, side, level);
}

INLINE void classify(const struct core *c, struct burst *b, uint8_t family)
{
    unsigned n_tuples = b->n_tuples;
    uint64_t passed[CORE_GUARDS], any;
    struct lanes l;

    lanes_begin(&l, b->n, b->left);
    family == ACL_IP4 ? load4(b, &l) : load6(b, &l);
    for (unsigned s = 0; s < 2; s++)
        if (c->gate[s].level != CORE_NONE)
            cut(c, &l, s, c->gate[s].level, family);
    for (unsigned g = 0; g < c->n_guards; g++)
        cut(c, &l, c->guard[g].side, c->guard[g].level, family);
    guards_ask(c, &l, passed);
    gates_ask(c, &l, n_tuples);
    burst_walk(b, c);
    l.all &= b->left;
    if (has_sides(c))
        sides_ask(b, c, &l, n_tuples, passed);
    any = packets_left(&l);
    if (!any)
        return;
    if (b->shelf) {
        b->left = any;
        shelf_avx512(c, b);
        return;
    }
    l4_read(b, any);
    if (__atomic_load_n(&c->ports, __ATOMIC_RELAXED))
        ports_load(c, b, &l);
    burst_walk(b, c);
    if (lanes_pack(&l, any))
        family == ACL_IP4 ? pack4(&l, b->n, any) : pack6(&l, b->n, any);
    else
        l.all = any;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned level = 0; level < levels_of(c, s); level++)
            cut(c, &l, s, level, family);
    tuples_ask(b, c, &l, n_tuples);
}

static void avx512_4(const struct core *c, struct burst *b)
{
    classify(c, b, ACL_IP4);
}

static void avx512_6(const struct core *c, struct burst *b)
{
    classify(c, b, ACL_IP6);
}

const struct acl_kernel acl_kernel_avx512 = {"avx512", part4, avx512_4, avx512_6, few_avx512, shelf_avx512};
