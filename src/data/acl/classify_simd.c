// SPDX-License-Identifier: BSD-3-Clause
// classify_simd.c - rules under tuples in vectors, 16 packets with AVX-512, 8 with AVX2; compiled
// for each (classifier.h)
//
// The net bitmap comes first; packets that pass are packed together for tuple indexes and side
// filters. Packets with tuples left are packed again, and only these are cut to all prefix lengths.
// Then each tuple appends its packets to one list for the whole burst, so that filter, heads and
// blocks are read a vector at a time across packets, and no load waits for another.
#include "acl/keys_simd.h"
#include "acl/search_simd.h"

#define LANES LANE_STEP
#define INLINE LANE_INLINE
#ifdef __AVX512F__
#define LANE_NAME "avx512"
#else
#define LANE_NAME "avx2"
#endif

struct packet_lanes { // packets still in process, one per lane
    _Alignas(64) uint32_t digest[2][LEVELS_MAX][KEY_BURST];
    union { // by side; host order
        _Alignas(64) uint32_t addr4[2][KEY_BURST + 16];
        _Alignas(64) uint64_t addr6[2][2][KEY_BURST + 16]; // [side][half]
    };
    uint32_t open[KEY_BURST + 16]; // bit = tuple
    uint32_t port[KEY_BURST];
    uint32_t packet[KEY_BURST + 16];
    uint64_t of;  // bit = packet that has a lane; lanes keep their order
    uint64_t all; // bit = lane
    unsigned n;
};

static uint64_t lanes_of_packets(const struct packet_lanes *l, uint64_t packets)
{
    return _pext_u64(packets, l->of);
}

static uint64_t packets_of_lanes(const struct packet_lanes *l, uint64_t packet_lanes)
{
    return _pdep_u64(packet_lanes, l->of);
}

INLINE lane_hits lanes_group(uint64_t packet_lanes, unsigned at)
{
    return (lane_hits)(packet_lanes >> at);
}

// Lanes whose key is in the filter.
INLINE lane_hits filter_has_keys(const struct classifier *c, lane_vec key, lane_hits m)
{
    const lane_vec low = lane_all(31);
    lane_vec word =
        lane_gather(c->filter, lane_shr(lane_mul(key, KEY_MIX_WORD), c->filter_shift), m);
    lane_vec h = lane_mul(key, KEY_MIX_BITS);
    lane_vec bits =
        lane_or(lane_bit(lane_shr(h, 27)), lane_or(lane_bit(lane_and(lane_shr(h, 22), low)),
                                                   lane_bit(lane_and(lane_shr(h, 17), low))));

    return m & lane_same(lane_but(bits, word));
}

// --- side filters and tuples, of both families ---

static void side_filters_match(const struct classifier *c, const struct packet_lanes *l,
                               uint64_t *passed)
{
    for (unsigned g = 0; g < c->n_side_filters; g++) {
        const uint32_t *digest = l->digest[c->side_filter[g].side][c->side_filter[g].level];
        lane_vec salt = lane_all(c->side_filter[g].salt);

        passed[g] = 0;
        for (unsigned i = 0; i < l->n; i += LANES)
            passed[g] |= (uint64_t)filter_has_keys(c, lane_xor(lane_load(digest + i), salt),
                                                   lanes_group(l->all, i))
                         << i;
    }
}

static void tuple_index_read(const struct classifier *c, struct packet_lanes *l, uint32_t in_use)
{
    const lane_vec used = lane_all(in_use);

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec open = used;

        for (unsigned s = 0; s < 2; s++) {
            const struct tuple_index *g = &c->tuple_index[s];

            if (g->level == INDEX_NONE)
                continue;
            lane_vec at =
                lane_shr(lane_mul(lane_load(l->digest[s][g->level] + i), KEY_MIX_WORD), g->shift);
            lane_vec word = lane_gather(g->tuples, at, lanes_group(l->all, i));
            open = lane_and(open,
                            lane_or(word, lane_all(__atomic_load_n(&g->always, __ATOMIC_RELAXED))));
        }
        lane_store(l->open + i, open);
    }
}

static bool shuts_tuples(const struct classifier *c)
{
    return c->n_side_filters || __atomic_load_n(&c->sets[SIDE_SRC], __ATOMIC_RELAXED) |
                                    __atomic_load_n(&c->sets[SIDE_DST], __ATOMIC_RELAXED);
}

// Closes tuples for packets that a side filter or a set excludes.
static void tuples_shut(const struct key_burst *b, const struct classifier *c,
                        struct packet_lanes *l, unsigned n_tuples, const uint64_t *passed)
{
    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        uint64_t m = UINT64_MAX;

