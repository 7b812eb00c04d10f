// SPDX-License-Identifier: BSD-3-Clause
// classify_simd.c - bursts in vectors, of 16 packets with AVX-512, of 8 with AVX2; compiled for
// each (classifier.h says what is done)
//
// The fence first; whom it lets pass are packed together, for gates and guards. Those that some
// tuple is left for are packed once more, and only they are cut to all lengths. Then each tuple's
// packets are written into one list of the whole burst, so that the filter, heads and blocks are
// asked for a vector at a time, whatever packets they belong to, and no load waits for another one.
#include "acl/keys_simd.h"
#include "acl/search_simd.h"

#define LANES LANE_STEP
#define INLINE LANE_INLINE
#ifdef __AVX512F__
#define LANE_NAME "avx512"
#else
#define LANE_NAME "avx2"
#endif

struct lanes { // packets that are still looked at
    _Alignas(64) uint32_t digest[2][CORE_LEVELS][BURST];
    union { // by side; host order
        _Alignas(64) uint32_t addr4[2][BURST + 16];
        _Alignas(64) uint64_t addr6[2][2][BURST + 16]; // half
    };
    uint32_t open[BURST + 16]; // tuples
    uint32_t port[BURST];
    uint32_t packet[BURST + 16];
    uint64_t of;  // bit = packet: those that have a lane, in their order
    uint64_t all; // bit = lane
    unsigned n;
};

static uint64_t first(unsigned n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static uint64_t lanes_of(const struct lanes *l, uint64_t packets)
{
    return _pext_u64(packets, l->of);
}

static uint64_t packets_of(const struct lanes *l, uint64_t lanes)
{
    return _pdep_u64(lanes, l->of);
}

INLINE lane_hits group_of(uint64_t lanes, unsigned at)
{
    return (lane_hits)(lanes >> at);
}

// Which of the lanes' keys does the filter have?
INLINE lane_hits filter_has(const struct core *c, lane_vec key, lane_hits m)
{
    const lane_vec low = lane_all(31);
    lane_vec word =
        lane_gather(c->filter, lane_shr(lane_mul(key, CORE_MIX_WORD), c->filter_shift), m);
    lane_vec h = lane_mul(key, CORE_MIX_BITS);
    lane_vec bits =
        lane_or(lane_bit(lane_shr(h, 27)), lane_or(lane_bit(lane_and(lane_shr(h, 22), low)),
                                                   lane_bit(lane_and(lane_shr(h, 17), low))));

    return m & lane_same(lane_but(bits, word));
}

// --- guards and tuples, of both families ---

static void guards_ask(const struct core *c, const struct lanes *l, uint64_t *passed)
{
    for (unsigned g = 0; g < c->n_guards; g++) {
        const uint32_t *digest = l->digest[c->guard[g].side][c->guard[g].level];
        lane_vec salt = lane_all(c->guard[g].salt);

        passed[g] = 0;
        for (unsigned i = 0; i < l->n; i += LANES)
            passed[g] |=
                (uint64_t)filter_has(c, lane_xor(lane_load(digest + i), salt), group_of(l->all, i))
                << i;
    }
}

static void gates_ask(const struct core *c, struct lanes *l, uint32_t in_use)
{
    const lane_vec used = lane_all(in_use);

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec open = used;

        for (unsigned s = 0; s < 2; s++) {
            const struct gate *g = &c->gate[s];

            if (g->level == CORE_NONE)
                continue;
            lane_vec at =
                lane_shr(lane_mul(lane_load(l->digest[s][g->level] + i), CORE_MIX_WORD), g->shift);
            lane_vec word = lane_gather(g->tuples, at, group_of(l->all, i));
            open = lane_and(open,
                            lane_or(word, lane_all(__atomic_load_n(&g->always, __ATOMIC_RELAXED))));
        }
        lane_store(l->open + i, open);
    }
}

static bool has_sides(const struct core *c)
{
    return c->n_guards || __atomic_load_n(&c->sets[CORE_SRC], __ATOMIC_RELAXED) |
                              __atomic_load_n(&c->sets[CORE_DST], __ATOMIC_RELAXED);
}

