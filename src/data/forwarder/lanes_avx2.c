// SPDX-License-Identifier: BSD-3-Clause
// lanes_avx2.c - eight packets at a time, with 32 bits of each in a register
//
// Like lanes_avx512.c, with substitutes for features that AVX2 lacks. Words come by loads and
// shuffles (lanes_columns.h); a condition is a lane that is zero if it holds, and all conditions of
// a packet are ORed into one; plain packets are compacted by a small table. Lanes after the last
// packet repeat the first one and are masked out. Compiled with its own flags; lanes_by_name()
// checks the CPU.
#include "forwarder/lanes_priv.h"

#include "forwarder/lanes_columns.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

#define GREATER(a, b) _mm256_cmpgt_epi32(a, b) // signed

// The low 16 bits of each lane, in pack's order: four of a, four of b, four of a, four of b.
INLINE __m256i pack_words(__m256i a, __m256i b)
{
    return _mm256_packus_epi32(_mm256_and_si256(a, ALL(0xffff)), _mm256_and_si256(b, ALL(0xffff)));
}

// Reorders the result of pack_words(): eight of a, eight of b.
INLINE __m256i packs_in_order(__m256i packed)
{
    return _mm256_permute4x64_epi64(packed, 0xd8);
}

INLINE void store_halves(uint16_t *a, uint16_t *b, __m256i ordered)
{
    _mm_storeu_si128((__m128i *)a, _mm256_castsi256_si128(ordered));
    _mm_storeu_si128((__m128i *)b, _mm256_extracti128_si256(ordered, 1));
}

INLINE __m256i load_words(const uint16_t *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}

// Bytes k and k + 1 of each lane as a number in network order.
INLINE __m256i be16_at(__m256i v, int k)
{
    const int one = (int)(0x80800000 | (unsigned)k << 8 | (unsigned)(k + 1));

    return _mm256_shuffle_epi8(v, _mm256_setr_epi32(one, one + 0x0404, one + 0x0808, one + 0x0c0c,
                                                    one, one + 0x0404, one + 0x0808, one + 0x0c0c));
}

// Nonzero if one of two addresses fails is_unicast of lanes.c. Their first octets decide: both in
// one register, as 16-bit lanes.
INLINE __m256i not_unicast(__m256i a, __m256i b)
{
    __m256i two = _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xaa),
            octet = _mm256_and_si256(two, _mm256_set1_epi16(0xff));
    __m256i low = _mm256_cmpeq_epi16(octet, _mm256_setzero_si256()),
            high = _mm256_cmpgt_epi16(octet, _mm256_set1_epi16(223));
    __m256i loop = _mm256_cmpeq_epi16(octet, _mm256_set1_epi16(127)),
            link = _mm256_cmpeq_epi16(two, _mm256_set1_epi16((short)LANES_LINK_LOCAL4));

    return _mm256_or_si256(_mm256_or_si256(low, high), _mm256_or_si256(loop, link));
}

// Adds the two 16-bit words of each lane to `sum`.
INLINE __m256i add_words(__m256i sum, __m256i v)
{
    return _mm256_add_epi32(
        sum, _mm256_add_epi32(_mm256_and_si256(v, ALL(0xffff)), _mm256_srli_epi32(v, 16)));
}

INLINE __m256i fold_sum(__m256i sum)
{
    return add_words(_mm256_setzero_si256(), sum);
}

// Finds the interface of each lane by its tags.
INLINE void iface_ids(const struct port *port, enum tag tag, const uint8_t *const *frame,
                      __m256i tci, uint32_t id[8])
{
    if (tag == DOUBLE || tag == DOUBLE_STRIPPED) {
        _mm256_storeu_si256((__m256i *)id, tci);
        for (unsigned j = 0; j < 8; j++) {
            uint64_t word;
            __builtin_memcpy(&word, frame[j] + 12, 8);
            id[j] = lanes_pair(port, tag, word, (uint16_t)id[j]);
        }
        return;
    }
    _mm256_storeu_si256((__m256i *)id, _mm256_and_si256(tci, ALL(0xfff)));
    for (unsigned j = 0; j < 8; j++)
        id[j] = port->vlan_iface[id[j]];
}

