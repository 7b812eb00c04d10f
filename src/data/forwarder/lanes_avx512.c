// SPDX-License-Identifier: BSD-3-Clause
// lanes_avx512.c - eight packets at a time, with 64 bits of each in a register
//
// The same 8 bytes of eight frames, or of eight mbufs, go into one register (lanes_columns.h);
// nothing is stored on the way, because a core commits one store per cycle. Conditions are mask
// registers. Lanes after the last packet are masked out. Compiled with its own flags, twice: with
// gathers, and with loads in their place; lanes_by_name() checks the CPU.
#include "forwarder/lanes_priv.h"

#include "forwarder/lanes_columns.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

// Isolates byte k of each lane.
INLINE __m512i byte_of(__m512i v, int k)
{
    return _mm512_and_si512(_mm512_srli_epi64(v, (unsigned)k * 8), ALL(0xff));
}

// Bytes k and k + 1 of each lane as a number in network order.
INLINE __m512i be16_at(__m512i v, int k)
{
    return _mm512_shuffle_epi8(
        v, _mm512_set4_epi32((int)0x80808080, (int)(0x80800000 | (k + 8) << 8 | (k + 9)),
                             (int)0x80808080, (int)(0x80800000 | k << 8 | (k + 1))));
}

// Checks the address at byte `at` of each lane, like is_unicast in lanes.c.
INLINE __mmask8 check_unicast(__mmask8 k, __m512i v, int at)
{
    __m512i octet = byte_of(v, at),
            two = _mm512_and_si512(_mm512_srli_epi64(v, (unsigned)at * 8), ALL(0xffff));

    k = _mm512_mask_cmpneq_epu64_mask(k, two, ALL(LANES_LINK_LOCAL4));
    k = _mm512_mask_cmplt_epu64_mask(k, _mm512_sub_epi64(octet, ALL(1)), ALL(223));
    return _mm512_mask_cmpneq_epu64_mask(k, octet, ALL(127));
}

// Adds up the four 16-bit words of each lane.
INLINE __m512i sum_words(__m512i v)
{
    v = _mm512_add_epi64(_mm512_and_si512(v, ALL(0x0000ffff0000ffff)),
                         _mm512_and_si512(_mm512_srli_epi64(v, 16), ALL(0x0000ffff0000ffff)));
    return _mm512_add_epi64(_mm512_and_si512(v, ALL(0xffffffff)), _mm512_srli_epi64(v, 32));
}

INLINE __m512i fold_sum(__m512i sum)
{
    sum = _mm512_add_epi64(_mm512_and_si512(sum, ALL(0xffff)), _mm512_srli_epi64(sum, 16));
    return _mm512_add_epi64(_mm512_and_si512(sum, ALL(0xffff)), _mm512_srli_epi64(sum, 16));
}

INLINE void store_words(uint16_t *p, __m512i v)
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi64_epi16(v));
}

INLINE __m512i load_words(const uint16_t *p)
{
    return _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)p));
}

INLINE void store_dwords(uint32_t *p, __m512i v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi64_epi32(v));
}

// The interfaces of frames and their first words; all untagged frames use entry 0.
struct ifaces {
    uint16_t id[BURST_ROOM];
    uint64_t own[BURST_ROOM];
};

// For frames with a tag of type 0x8100; returns false if some have another type. Without branches:
// this is the most expensive part for tagged frames.
INLINE bool ifaces_of_tags(struct ifaces *of, const struct arrivals *a, const struct port *port)
{
    uint32_t other = 0;

    for (unsigned i = 0; i < a->n; i++) {
        uint32_t word = load32(a->frame[i] + 12);
        uint16_t id = port->vlan_iface[__builtin_bswap32(word) & 0xfff];
        other |= word ^ LANES_TAG;
        of->id[i] = id;
        of->own[i] = load64(iface_get(id));
    }
    return !(uint16_t)other;
}