// Shuts tuples for packets that a guard or a set keeps out.
static void sides_ask(const struct burst *b, const struct core *c, struct lanes *l,
                      unsigned n_tuples, const uint64_t *passed)
{
    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        uint64_t m = UINT64_MAX;

        for (unsigned s = 0; s < 2; s++) {
            if (p->guard[s] != CORE_NONE)
                m &= passed[p->guard[s]];
            if (p->set[s] != CORE_NONE)
                m &= lanes_of(l, b->member[s][p->set[s]]);
        }
        if (!(l->all & ~m))
            continue;
        for (unsigned i = 0; i < l->n; i += LANES) {
            lane_vec open = lane_load(l->open + i);
            lane_store(l->open + i, lane_but_where(open, 1u << t, (lane_hits)~group_of(m, i)));
        }
    }
}

static uint64_t lanes_left(const struct lanes *l)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec open = lane_load(l->open + i);
        any |= (uint64_t)(group_of(l->all, i) & lane_any(open, open)) << i;
    }
    return any;
}

// Of the pairs of key and packet that were listed, those whose key the filter has.
static void filter_ask(struct burst *b, const struct core *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->n_found; i += LANES) {
        lane_vec key = lane_loadu(b->key + i), packet = lane_loadu(b->packet + i);
        lane_hits m = filter_has(c, key, group_of(first(b->n_found - i), 0));
        lane_order o = lane_order_of(m);

        lane_pack(b->key + n, key, o);
        lane_pack(b->packet + n, packet, o);
        n += (unsigned)__builtin_popcount(m);
    }
    b->n_found = n;
}

INLINE void blocks_search(struct burst *b, const struct core *c, const struct search_row *row,
                          uint8_t family)
{
#ifndef __SANITIZE_THREAD__ // which takes a row for one word that nobody else may write
    if (family == ACL_IP4) {
        for (unsigned n = heads_read(b, c); n;)
            n = search4_eights(b, row, c, n);
        return;
    }
#endif
    candidates_search(b, c);
}

// Tuples in the order of their first rules would end packets earlier; the filter leaves so few
// candidates that it does not pay.
INLINE void tuples_ask(struct burst *b, const struct core *c, const struct lanes *l,
                       unsigned n_tuples, uint64_t any, uint8_t family)
{
    struct search_row row[BURST];
    unsigned listed = 0;

    if (family == ACL_IP4)
        search_rows(b, any, row);

    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        const uint32_t *src = l->digest[CORE_SRC][p->level[CORE_SRC]],
                       *dst = l->digest[CORE_DST][p->level[CORE_DST]];
        lane_vec salt = lane_all(p->salt), bit = lane_all(1u << t),
                 port = lane_all(p->port ? UINT32_MAX : 0);

        for (unsigned i = 0; i < l->n; i += LANES) {
            lane_hits m = group_of(l->all, i) & lane_any(lane_load(l->open + i), bit);
            lane_vec key = lane_xor(lane_xor(lane_load(src + i), lane_load(dst + i)),
                                    lane_xor(salt, lane_and(port, lane_load(l->port + i))));
            lane_order o = lane_order_of(m);

            lane_pack(b->key + listed, key, o);
            lane_pack(b->packet + listed, lane_load(l->packet + i), o);
            listed += (unsigned)__builtin_popcount(m);
        }
        if (listed >= FOUND_MAX || t + 1 == n_tuples) {
            b->n_found = listed;
            filter_ask(b, c);
            burst_walk(b);
            blocks_search(b, c, row, family);
            listed = 0;
        }
    }
}

INLINE void lanes_begin(struct lanes *l, unsigned n, uint64_t left)
{
    unsigned at = 0;

    for (unsigned i = 0; i < n; i += LANES) {
        lane_hits m = group_of(left, i);

        lane_pack(l->packet + at, lane_numbers(i), lane_order_of(m));
        at += (unsigned)__builtin_popcount(m);
    }
    l->of = left;
    l->n = at;
    l->all = first(at);
}

// Packs lanes together when that saves vectors.
static bool lanes_pack(struct lanes *l, uint64_t any)
{
    unsigned n = (unsigned)__builtin_popcountll(any), at = 0;

    if ((n + LANES - 1) / LANES == (l->n + LANES - 1) / LANES)
        return false;
    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_hits m = group_of(any, i);
        lane_order o = lane_order_of(m);

        lane_pack(l->packet + at, lane_load(l->packet + i), o);
        lane_pack(l->open + at, lane_load(l->open + i), o);
        at += (unsigned)__builtin_popcount(m);
    }
    l->of = packets_of(l, any);
    l->n = n;
    l->all = first(n);
    return true;
}

INLINE unsigned levels_of(const struct core *c, unsigned side)
{
    return __atomic_load_n(&c->n_levels[side], __ATOMIC_ACQUIRE);
}