        for (unsigned s = 0; s < 2; s++) {
            if (p->side_filter[s] != INDEX_NONE)
                m &= passed[p->side_filter[s]];
            if (p->set[s] != INDEX_NONE)
                m &= lanes_of_packets(l, b->member[s][p->set[s]]);
        }
        if (!(l->all & ~m))
            continue;
        for (unsigned i = 0; i < l->n; i += LANES) {
            lane_vec open = lane_load(l->open + i);
            lane_store(l->open + i, lane_but_where(open, 1u << t, (lane_hits)~lanes_group(m, i)));
        }
    }
}

static uint64_t lanes_left(const struct packet_lanes *l)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec open = lane_load(l->open + i);
        any |= (uint64_t)(lanes_group(l->all, i) & lane_any(open, open)) << i;
    }
    return any;
}

// Keeps the pairs of key and packet whose key is in the filter.
static void filter_candidates(struct key_burst *b, const struct classifier *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->n_candidates; i += LANES) {
        lane_vec key = lane_loadu(b->key + i), packet = lane_loadu(b->packet + i);
        lane_hits m = filter_has_keys(c, key, lanes_group(low_bits(b->n_candidates - i), 0));
        lane_order o = lane_order_of(m);

        lane_pack(b->key + n, key, o);
        lane_pack(b->packet + n, packet, o);
        n += (unsigned)__builtin_popcount(m);
    }
    b->n_candidates = n;
}

INLINE void blocks_search(struct key_burst *b, const struct classifier *c,
                          const struct search_row *row, uint8_t family)
{
#ifndef __SANITIZE_THREAD__ // takes a row for one word that nobody else may write
    if (family == ACL_IP4) {
        for (unsigned n = candidates_to_blocks(b, c); n;)
            n = search4_eights(b, row, c, n);
        return;
    }
#endif
    candidates_search(b, c);
}

// Processing tuples in the order of their first rules would finish packets earlier, but the filter
// leaves too few candidates for that to pay.
INLINE void tuples_search(struct key_burst *b, const struct classifier *c,
                          const struct packet_lanes *l, unsigned n_tuples, uint64_t any,
                          uint8_t family)
{
    struct search_row row[KEY_BURST];
    unsigned listed = 0;

    if (family == ACL_IP4)
        search_rows(b, any, row);

    for (unsigned t = 0; t < n_tuples; t++) {
        const struct tuple *p = &c->tuple[t];
        const uint32_t *src = l->digest[SIDE_SRC][p->level[SIDE_SRC]],
                       *dst = l->digest[SIDE_DST][p->level[SIDE_DST]];
        lane_vec salt = lane_all(p->salt), bit = lane_all(1u << t),
                 port = lane_all(p->port ? UINT32_MAX : 0);

        for (unsigned i = 0; i < l->n; i += LANES) {
            lane_hits m = lanes_group(l->all, i) & lane_any(lane_load(l->open + i), bit);
            lane_vec key = lane_xor(lane_xor(lane_load(src + i), lane_load(dst + i)),
                                    lane_xor(salt, lane_and(port, lane_load(l->port + i))));
            lane_order o = lane_order_of(m);

            lane_pack(b->key + listed, key, o);
            lane_pack(b->packet + listed, lane_load(l->packet + i), o);
            listed += (unsigned)__builtin_popcount(m);
        }
        if (listed >= CANDIDATES_MAX || t + 1 == n_tuples) {
            b->n_candidates = listed;
            filter_candidates(b, c);
            key_burst_walk(b);
            blocks_search(b, c, row, family);
            listed = 0;
        }
    }
}

INLINE void lanes_begin(struct packet_lanes *l, unsigned n, uint64_t left)
{
    unsigned at = 0;

    for (unsigned i = 0; i < n; i += LANES) {
        lane_hits m = lanes_group(left, i);

        lane_pack(l->packet + at, lane_numbers(i), lane_order_of(m));
        at += (unsigned)__builtin_popcount(m);
    }
    l->of = left;
    l->n = at;
    l->all = low_bits(at);
}