// Frame by frame, before the lanes: the loads depend on each other, and here they overlap across
// all frames, not only across eight.
INLINE void ifaces_find(struct ifaces *of, const struct arrivals *a, const struct port *port,
                        enum tag tag)
{
    const unsigned n = tag == UNTAGGED ? 1 : a->n;
    const bool found = tag == TAGGED && ifaces_of_tags(of, a, port);

    for (unsigned i = 0; i < n && !found; i++) {
        of->id[i] = lanes_iface_of(port, tag, a->pkt[i], a->frame[i]);
        of->own[i] = load64(iface_get(of->id[i]));
    }
    for (unsigned i = n; tag != UNTAGGED && i % BURST_BLOCK; i++)
        of->own[i] = of->id[i] = 0; // an interface that is not up
}

// Check (a), with the first words of the interfaces in `own`.
INLINE __mmask8 for_us(__mmask8 k, uint8_t *const *frame, __m512i own)
{
    __m512i mac = _mm512_and_si512(column(k, frame, 0), ALL(LANES_MAC));

    k = _mm512_mask_test_epi64_mask(k, own, ALL(IFACE_UP));
    return _mm512_mask_cmpeq_epu64_mask(k, mac, _mm512_srli_epi64(own, 16));
}

struct packets { // appended by append_plain()
    __m512i pkt, ip, iface, vr, len, size, hop, dst;
};

// Compacts the lanes of mask k and appends them at index `at` of b.
INLINE void append_packets(struct burst *b, unsigned at, __mmask8 k, struct packets p,
                           uint8_t family)
{
    if (k != 0xff) {
        p.pkt = _mm512_maskz_compress_epi64(k, p.pkt);
        p.ip = _mm512_maskz_compress_epi64(k, p.ip);
        p.iface = _mm512_maskz_compress_epi64(k, p.iface);
        p.vr = _mm512_maskz_compress_epi64(k, p.vr);
        p.len = _mm512_maskz_compress_epi64(k, p.len);
        p.size = _mm512_maskz_compress_epi64(k, p.size);
        p.hop = _mm512_maskz_compress_epi64(k, p.hop);
        p.dst = _mm512_maskz_compress_epi64(k, p.dst);
    }
    _mm512_storeu_si512(b->pkt + at, p.pkt);
    _mm512_storeu_si512(b->ip + at, p.ip);
    store_words(b->iface + at, p.iface);
    store_words(b->vr + at, p.vr);
    store_words(b->len + at, p.len);
    store_words(b->size + at, p.size);
    store_dwords(b->hop + at, p.hop);
    if (family == IP4)
        store_dwords(b->dst4 + at, p.dst);
}

// Loads flags and lengths of eight mbufs; by loads, all with one load of each.
INLINE void mbuf_columns(__mmask8 live, struct rte_mbuf *const *mbuf, __m512i *flags, __m512i *all,
                         __m512i *first)
{
    if (LANES_BY_LOADS && live == LANES_ALL) {
        __m512i c[4];
        columns(live, mbuf, offsetof(struct rte_mbuf, ol_flags), c);
        *flags = c[0];
        *all = _mm512_srli_epi64(c[1], 32);
        *first = _mm512_and_si512(c[2], ALL(0xffff));
        return;
    }
    __m512i size = column(live, mbuf, offsetof(struct rte_mbuf, pkt_len));
    *flags = column(live, mbuf, offsetof(struct rte_mbuf, ol_flags));
    *all = _mm512_and_si512(size, ALL(0xffffffff));
    *first = _mm512_and_si512(_mm512_srli_epi64(size, 32), ALL(0xffff));
}
_Static_assert(offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, ol_flags) + 12 &&
                   offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, ol_flags) + 16,
               "mbuf_columns");