// Check (a): nonzero if the frame is not for its interface. Also returns the interface and its
// first word. `tci`: of the mbuf.
INLINE __m256i not_for_us(const struct port *port, enum tag tag, const uint8_t *const *frame,
                          __m256i tci, __m256i *iface, __m256i own[2])
{
    __m256i mac[2], bad = _mm256_setzero_si256();

    two_columns(frame, 0, mac);
    if (tag == UNTAGGED) {
        uint32_t word[2];
        __builtin_memcpy(word, iface_get(port->untagged), 8);
        *iface = ALL(port->untagged);
        own[0] = ALL(word[0]);
        own[1] = ALL(word[1]);
    } else {
        const void *at[8];
        uint32_t id[8];
        if (tag == TAGGED) {
            __m256i word[2];
            two_columns(frame, 12, word);
            bad = _mm256_xor_si256(_mm256_and_si256(word[0], ALL(0xffff)), ALL(LANES_TAG));
            tci = be16_at(word[0], 2);
        }
        iface_ids(port, tag, frame, tci, id);
        for (unsigned j = 0; j < 8; j++)
            at[j] = iface_get((uint16_t)id[j]);
        two_columns(at, 0, own);
        *iface = _mm256_loadu_si256((const __m256i *)id);
    }
    // the first word has flags, virtual router and the MAC's first two bytes; the second the rest
    // of the MAC
    __m256i first = _mm256_srli_epi32(_mm256_xor_si256(own[0], _mm256_slli_epi32(mac[0], 16)), 16);
    __m256i rest = _mm256_xor_si256(
        own[1], _mm256_or_si256(_mm256_srli_epi32(mac[0], 16), _mm256_slli_epi32(mac[1], 16)));
    __m256i down = _mm256_andnot_si256(own[0], ALL(IFACE_UP));
    return _mm256_or_si256(_mm256_or_si256(bad, down), _mm256_or_si256(first, rest));
}

struct packets { // appended by append_plain(), besides pointers
    __m256i iface, vr, len, size, hop, dst;
};

// Compacts four lanes by their mask: qwords of a register, dwords and words of half of one.
struct closing {
    uint32_t qword[8];
    uint8_t dword[16], word[16];
} __attribute__((aligned(64)));
#define FIRST(m) ((m) & 1 ? 0 : (m) & 2 ? 1 : (m) & 4 ? 2 : 3)
#define REST(m) ((m) & ((m) - 1))
#define NTH(m, n)                                                                                  \
    ((n) == 0 ? FIRST(m) : (n) == 1 ? FIRST(REST(m)) : (n) == 2 ? FIRST(REST(REST(m))) : 3)
#define TWO(at) (at), (at) + 1
#define TWOS(m, from)                                                                              \
    TWO(from + 2 * NTH(m, 0)), TWO(from + 2 * NTH(m, 1)), TWO(from + 2 * NTH(m, 2)),               \
        TWO(from + 2 * NTH(m, 3))
#define FOUR(at) (at), (at) + 1, (at) + 2, (at) + 3
#define CLOSING(m)                                                                                 \
    {                                                                                              \
        {TWOS(m, 0)},                                                                              \
            {FOUR(4 * NTH(m, 0)), FOUR(4 * NTH(m, 1)), FOUR(4 * NTH(m, 2)), FOUR(4 * NTH(m, 3))},  \
        {                                                                                          \
            TWOS(m, 0), TWOS(m, 8)                                                                 \
        }                                                                                          \
    }
static const struct closing closing[16] = {CLOSING(0),  CLOSING(1),  CLOSING(2),  CLOSING(3),
                                           CLOSING(4),  CLOSING(5),  CLOSING(6),  CLOSING(7),
                                           CLOSING(8),  CLOSING(9),  CLOSING(10), CLOSING(11),
                                           CLOSING(12), CLOSING(13), CLOSING(14), CLOSING(15)};

INLINE void store_pointers(void *to, const void *from, __m256i closed, __m256i more)
{
    __m256i v = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from), closed);

    _mm256_storeu_si256(to, _mm256_add_epi64(v, more));
}