// digest_port of all lanes; dport and proto lie side by side. Of those that are not left it means
// nothing.
INLINE void ports_load(const struct core *c, const struct burst *b, struct lanes *l)
{
    const lane_vec secret = lane_all((uint32_t)(c->secret[0][1] >> 32)), both = lane_all(0xffffff);

    for (unsigned k = 0; k < l->n; k++)
        memcpy(&l->port[k], &b->l4[l->packet[k]].dport, sizeof l->port[k]);
    for (unsigned i = 0; i < l->n; i += LANES)
        lane_store(l->port + i,
                   lane_mul(lane_xor(lane_and(lane_load(l->port + i), both), secret), CORE_MIX1));
}

// --- IPv4 ---

#ifdef __AVX512F__

static void part4(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST],
                  struct acl_key_l4 *l4)
{
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i pick =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i low = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11),
                  high = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);

    for (unsigned i = 0; i < n; i += LANES) {
        __m512i row[4], pair[2];

        for (unsigned j = 0; j < 4; j++) {
            unsigned at = i + 4 * j, left = n > at ? 2 * (n - at) : 0;
            row[j] =
                _mm512_maskz_loadu_epi64((__mmask8)(left >= 8 ? 0xff : (1u << left) - 1), key + at);
        }
        for (unsigned j = 0; j < 2; j++)
            pair[j] = _mm512_permutex2var_epi32(row[2 * j], pick, row[2 * j + 1]);
        for (unsigned j = 0; l4 && j < 2; j++)
            _mm512_storeu_si512(l4 + i + 8 * j,
                                _mm512_permutex2var_epi64(row[2 * j], odd, row[2 * j + 1]));
        _mm512_storeu_si512(src + i, _mm512_permutex2var_epi64(pair[0], low, pair[1]));
        _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi64(pair[0], high, pair[1]));
    }
}

#else

static void part4(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST],
                  struct acl_key_l4 *l4)
{
    unsigned i = 0;

    for (; i + 4 <= n; i += 4) {
        __m256i two[2] = {_mm256_loadu_si256((const __m256i *)(key + i)),
                          _mm256_loadu_si256((const __m256i *)(key + i + 2))};
        __m256i addr = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(two[0], two[1]),
                                                0xd8); // src, dst of 0, 1, 2, 3

        addr = _mm256_permute4x64_epi64(_mm256_shuffle_epi32(addr, 0xd8), 0xd8);
        _mm_storeu_si128((__m128i *)(src + i), _mm256_castsi256_si128(addr));
        _mm_storeu_si128((__m128i *)(dst + i), _mm256_extracti128_si256(addr, 1));
        if (l4)
            _mm256_storeu_si256(
                (__m256i *)(l4 + i),
                _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(two[0], two[1]), 0xd8));
    }
    for (; i < n; i++) {
        src[i] = key[i].src_be;
        dst[i] = key[i].dst_be;
        if (l4)
            l4[i] = key[i].l4;
    }
}

#endif

static uint64_t fence4(const uint32_t *bits, const uint32_t *addr_be, unsigned n)
{
    uint64_t in = 0;

    for (unsigned i = 0; i < n; i += LANES) {
        lane_hits m = group_of(first(n), i);
        lane_vec net = lane_shr(lane_swap(lane_load_some(addr_be + i, m)), FENCE_LEN);
        lane_vec word = lane_gather(bits, lane_shr(net, 5), m);

        in |= (uint64_t)(m & lane_any(word, lane_bit(lane_and(net, lane_all(31))))) << i;
    }
    return in;
}

INLINE void load4(const struct burst *b, struct lanes *l)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0, at = 0; i < b->n; i += LANES) {
            lane_hits m = group_of(l->of, i);

            lane_pack(l->addr4[s] + at,
                      lane_swap(lane_load_some(b->addr4[s] + i, group_of(first(b->n), i))),
                      lane_order_of(m));
            at += (unsigned)__builtin_popcount(m);
        }
}

INLINE void cut4(const struct core *c, struct lanes *l, unsigned side, unsigned level)
{
    lane_vec mask = lane_all(mask4(c->len[side][level])),
             secret = lane_all((uint32_t)c->secret[side][0]);

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec x =
            lane_mul(lane_xor(lane_and(lane_load(l->addr4[side] + i), mask), secret), CORE_MIX1);

        lane_store(l->digest[side][level] + i, lane_mul(lane_xor(x, lane_shr(x, 15)), CORE_MIX2));
    }
}