// Reduces k to headers that are plain, and reads them; numbers as in lanes.c. c: the bytes from the
// EtherType on; mask: what counts of it and the version; summed: the port has checked the sum of
// these.
INLINE __mmask8 plain4(__mmask8 k, const __m512i c[4], uint64_t mask, __mmask8 live,
                       __mmask8 summed, struct packets *p)
{
    const __m512i type = c[0], ip6 = c[1], end = c[2];

    p->len = be16_at(type, 4);
    p->hop = _mm512_srli_epi64(ip6, 16);
    p->dst = _mm512_srli_epi64(end, 16);
    // (3) (4)
    k = _mm512_mask_cmpeq_epu64_mask(k, _mm512_and_si512(type, ALL(0xffffff & mask)),
                                     ALL(LANES_IP4 & mask));
    k = _mm512_mask_cmpge_epu64_mask(k, p->len, ALL(20)); // (5) (1)
    k = check_unicast(k, ip6, 6);                         // (7) source
    k = check_unicast(k, end, 2);                         // (7) destination
    if ((summed & live) != live) {                        // (2), unless the port has checked it
        __m512i sum = _mm512_add_epi64(
            sum_words(_mm512_srli_epi64(type, 16)),
            _mm512_add_epi64(sum_words(ip6), sum_words(_mm512_and_si512(end, ALL(LANES_MAC)))));
        k &= summed | _mm512_cmpeq_epu64_mask(fold_sum(sum), ALL(0xffff));
    }
    return k;
}

INLINE __mmask8 plain6(__mmask8 k, const __m512i c[4], uint64_t mask, struct packets *p)
{
    const __m512i type = c[0], ip6 = c[1], first_octet = byte_of(c[3], 2); // of the destination

    p->len = _mm512_add_epi64(be16_at(type, 6), ALL(40));
    p->hop = _mm512_or_si512(_mm512_srli_epi64(type, 48), _mm512_slli_epi64(ip6, 16));
    p->dst = c[2]; // not stored: too wide
    // (8)
    k = _mm512_mask_cmpeq_epu64_mask(k, _mm512_and_si512(type, ALL(0xf0ffff & mask)),
                                     ALL(LANES_IP6 & mask));
    k = _mm512_mask_cmplt_epu64_mask(k, _mm512_sub_epi64(p->len, ALL(41)),
                                     ALL(UINT16_MAX - 40)); // (9)
    // (10)
    k = _mm512_mask_cmplt_epu64_mask(k, _mm512_sub_epi64(byte_of(ip6, 2), ALL(1)), ALL(0xfd));
    return _mm512_mask_cmplt_epu64_mask(k, _mm512_sub_epi64(first_octet, ALL(1)), ALL(0xfd));
}

// Of plain packets: bits of their interfaces' first words that are set in any, and in every one;
// their lengths.
struct totals {
    __m512i any, every, bytes;
};