// Appends the lanes of mask k out of four, `half` 0 or 1 of eight, at index `at` of b. mbuf and
// frame: pointers of these four.
INLINE void append_some(struct burst *b, unsigned at, unsigned k, struct rte_mbuf *const *mbuf,
                        uint8_t *const *frame, __m256i l2, __m128i iface_vr, __m128i len_size,
                        __m128i hop, __m128i dst, uint8_t family)
{
    const struct closing *c = &closing[k];
    __m256i qword = _mm256_load_si256((const __m256i *)c->qword);
    __m128i dword = _mm_load_si128((const __m128i *)c->dword),
            word = _mm_load_si128((const __m128i *)c->word);

    store_pointers(b->pkt + at, mbuf, qword, _mm256_setzero_si256());
    store_pointers(b->ip + at, frame, qword, l2);
    iface_vr = _mm_shuffle_epi8(iface_vr, word);
    len_size = _mm_shuffle_epi8(len_size, word);
    _mm_storel_epi64((__m128i *)(b->iface + at), iface_vr);
    _mm_storel_epi64((__m128i *)(b->vr + at), _mm_unpackhi_epi64(iface_vr, iface_vr));
    _mm_storel_epi64((__m128i *)(b->len + at), len_size);
    _mm_storel_epi64((__m128i *)(b->size + at), _mm_unpackhi_epi64(len_size, len_size));
    _mm_storeu_si128((__m128i *)(b->hop + at), _mm_shuffle_epi8(hop, dword));
    if (family == IP4)
        _mm_storeu_si128((__m128i *)(b->dst4 + at), _mm_shuffle_epi8(dst, dword));
}

// Compacts the lanes of mask k and appends them at index `at` of b.
INLINE void append_packets(struct burst *b, unsigned at, unsigned k, struct rte_mbuf *const *mbuf,
                   uint8_t *const *frame, unsigned l2, const struct packets *p, uint8_t family)
{
    __m256i len_size = pack_words(p->len, p->size), iface_vr = pack_words(p->iface, p->vr),
            more = _mm256_set1_epi64x(l2);

    if (k != 0xff) {
        append_some(b, at, k & 15, mbuf, frame, more, _mm256_castsi256_si128(iface_vr),
                    _mm256_castsi256_si128(len_size), _mm256_castsi256_si128(p->hop),
                    _mm256_castsi256_si128(p->dst), family);
        at += (unsigned)__builtin_popcount(k & 15);
        append_some(b, at, k >> 4, mbuf + 4, frame + 4, more, _mm256_extracti128_si256(iface_vr, 1),
                    _mm256_extracti128_si256(len_size, 1), _mm256_extracti128_si256(p->hop, 1),
                    _mm256_extracti128_si256(p->dst, 1), family);
        return;
    }
    for (unsigned j = 0; j < 8; j += 4) {
        _mm256_storeu_si256((__m256i *)(b->pkt + at + j),
                            _mm256_loadu_si256((const __m256i *)(mbuf + j)));
        _mm256_storeu_si256(
            (__m256i *)(b->ip + at + j),
            _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(frame + j)), more));
    }
    store_halves(b->iface + at, b->vr + at, packs_in_order(iface_vr));
    store_halves(b->len + at, b->size + at, packs_in_order(len_size));
    _mm256_storeu_si256((__m256i *)(b->hop + at), p->hop);
    if (family == IP4)
        _mm256_storeu_si256((__m256i *)(b->dst4 + at), p->dst);
}