// Packs lanes together if that saves vectors.
static bool lanes_pack(struct packet_lanes *l, uint64_t any)
{
    unsigned n = (unsigned)__builtin_popcountll(any), at = 0;

    if ((n + LANES - 1) / LANES == (l->n + LANES - 1) / LANES)
        return false;
    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_hits m = lanes_group(any, i);
        lane_order o = lane_order_of(m);

        lane_pack(l->packet + at, lane_load(l->packet + i), o);
        lane_pack(l->open + at, lane_load(l->open + i), o);
        at += (unsigned)__builtin_popcount(m);
    }
    l->of = packets_of_lanes(l, any);
    l->n = n;
    l->all = low_bits(n);
    return true;
}

INLINE unsigned levels_of(const struct classifier *c, unsigned side)
{
    return __atomic_load_n(&c->n_levels[side], __ATOMIC_ACQUIRE);
}

// Computes digest_port of all lanes; dport and proto are adjacent. Undefined for packets that are
// done.
INLINE void ports_load(const struct classifier *c, const struct key_burst *b,
                       struct packet_lanes *l)
{
    const lane_vec secret = lane_all((uint32_t)(c->secret[0][1] >> 32)), both = lane_all(0xffffff);

    for (unsigned k = 0; k < l->n; k++)
        memcpy(&l->port[k], &b->l4[l->packet[k]].dport, sizeof l->port[k]);
    for (unsigned i = 0; i < l->n; i += LANES)
        lane_store(l->port + i,
                   lane_mul(lane_xor(lane_and(lane_load(l->port + i), both), secret), KEY_MIX1));
}

// --- IPv4 ---

#ifdef __AVX512F__

static void keys_split4(const struct acl_key4 *key, unsigned n, uint32_t src[KEY_BURST],
                        uint32_t dst[KEY_BURST], struct acl_key_l4 *l4)
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

static void keys_split4(const struct acl_key4 *key, unsigned n, uint32_t src[KEY_BURST],
                        uint32_t dst[KEY_BURST], struct acl_key_l4 *l4)
{
    unsigned i = 0;

    for (; i + 4 <= n; i += 4) {
        __m256i two[2] = {_mm256_loadu_si256((const __m256i *)(key + i)),
                          _mm256_loadu_si256((const __m256i *)(key + i + 2))};
        // src, dst of 0, 1, 2, 3
        __m256i addr = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(two[0], two[1]), 0xd8);

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

static uint64_t bitmap_side_simd(const uint32_t *bits, const uint32_t *addr_be, unsigned n)
{
    uint64_t in = 0;

    for (unsigned i = 0; i < n; i += LANES) {
        lane_hits m = lanes_group(low_bits(n), i);
        lane_vec net = lane_shr(lane_swap(lane_load_some(addr_be + i, m)), BITMAP_LEN);
        lane_vec word = lane_gather(bits, lane_shr(net, 5), m);

        in |= (uint64_t)(m & lane_any(word, lane_bit(lane_and(net, lane_all(31))))) << i;
    }
    return in;
}

INLINE void addresses_load4(const struct key_burst *b, struct packet_lanes *l)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0, at = 0; i < b->n; i += LANES) {
            lane_hits m = lanes_group(l->of, i);

            lane_pack(l->addr4[s] + at,
                      lane_swap(lane_load_some(b->addr4[s] + i, lanes_group(low_bits(b->n), i))),
                      lane_order_of(m));
            at += (unsigned)__builtin_popcount(m);
        }
}

INLINE void digests_cut4(const struct classifier *c, struct packet_lanes *l, unsigned side,
                         unsigned level)
{
    lane_vec mask = lane_all(mask4(c->len[side][level])),
             secret = lane_all((uint32_t)c->secret[side][0]);

    for (unsigned i = 0; i < l->n; i += LANES) {
        lane_vec x =
            lane_mul(lane_xor(lane_and(lane_load(l->addr4[side] + i), mask), secret), KEY_MIX1);

        lane_store(l->digest[side][level] + i, lane_mul(lane_xor(x, lane_shr(x, 15)), KEY_MIX2));
    }
}

INLINE void addresses_pack4(struct packet_lanes *l, unsigned n, uint64_t any)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0, at = 0; i < n; i += LANES) {
            lane_hits m = lanes_group(any, i);

            lane_pack(l->addr4[s] + at, lane_load(l->addr4[s] + i), lane_order_of(m));
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- IPv6 ---

INLINE void addresses_load6(const struct key_burst *b, struct packet_lanes *l)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < l->n; i++) {
            uint64_t w[2];

            memcpy(w, b->addr6[s][l->packet[i]], sizeof w);
            l->addr6[s][0][i] = __builtin_bswap64(w[0]);
            l->addr6[s][1][i] = __builtin_bswap64(w[1]);
        }
}