// Checks eight frames and returns the plain ones, in p; numbers as in lanes.c. `id`, `own`: of
// their interfaces; `untagged`: `own` of untagged frames.
INLINE __mmask8 check_eight(__mmask8 live, struct rte_mbuf *const *mbuf, uint8_t *const *frame,
                            const uint16_t *id, const uint64_t *own, __m512i untagged, enum tag tag,
                            struct burst *b, uint8_t family, struct packets *p, struct totals *t)
{
    const unsigned l2 = lanes_l2(tag);
    __m512i c[4], word = untagged;
    columns(live, frame, l2 - 2, c); // the last one is used only for IPv6
    __m512i flags, all, first;
    mbuf_columns(live, mbuf, &flags, &all, &first);
    p->pkt = _mm512_loadu_si512(mbuf);
    p->ip = _mm512_add_epi64(_mm512_loadu_si512(frame), ALL(l2));
    p->size = all;
    if (tag != UNTAGGED)
        word = _mm512_loadu_si512(own);
    p->iface =
        tag == UNTAGGED ? ALL(*id) : _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)id));
    p->vr = _mm512_and_si512(_mm512_srli_epi64(word, LANES_FLAGS), ALL(LANES_VR));
    __mmask8 k = for_us(live, frame, word);

    k = _mm512_mask_cmpeq_epu64_mask(k, _mm512_and_si512(flags, ALL(LANES_STRIPPED)),
                                     ALL(lanes_stripped(tag)));
    // (b)
    k &= _mm512_cmpge_epu64_mask(first, ALL(HEADERS_MAX)) | _mm512_cmpge_epu64_mask(first, all);
    b->chained |= _mm512_mask_cmpneq_epu64_mask(live, first, all) != 0;
    if (family == IP4) {
        __mmask8 summed = _mm512_cmpeq_epu64_mask(_mm512_and_si512(flags, ALL(LANES_CKSUM)),
                                                  ALL(RTE_MBUF_F_RX_IP_CKSUM_GOOD));
        k = plain4(k, c, UINT64_MAX, live, summed, p);
    } else if (family == IP6) {
        k = plain6(k, c, UINT64_MAX, p);
    } else { // labels
        p->len = _mm512_sub_epi64(all, ALL(l2));
        p->hop = p->dst = _mm512_srli_epi64(c[0], 16);
        k = _mm512_mask_cmpeq_epu64_mask(k, _mm512_and_si512(c[0], ALL(0xffff)), ALL(LANES_LABELS));
        k = _mm512_mask_cmpeq_epu64_mask(k, first, all);
        k = _mm512_mask_cmpge_epu64_mask(k, all, ALL(l2 + LABEL_HDR));
    }
    k = _mm512_mask_cmple_epu64_mask(k, _mm512_add_epi64(p->len, ALL(l2)), all); // (6) (9)
    if (tag != UNTAGGED) {
        t->any = _mm512_mask_or_epi64(t->any, k, t->any, word);
        t->every = _mm512_mask_and_epi64(t->every, k, t->every, word);
    }
    t->bytes = _mm512_mask_add_epi64(t->bytes, k, t->bytes, all);
    return k;
}

// `own`: the interface's word, if all have the same one; otherwise 0.
INLINE void totals_add(struct burst *b, uint64_t own, const struct totals *t)
{
    uint64_t any = own ? own : (uint64_t)_mm512_reduce_or_epi64(t->any);
    uint64_t every = own ? own : (uint64_t)_mm512_reduce_and_epi64(t->every);

    b->features |= any & IFACE_FEATURES;
    b->mixed |=
        (uint16_t)any >> LANES_FLAGS != b->vr[0] || (uint16_t)every >> LANES_FLAGS != b->vr[0];
    b->bytes += (uint32_t)_mm512_reduce_add_epi64(t->bytes);
}

INLINE uint64_t append_plain(const struct arrivals *a, const struct port *port, enum tag tag,
                             struct burst *b, uint8_t family)
{
    const unsigned n = a->n, step = tag != UNTAGGED;
    struct ifaces of;
    ifaces_find(&of, a, port, tag);
    struct totals t = {.every = ALL(-1)};
    const __m512i untagged = ALL(of.own[0]);
    unsigned at = b->n;
    uint64_t odd = 0;

    for (unsigned i = 0; i < n; i += 8) {
        __mmask8 live = n - i >= 8 ? LANES_ALL : (__mmask8)((1u << (n - i)) - 1), k;
        struct packets p;

        if (LANES_BY_LOADS && live == LANES_ALL)
            k = check_eight(LANES_ALL, a->pkt + i, a->frame + i, of.id + i * step,
                            of.own + i * step, untagged, tag, b, family, &p, &t);
        else
            k = check_eight(live, a->pkt + i, a->frame + i, of.id + i * step, of.own + i * step,
                            untagged, tag, b, family, &p, &t);
        append_packets(b, at, k, p, family);
        at += (unsigned)__builtin_popcount(k);
        odd |= (uint64_t)(uint8_t)(k ^ live) << i;
    }
    for (unsigned j = b->n; family == IP6 && j < at; j++)
        __builtin_memcpy(b->dst6[j], b->ip[j] + 24, 16);
    if (at > b->n)
        totals_add(b, tag == UNTAGGED ? of.own[0] : 0, &t);
    b->n = at;
    return odd;
}