INLINE void pack4(struct lanes *l, unsigned n, uint64_t any)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0, at = 0; i < n; i += LANES) {
            lane_hits m = group_of(any, i);

            lane_pack(l->addr4[s] + at, lane_load(l->addr4[s] + i), lane_order_of(m));
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- IPv6 ---

INLINE void load6(const struct burst *b, struct lanes *l)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < l->n; i++) {
            uint64_t w[2];

            memcpy(w, b->addr6[s][l->packet[i]], sizeof w);
            l->addr6[s][0][i] = __builtin_bswap64(w[0]);
            l->addr6[s][1][i] = __builtin_bswap64(w[1]);
        }
}

INLINE lane_wide cut6_wide(const struct core *c, const struct lanes *l, unsigned side, unsigned len,
                           unsigned i)
{
    lane_wide x = wide_and(wide_load(l->addr6[side][0] + i), wide_all(mask6(len, 0)));
    lane_wide y = wide_and(wide_load(l->addr6[side][1] + i), wide_all(mask6(len, 1)));

    x = wide_mul(wide_xor(x, wide_all(c->secret[side][0])), CORE_MIX6_HIGH);
    x = wide_xor(x, wide_shr(x, 32));
    y = wide_mul(wide_xor(y, wide_all(c->secret[side][1])), CORE_MIX6_LOW);
    x = wide_add(x, y);
    return wide_mul(wide_xor(x, wide_shr(x, 29)), CORE_MIX6_END);
}

INLINE void cut6(const struct core *c, struct lanes *l, unsigned side, unsigned level)
{
    unsigned len = c->len[side][level];

    for (unsigned i = 0; i < l->n; i += LANES / 2)
        wide_store_high(l->digest[side][level] + i, cut6_wide(c, l, side, len, i));
}

INLINE void pack6(struct lanes *l, unsigned n, uint64_t any)
{
    for (unsigned j = 0; j < 4; j++)
        for (unsigned i = 0, at = 0; i < n; i += LANES / 2) {
            lane_hits m = (lane_hits)(any >> i & ((1u << LANES / 2) - 1));
            uint64_t *p = l->addr6[j / 2][j % 2];

            wide_pack(p + at, wide_load(p + i), m);
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- either ---

INLINE void cut(const struct core *c, struct lanes *l, unsigned side, unsigned level,
                uint8_t family)
{
    family == ACL_IP4 ? cut4(c, l, side, level) : cut6(c, l, side, level);
}

INLINE void classify(const struct core *c, struct burst *b, uint8_t family)
{
    unsigned n_tuples = b->n_tuples;
    uint32_t used = tuples_in_use(c, n_tuples);
    uint64_t passed[CORE_GUARDS], any;
    struct lanes l;

    any = family == ACL_IP4 ? b->left & fence_ask(c, b, used, fence4) : b->left;
    burst_walk(b);
    if (!any)
        return;
    lanes_begin(&l, b->n, any);
    family == ACL_IP4 ? load4(b, &l) : load6(b, &l);
    for (unsigned s = 0; s < 2; s++)
        if (c->gate[s].level != CORE_NONE)
            cut(c, &l, s, c->gate[s].level, family);
    for (unsigned g = 0; g < c->n_guards; g++)
        cut(c, &l, c->guard[g].side, c->guard[g].level, family);
    guards_ask(c, &l, passed);
    gates_ask(c, &l, used);
    burst_walk(b);
    if (has_sides(c))
        sides_ask(b, c, &l, n_tuples, passed);
    any = lanes_left(&l);
    if (!any)
        return;
    if (b->shelf) {
        b->left = packets_of(&l, any);
        LANE_KERNEL(shelf)(c, b);
        return;
    }
    l4_read(b, packets_of(&l, any));
    burst_walk(b);
    unsigned n = l.n;
    if (lanes_pack(&l, any))
        family == ACL_IP4 ? pack4(&l, n, any) : pack6(&l, n, any);
    else
        l.all = any;
    if (__atomic_load_n(&c->ports, __ATOMIC_RELAXED))
        ports_load(c, b, &l);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned level = 0; level < levels_of(c, s); level++)
            cut(c, &l, s, level, family);
    tuples_ask(b, c, &l, n_tuples, packets_of(&l, l.all), family);
}

static void rules4(const struct core *c, struct burst *b)
{
    classify(c, b, ACL_IP4);
}

static void rules6(const struct core *c, struct burst *b)
{
    classify(c, b, ACL_IP6);
}

const struct acl_kernel LANE_KERNEL(acl_kernel) = {
    LANE_NAME, part4, rules4, rules6, LANE_KERNEL(few), LANE_KERNEL(shelf)};