// Faults in the headers of eight packets, 0 = none; numbers as in lanes.c. c: the 16 bytes from two
// before the EtherType on; tail: 8 later bytes; mask: what counts of EtherType and version.
INLINE __m256i not_plain4(struct packets *p, const __m256i c[4], const __m256i tail[2],
                          __m256i flags, uint32_t mask)
{
    __m256i type =
        _mm256_blend_epi16(_mm256_srli_epi32(c[0], 16), _mm256_slli_epi32(c[1], 16), 0xaa);
    __m256i summed = _mm256_cmpeq_epi32(_mm256_and_si256(flags, ALL(LANES_CKSUM)),
                                        ALL(RTE_MBUF_F_RX_IP_CKSUM_GOOD)),
            bad;

    p->len = be16_at(c[1], 2);
    p->hop = c[3];
    p->dst = tail[1];
    bad = _mm256_xor_si256(_mm256_and_si256(type, ALL(0xffffff & mask)),
                           ALL(LANES_IP4 & mask));                                 // (3) (4)
    bad = _mm256_or_si256(bad, GREATER(ALL(IP4_HDR), p->len));                     // (5) (1)
    bad = _mm256_or_si256(bad, not_unicast(tail[0], tail[1]));                     // (7)
    if (_mm256_movemask_epi8(summed) != -1) { // (2), unless the port has checked it
        __m256i sum =
            add_words(add_words(add_words(_mm256_setzero_si256(), c[1]), c[2]), c[3]);
        sum = fold_sum(fold_sum(add_words(add_words(sum, tail[0]), tail[1])));
        bad = _mm256_or_si256(bad, _mm256_andnot_si256(summed, _mm256_xor_si256(sum, ALL(0xffff))));
    }
    return bad;
}

INLINE __m256i not_plain6(struct packets *p, const __m256i c[4], const __m256i tail[2],
                          uint32_t mask)
{
    __m256i type =
        _mm256_blend_epi16(_mm256_srli_epi32(c[0], 16), _mm256_slli_epi32(c[1], 16), 0xaa);
    __m256i payload = be16_at(c[2], 0), bad;
    // the first octets of source and destination
    __m256i octets = _mm256_and_si256(
        _mm256_blend_epi16(c[3], _mm256_slli_epi32(tail[0], 16), 0xaa), ALL(0x00ff00ff));

    p->len = _mm256_add_epi32(payload, ALL(IP6_HDR));
    p->hop = c[2];
    p->dst = tail[0]; // not stored: too wide
    bad = _mm256_xor_si256(_mm256_and_si256(type, ALL(0xf0ffff & mask)),
                           ALL(LANES_IP6 & mask)); // (8)
    // (9), and the length has 16 bits
    bad = _mm256_or_si256(
        bad, GREATER(_mm256_add_epi32(payload, ALL(-1)), ALL(UINT16_MAX - IP6_HDR - 1)));
    bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(payload, _mm256_setzero_si256()));
    bad = _mm256_or_si256(bad, _mm256_cmpeq_epi16(octets, _mm256_setzero_si256())); // (10)
    return _mm256_or_si256(bad, _mm256_cmpgt_epi16(octets, _mm256_set1_epi16(0xfd)));
}

// Faults of eight frames with labels.
INLINE __m256i not_labels(struct packets *p, const __m256i c[4], __m256i all, __m256i first,
                          unsigned l2)
{
    __m256i bad = _mm256_xor_si256(_mm256_srli_epi32(c[0], 16), ALL(LANES_LABELS));

    p->len = _mm256_sub_epi32(all, ALL(l2));
    p->hop = c[1];
    p->dst = all; // not stored
    bad = _mm256_or_si256(bad, _mm256_xor_si256(all, first));
    return _mm256_or_si256(bad, GREATER(ALL(l2 + LABEL_HDR), first));
}

// Of plain packets: bits of the first halves of their interfaces' first words that are set in any,
// and clear in any; their lengths. `chained` is nonzero for frames with more than one segment.
struct totals {
    __m256i any, none, bytes, chained;
};

// Checks the frames of mask `live` among eight. Returns the plain ones, in p.
INLINE unsigned check_eight(__m256i live, struct rte_mbuf *const *mbuf, uint8_t *const *frame,
                            const struct port *port, enum tag tag, uint8_t family,
                            struct packets *p, struct totals *t)
{
    const unsigned l2 = lanes_l2(tag);
    __m256i c[4], tail[2], flag[2], sizes[2], own[2], bad;