INLINE lane_wide cut6_wide(const struct classifier *c, const struct packet_lanes *l, unsigned side,
                           unsigned len, unsigned i)
{
    lane_wide x = lane_and(lane_loadu(l->addr6[side][0] + i), wide_all(mask6(len, 0)));
    lane_wide y = lane_and(lane_loadu(l->addr6[side][1] + i), wide_all(mask6(len, 1)));

    x = wide_mul(lane_xor(x, wide_all(c->secret[side][0])), KEY_MIX6_HIGH);
    x = lane_xor(x, wide_shr(x, 32));
    y = wide_mul(lane_xor(y, wide_all(c->secret[side][1])), KEY_MIX6_LOW);
    x = wide_add(x, y);
    return wide_mul(lane_xor(x, wide_shr(x, 29)), KEY_MIX6_END);
}

INLINE void digests_cut6(const struct classifier *c, struct packet_lanes *l, unsigned side,
                         unsigned level)
{
    unsigned len = c->len[side][level];

    for (unsigned i = 0; i < l->n; i += LANES / 2)
        wide_store_high(l->digest[side][level] + i, cut6_wide(c, l, side, len, i));
}

INLINE void addresses_pack6(struct packet_lanes *l, unsigned n, uint64_t any)
{
    for (unsigned j = 0; j < 4; j++)
        for (unsigned i = 0, at = 0; i < n; i += LANES / 2) {
            lane_hits m = (lane_hits)(any >> i & ((1u << LANES / 2) - 1));
            uint64_t *p = l->addr6[j / 2][j % 2];

            wide_pack(p + at, lane_loadu(p + i), m);
            at += (unsigned)__builtin_popcount(m);
        }
}

// --- either ---

INLINE void digests_cut(const struct classifier *c, struct packet_lanes *l, unsigned side,
                        unsigned level, uint8_t family)
{
    family == ACL_IP4 ? digests_cut4(c, l, side, level) : digests_cut6(c, l, side, level);
}

INLINE void classify_family(const struct classifier *c, struct key_burst *b, uint8_t family)
{
    unsigned n_tuples = b->n_tuples;
    uint32_t used = tuples_in_use(c, n_tuples);
    uint64_t passed[SIDE_FILTERS_MAX], any;
    struct packet_lanes l;

    any = family == ACL_IP4 ? b->left & bitmap_match(c, b, used, bitmap_side_simd) : b->left;
    key_burst_walk(b);
    if (!any)
        return;
    lanes_begin(&l, b->n, any);
    family == ACL_IP4 ? addresses_load4(b, &l) : addresses_load6(b, &l);
    for (unsigned s = 0; s < 2; s++)
        if (c->tuple_index[s].level != INDEX_NONE)
            digests_cut(c, &l, s, c->tuple_index[s].level, family);
    for (unsigned g = 0; g < c->n_side_filters; g++)
        digests_cut(c, &l, c->side_filter[g].side, c->side_filter[g].level, family);
    side_filters_match(c, &l, passed);
    tuple_index_read(c, &l, used);
    key_burst_walk(b);
    if (shuts_tuples(c))
        tuples_shut(b, c, &l, n_tuples, passed);
    any = lanes_left(&l);
    if (!any)
        return;
    if (b->lanes) {
        b->left = packets_of_lanes(&l, any);
        LANE_KERNEL(lane_rules_near)(c, b);
        return;
    }
    key_burst_read_l4(b, packets_of_lanes(&l, any));
    key_burst_walk(b);
    unsigned n = l.n;
    if (lanes_pack(&l, any))
        family == ACL_IP4 ? addresses_pack4(&l, n, any) : addresses_pack6(&l, n, any);
    else
        l.all = any;
    if (__atomic_load_n(&c->ports, __ATOMIC_RELAXED))
        ports_load(c, b, &l);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned level = 0; level < levels_of(c, s); level++)
            digests_cut(c, &l, s, level, family);
    tuples_search(b, c, &l, n_tuples, packets_of_lanes(&l, l.all), family);
}

static void classify_simd4(const struct classifier *c, struct key_burst *b)
{
    classify_family(c, b, ACL_IP4);
}

static void classify_simd6(const struct classifier *c, struct key_burst *b)
{
    classify_family(c, b, ACL_IP6);
}

const struct acl_kernel LANE_KERNEL(acl_kernel) = {LANE_NAME,
                                                   keys_split4,
                                                   classify_simd4,
                                                   classify_simd6,
                                                   LANE_KERNEL(lane_rules_all),
                                                   LANE_KERNEL(lane_rules_near)};