// The packets of mask `live` among eight which are plain behind their first label, in p.
INLINE __mmask8 check_below(__mmask8 live, const struct burst *from, unsigned i, uint8_t family,
                            struct packets *p)
{
    __m512i c[4];

    columns(live, from->ip + i, LABEL_HDR - 2, c);
    p->pkt = _mm512_loadu_si512(from->pkt + i);
    p->ip = _mm512_add_epi64(_mm512_loadu_si512(from->ip + i), ALL(LABEL_HDR));
    p->iface = load_words(from->iface + i);
    p->vr = p->iface; // the caller knows it
    p->size = load_words(from->size + i);
    __mmask8 k =
        family == IP4 ? plain4(live, c, 0xff0000, live, 0, p) : plain6(live, c, 0xff0000, p);
    return _mm512_mask_cmple_epu64_mask(k, _mm512_add_epi64(p->len, ALL(LABEL_HDR)),
                                        load_words(from->len + i)); // (6) (9)
}

INLINE uint64_t append_below(const struct burst *from, uint64_t of, struct burst *to,
                             uint8_t family)
{
    unsigned at = to->n;
    uint64_t good = 0;

    for (unsigned i = 0; i < from->n; i += 8) {
        const __mmask8 live = (__mmask8)(of >> i);
        struct packets p;
        __mmask8 k = LANES_BY_LOADS && live == LANES_ALL
                         ? check_below(LANES_ALL, from, i, family, &p)
                         : check_below(live, from, i, family, &p);
        append_packets(to, at, k, p, family);
        at += (unsigned)__builtin_popcount(k);
        good |= (uint64_t)k << i;
    }
    for (unsigned j = to->n; family == IP6 && j < at; j++)
        __builtin_memcpy(to->dst6[j], to->ip[j] + 24, 16);
    to->n = at;
    return good;
}

// Like hop_lowered in lanes.c.
INLINE __m512i hop_lowered(__m512i hop, uint8_t family)
{
    if (family == IP6)
        return _mm512_sub_epi64(hop, ALL(1u << 24));
    __m512i sum = _mm512_add_epi64(_mm512_srli_epi64(hop, 16), ALL(1));
    sum = _mm512_mask_add_epi64(sum, _mm512_cmpge_epu64_mask(sum, ALL(0xffff)), sum, ALL(1));
    return _mm512_or_si512(_mm512_sub_epi64(_mm512_and_si512(hop, ALL(0xffff)), ALL(1)),
                           _mm512_slli_epi64(sum, 16));
}

// Loads the words of eight next hops.
INLINE __m512i nexthop_words(__mmask8 live, const uint32_t *id)
{
    const void *at[8];

    if (!LANES_BY_LOADS || live != LANES_ALL) {
        __m512i wide = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)id));
        return gather(
            live, _mm512_add_epi64(ALL((uintptr_t)nexthop_table), _mm512_slli_epi64(wide, 6)), 0);
    }
    for (unsigned j = 0; j < 8; j++)
        at[j] = &nexthop_table[id[j]];
    return column(LANES_ALL, at, 0);
}