    four_columns(frame, l2 - 4, c);
    two_columns(frame, family == IP4 ? l2 + 12 : l2 + 24, tail);
    // The first word has all requested flags.
    two_columns(mbuf, offsetof(struct rte_mbuf, ol_flags), flag);
    two_columns(mbuf, offsetof(struct rte_mbuf, pkt_len), sizes);
    __m256i all = sizes[0], first = _mm256_and_si256(sizes[1], ALL(0xffff));
    bad = not_for_us(port, tag, (const uint8_t *const *)frame, _mm256_srli_epi32(sizes[1], 16),
                     &p->iface, own);
    p->vr = _mm256_and_si256(_mm256_srli_epi32(own[0], LANES_FLAGS), ALL(LANES_VR));
    bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_and_si256(flag[0], ALL(LANES_STRIPPED)),
                                                ALL(lanes_stripped(tag))));
    bad = _mm256_or_si256(bad, GREATER(_mm256_min_epu32(all, ALL(HEADERS_MAX)), first)); // (b)
    t->chained = _mm256_or_si256(t->chained, _mm256_xor_si256(first, all));
    bad = _mm256_or_si256(bad, family == LABELS ? not_labels(p, c, all, first, l2)
                               : family == IP4  ? not_plain4(p, c, tail, flag[0], UINT32_MAX)
                                                : not_plain6(p, c, tail, UINT32_MAX));
    p->size = all;
    __m256i needed = _mm256_add_epi32(p->len, ALL(l2));
    bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_min_epu32(needed, all), needed)); // (6) (9)
    __m256i good = _mm256_and_si256(live, _mm256_cmpeq_epi32(bad, _mm256_setzero_si256()));
    t->any = _mm256_or_si256(t->any, _mm256_and_si256(good, own[0]));
    t->none = _mm256_or_si256(t->none, _mm256_andnot_si256(own[0], good));
    t->bytes = _mm256_add_epi32(t->bytes, _mm256_and_si256(good, all));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(good));
}

INLINE uint32_t or_lanes(__m256i v)
{
    __m128i half = _mm_or_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    half = _mm_or_si128(half, _mm_srli_si128(half, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_or_si128(half, _mm_srli_si128(half, 4)));
}

INLINE uint32_t sum_lanes(__m256i v) // sum of all lanes
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    half = _mm_add_epi32(half, _mm_srli_si128(half, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(half, _mm_srli_si128(half, 4)));
}

INLINE void totals_add(struct burst *b, const struct totals *t)
{
    uint32_t any = or_lanes(t->any), none = or_lanes(t->none);

    b->features |= any & IFACE_FEATURES;
    b->mixed |= (uint16_t)any >> LANES_FLAGS != b->vr[0] ||
                (uint16_t)~none >> LANES_FLAGS != b->vr[0];
    b->bytes += sum_lanes(t->bytes);
}

INLINE uint64_t append_plain(const struct arrivals *a, const struct port *port, enum tag tag,
                      struct burst *b, uint8_t family)
{
    const unsigned n = a->n, whole = n & ~7u;
    struct totals t = {0};
    struct packets p;
    unsigned at = b->n;
    uint64_t odd = 0;

    for (unsigned i = 0; i < whole; i += 8) {
        unsigned k = check_eight(ALL(-1), a->pkt + i, a->frame + i, port, tag, family, &p, &t);
        append_packets(b, at, k, a->pkt + i, a->frame + i, lanes_l2(tag), &p, family);
        at += (unsigned)__builtin_popcount(k);
        odd |= (uint64_t)(k ^ 0xff) << i;
    }
    if (n > whole) {
        struct rte_mbuf *mbuf[8];
        uint8_t *frame[8];
        for (unsigned j = 0; j < 8; j++) {
            mbuf[j] = a->pkt[whole + (j < n - whole ? j : 0)];
            frame[j] = a->frame[whole + (j < n - whole ? j : 0)];
        }
        __m256i live =
            _mm256_cmpgt_epi32(ALL(n - whole), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        unsigned k = check_eight(live, mbuf, frame, port, tag, family, &p, &t);
        append_packets(b, at, k, mbuf, frame, lanes_l2(tag), &p, family);
        at += (unsigned)__builtin_popcount(k);
        odd |= (uint64_t)(k ^ ((1u << (n - whole)) - 1)) << whole;
    }
    for (unsigned j = b->n; family == IP6 && j < at; j++)
        __builtin_memcpy(b->dst6[j], b->ip[j] + 24, 16);
    b->chained |= !_mm256_testz_si256(t.chained, t.chained);
    if (at > b->n)
        totals_add(b, &t);
    b->n = at;
    return odd;
}

// The packets of mask `live` among eight which are plain behind their first label, in p.
INLINE unsigned check_below(unsigned live, uint8_t *const *ip, const struct burst *from, unsigned i,
                            uint8_t family, struct packets *p)
{
    __m256i c[4], tail[2], bad;

    four_columns(ip, 0, c);
    two_columns(ip, LABEL_HDR + (family == IP4 ? 12 : 24), tail);
    bad = family == IP4 ? not_plain4(p, c, tail, _mm256_setzero_si256(), 0xff0000)
                        : not_plain6(p, c, tail, 0xff0000);
    p->iface = load_words(from->iface + i);
    p->vr = p->iface; // the caller knows it
    p->size = load_words(from->size + i);
    __m256i needed = _mm256_add_epi32(p->len, ALL(LABEL_HDR));
    bad = _mm256_or_si256(bad, GREATER(needed, load_words(from->len + i))); // (6) (9)
    __m256i good = _mm256_cmpeq_epi32(bad, _mm256_setzero_si256());
    return live & (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(good));
}

INLINE uint64_t append_below(const struct burst *from, uint64_t of, struct burst *to,
                             uint8_t family)
{
    unsigned at = to->n;
    uint64_t good = 0;

    for (unsigned i = 0; i < from->n; i += 8) {
        struct rte_mbuf *mbuf[8], *const *m = from->pkt + i;
        uint8_t *ip[8], *const *top = from->ip + i;
        struct packets p;
        if (i + 8 > from->n) { // unused lanes repeat the first packet
            for (unsigned j = 0; j < 8; j++) {
                mbuf[j] = from->pkt[i + j < from->n ? i + j : i];
                ip[j] = from->ip[i + j < from->n ? i + j : i];
            }
            m = mbuf;
            top = ip;
        }
        unsigned k = check_below((unsigned)(of >> i) & 0xff, top, from, i, family, &p);
        append_packets(to, at, k, m, top, LABEL_HDR, &p, family);
        at += (unsigned)__builtin_popcount(k);
        good |= (uint64_t)k << i;
    }
    for (unsigned j = to->n; family == IP6 && j < at; j++)
        __builtin_memcpy(to->dst6[j], to->ip[j] + 24, 16);
    to->n = at;
    return good;
}

// Like hop_lowered in lanes.c.
INLINE __m256i hop_lowered(__m256i hop, uint8_t family)
{
    if (family == IP6)
        return _mm256_sub_epi32(hop, ALL(1u << 24));
    __m256i sum = _mm256_add_epi32(_mm256_srli_epi32(hop, 16), ALL(1));
    sum = _mm256_sub_epi32(sum, _mm256_cmpgt_epi32(sum, ALL(0xfffe)));
    return _mm256_or_si256(_mm256_sub_epi32(_mm256_and_si256(hop, ALL(0xffff)), ALL(1)),
                           _mm256_slli_epi32(sum, 16));
}

// Loads and stores the words of eight next-hop ids, and returns them as two columns.
INLINE void nexthop_words(const uint32_t *id, uint64_t *word, __m256i c[2])
{
    const char *at[8];

    for (unsigned j = 0; j < 8; j++)
        at[j] = (const char *)&nexthop_table[id[j]];
    __m256i a = load_four(at, 0), b = load_four(at + 2, 0);
    _mm256_storeu_si256((__m256i *)word, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)(word + 4), _mm256_permute2x128_si256(a, b, 0x31));
    c[0] = first_column(a, b);
    c[1] = second_column(a, b);
}

// Returns a bit for each lane, by its number; none for 64.
INLINE __m256i bit_of_lane(__m256i number)
{
    const __m256i one = _mm256_set1_epi64x(1);

    return _mm256_or_si256(
        _mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(number))),
        _mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(number, 1))));
}

INLINE uint64_t or_longs(__m256i v)
{
    __m128i half = _mm_or_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    return (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(half, _mm_srli_si128(half, 8)));
}