INLINE uint64_t apply_nexthops_of(struct burst *b, bool lower, uint8_t family)
{
    const unsigned n = b->n;
    const __m512i rewrites = ALL((uintptr_t)nexthop_table + NEXTHOP_REWRITE);
    __m512i ports = _mm512_setzero_si512();
    uint64_t bad = 0;
    unsigned moved = 0, resized = 0;

    // Loads, also gathered ones, are done in order here: each word is read whole, before the
    // rewrite that it names (N3).
    for (unsigned i = 0; i < n; i += 8) {
        __mmask8 live = n - i >= 8 ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512i word = nexthop_words(live, b->nh + i);
        __m512i len = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(b->len + i)));
        __m512i came = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(b->size + i)));
        __m512i hop = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(b->hop + i)));
        __m512i head = _mm512_srli_epi64(word, 56), size = _mm512_add_epi64(len, head),
                mtu = _mm512_srli_epi64(word, 32);
        __mmask8 k = _mm512_mask_cmpeq_epu64_mask(live, _mm512_and_si512(word, ALL(0xff)),
                                                  ALL(NEXTHOP_ADJACENCY));

        // mtu 0 means none: subtracting 1 from both sides makes 0 the largest
        k = _mm512_mask_cmple_epu64_mask(
            k, _mm512_and_si512(_mm512_sub_epi64(len, ALL(1)), ALL(0xffff)),
            _mm512_and_si512(_mm512_sub_epi64(mtu, ALL(1)), ALL(0xffff)));
        if (lower)
            k = _mm512_mask_cmpgt_epu64_mask(
                k, family == IP4 ? _mm512_and_si512(hop, ALL(0xff)) : _mm512_srli_epi64(hop, 24),
                ALL(1));
        resized |= _mm512_mask_cmpneq_epu64_mask(live, size, came);
        moved |= _mm512_mask_cmpneq_epu64_mask(live, head, ALL(b->l2));
        __m512i id = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(b->nh + i))),
                port = byte_of(word, 6);
        ports = _mm512_mask_or_epi64(ports, live, ports, _mm512_sllv_epi64(ALL(1), port));
        _mm512_storeu_si512(b->word + i, word);
        _mm512_storeu_si512(b->header + i,
                            _mm512_add_epi64(_mm512_add_epi64(rewrites, _mm512_slli_epi64(id, 6)),
                                             byte_of(word, 1)));
        store_words(b->out_iface + i, _mm512_srli_epi64(word, 16));
        store_words(b->out_port + i, port);
        store_dwords(b->hop_out + i, lower ? hop_lowered(hop, family) : hop);
        store_words(b->size + i, size);
        bad |= (uint64_t)(uint8_t)(k ^ live) << i;
    }
    b->out_ports = (uint64_t)_mm512_reduce_or_epi64(ports);
    b->in_place = !moved;
    b->same = !(moved | resized);
    return bad;
}

// --- slots of packet programs --------------------------------------------------------------------

#define SLOT_LENGTH (1 << offsetof(struct kamuee_packet, length) / 4)
#define SLOT_READABLE (1 << offsetof(struct kamuee_packet, readable) / 4)
_Static_assert(offsetof(struct kamuee_packet, data) == sizeof(__m256i), "the first 32 bytes");

// A masked load reads no byte after a packet's end.
INLINE void fill_slots_of(const struct burst *b, unsigned first, unsigned n,
                          struct kamuee_packet *slot, const void *head, uint16_t *readable)
{
    const __m256i alike = _mm256_loadu_si256(head);

    for (unsigned i = first; i < first + n; i++, slot++) {
        const struct rte_mbuf *m = b->pkt[i];
        const unsigned len = b->len[i];
        __m256i known = _mm256_mask_set1_epi32(alike, SLOT_LENGTH, (int)len);

        if (readable) {
            const unsigned in = len < LANES_WINDOW ? len : LANES_WINDOW;
            *readable++ = (uint16_t)in;
            known = _mm256_mask_set1_epi32(known, SLOT_READABLE, (int)in);
            _mm512_storeu_si512(slot->data,
                                _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, in), b->ip[i]));
        }
        _mm256_storeu_si256((__m256i *)slot, known);
        if (unlikely(m->ol_flags & packet_class_flag))
            slot->class = m->hash.sched.traffic_class;
    }
}

static void fill_slots(const struct burst *b, unsigned first, unsigned n,
                       struct kamuee_packet *slot, const void *head, uint16_t *readable)
{
    if (readable)
        fill_slots_of(b, first, n, slot, head, readable);
    else
        fill_slots_of(b, first, n, slot, head, NULL);
}

#include "forwarder/lanes_set.h"

#ifdef LANES_LOADS
const struct lanes lanes_avx512_loads = {
    .name = "avx512-loads", LANES_SET, .fill_slots = fill_slots};
#else
const struct lanes lanes_avx512 = {.name = "avx512", LANES_SET, .fill_slots = fill_slots};
#endif