INLINE void store_addresses(const uint8_t **p, const uint8_t *from, __m256i offset)
{
    const __m256i base = _mm256_set1_epi64x((long long)(uintptr_t)from);

    _mm256_storeu_si256((__m256i *)p, _mm256_add_epi64(base, _mm256_cvtepu32_epi64(
                                                                 _mm256_castsi256_si128(offset))));
    _mm256_storeu_si256(
        (__m256i *)(p + 4),
        _mm256_add_epi64(base, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(offset, 1))));
}

INLINE uint64_t apply_nexthops_of(struct burst *b, bool lower, uint8_t family)
{
    const unsigned n = b->n;
    const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const uint8_t *const rewrites = (const uint8_t *)nexthop_table + NEXTHOP_REWRITE;
    __m256i moved = _mm256_setzero_si256(), resized = _mm256_setzero_si256(),
            ports = _mm256_setzero_si256();
    uint64_t good = 0;

    for (unsigned i = n; i % 8; i++) // unused lanes
        b->nh[i] = 0;
    // Loads are done in order here: each word is read whole, before the rewrite that it names (N3).
    for (unsigned i = 0; i < n; i += 8) {
        __m256i live = _mm256_cmpgt_epi32(ALL(n - i), place), word[2];
        nexthop_words(b->nh + i, b->word + i, word);
        __m256i len = load_words(b->len + i), came = load_words(b->size + i),
                hop = _mm256_loadu_si256((const __m256i *)(b->hop + i));
        __m256i head = _mm256_srli_epi32(word[1], 24),
                size = _mm256_and_si256(_mm256_add_epi32(len, head), ALL(0xffff));
        __m256i bad =
            _mm256_xor_si256(_mm256_and_si256(word[0], ALL(0xff)), ALL(NEXTHOP_ADJACENCY));

        // mtu 0 means none: subtracting 1 from both sides makes 0 the largest
        bad = _mm256_or_si256(
            bad, GREATER(_mm256_and_si256(_mm256_add_epi32(len, ALL(-1)), ALL(0xffff)),
                         _mm256_and_si256(_mm256_add_epi32(word[1], ALL(-1)), ALL(0xffff))));
        if (lower)
            bad = _mm256_or_si256(bad,
                                  GREATER(ALL(2), family == IP4 ? _mm256_and_si256(hop, ALL(0xff))
                                                                : _mm256_srli_epi32(hop, 24)));
        resized = _mm256_or_si256(resized, _mm256_and_si256(live, _mm256_xor_si256(size, came)));
        moved = _mm256_or_si256(moved, _mm256_and_si256(live, _mm256_xor_si256(head, ALL(b->l2))));
        _mm256_storeu_si256((__m256i *)(b->hop_out + i), lower ? hop_lowered(hop, family) : hop);
        _mm_storeu_si128((__m128i *)(b->size + i),
                         _mm256_castsi256_si128(packs_in_order(pack_words(size, size))));
        __m256i port = _mm256_and_si256(_mm256_srli_epi32(word[1], 16), ALL(0xff)),
                out_iface = _mm256_srli_epi32(word[0], 16);
        store_halves(b->out_iface + i, b->out_port + i,
                     packs_in_order(pack_words(out_iface, port)));
        port = _mm256_or_si256(port, _mm256_andnot_si256(live, ALL(64)));
        ports = _mm256_or_si256(ports, bit_of_lane(port));
        __m256i at = _mm256_loadu_si256((const __m256i *)(b->nh + i));
        at = _mm256_add_epi32(_mm256_slli_epi32(at, 6),
                              _mm256_and_si256(_mm256_srli_epi32(word[0], 8), ALL(0xff)));
        store_addresses(b->header + i, rewrites, at);
        __m256i fine = _mm256_and_si256(live, _mm256_cmpeq_epi32(bad, _mm256_setzero_si256()));
        good |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(fine)) << i;
    }
    b->out_ports = or_longs(ports);
    b->in_place = _mm256_testz_si256(moved, moved);
    b->same = b->in_place && _mm256_testz_si256(resized, resized);
    return good ^ (n == 64 ? UINT64_MAX : (1ull << n) - 1);
}

#include "forwarder/lanes_set.h"

const struct lanes lanes_avx2 = {.name = "avx2", LANES_SET};
