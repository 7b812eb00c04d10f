// SPDX-License-Identifier: BSD-3-Clause
// acl_key.c - makes the keys that access lists compare from packet headers
//
// Fragments: the first one must have ports, flags, type and code like a whole packet; later ones
// have none. A later TCP fragment that begins within the header (offset 1) is refused: it would
// overwrite flags that a list has already checked (RFC 3128). An IPv6 packet with a fragment header
// for a whole packet (RFC 6946) is a whole packet.
//
// IPv6: the upper layer follows the extension headers (ip6_chain.h), within the first HEADERS_READ
// bytes.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "forwarder/acl.h"

#include "acl/key_l4.h"
#include "base/ip6_chain.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

#define HEADERS_READ 512u
#define INLINE static inline __attribute__((always_inline))

static void set_later_fragment(struct acl_key_l4 *k)
{
    k->part = ACL_LATER;
    k->sport = k->dport = 0;
    k->tcp_flags = 0;
}

static __rte_noinline bool fragment_key4(const uint8_t *ip, int32_t end, struct acl_key_l4 *k)
{
    uint16_t offset = load16_host(ip + 6) & 0x1fff;

    if (!offset) {
        k->part = ACL_FIRST;
        return acl_l4_read(ip + (ip[0] & 15) * 4u, end - (ip[0] & 15) * 4, ip[9], k);
    }
    set_later_fragment(k);
    return offset > 1 || ip[9] != PROTO_TCP;
}

INLINE bool make_key4(const struct burst *b, unsigned i, struct acl_key4 *k)
{
    const uint8_t *ip = b->ip[i];
    int32_t end = (int32_t)RTE_MIN(packet_readable(b->pkt[i], ip), (uint32_t)b->len[i]),
            hlen = (ip[0] & 15) * 4;

    store64(&k->src_be, load64(ip + 12));
    k->l4.proto = ip[9];
    k->l4.dscp = ip[1] >> 2;
    k->l4.part = ACL_WHOLE;
    if (unlikely(load16(ip + 6) & RTE_BE16(0x3fff)))
        return fragment_key4(ip, end, &k->l4);
    return acl_l4_read(ip + hlen, end - hlen, ip[9], &k->l4);
}

bool acl_key4(const struct burst *b, unsigned i, struct acl_key4 *k)
{
    return make_key4(b, i, k);
}

uint64_t acl_keys4(const struct burst *b, struct acl_key4 *k)
{
    uint64_t none = 0;

    for (unsigned i = 0; i < b->n; i++)
        none |= (uint64_t)!make_key4(b, i, &k[i]) << i;
    return none;
}

// `ip` has `end` bytes.
static bool read_extended(const uint8_t *ip, uint32_t end, struct acl_key_l4 *k)
{
    struct ip6_chain c = ip6_chain(ip, end);

    if (c.cut)
        return false;
    k->proto = c.proto;
    if (c.offset) {
        set_later_fragment(k);
        return c.offset > 1 || c.proto != PROTO_TCP;
    }
    k->part = c.more ? ACL_FIRST : ACL_WHOLE;
    return acl_l4_read(ip + c.at, (int32_t)end - (int32_t)c.at, c.proto, k);
}

static __rte_noinline bool extended_key6(const struct burst *b, unsigned i, struct acl_key_l4 *k)
{
    const uint8_t *ip = b->ip[i];
    uint32_t end = packet_readable(b->pkt[i], ip);
    uint8_t copy[HEADERS_READ];

    if (b->len[i] > end) { // several segments
        end = RTE_MIN((uint32_t)b->len[i], HEADERS_READ);
        ip = rte_pktmbuf_read(b->pkt[i], packet_l2_len(b->pkt[i], ip), end, copy);
        if (!ip)
            return false;
    }
    return read_extended(ip, RTE_MIN(end, (uint32_t)b->len[i]), k);
}

INLINE bool make_key6(const struct burst *b, unsigned i, struct acl_key6 *k)
{
    const uint8_t *ip = b->ip[i];
    int32_t end = (int32_t)RTE_MIN(packet_readable(b->pkt[i], ip), (uint32_t)b->len[i]);
    uint8_t proto = ip[6];

    memcpy(k->src, ip + 8, 32);
    k->l4.proto = proto;
    k->l4.dscp = (uint8_t)((ip[0] & 15) << 2 | ip[1] >> 6);
    k->l4.part = ACL_WHOLE;
    if (likely(acl_l4_bytes[proto]) && likely(end >= (int32_t)IP6_HDR + acl_l4_bytes[proto]))
        return acl_l4_read(ip + IP6_HDR, end - (int32_t)IP6_HDR, proto, &k->l4);
    return extended_key6(b, i, &k->l4);
}

bool acl_key6(const struct burst *b, unsigned i, struct acl_key6 *k)
{
    return make_key6(b, i, k);
}

uint64_t acl_keys6(const struct burst *b, struct acl_key6 *k)
{
    uint64_t none = 0;

    for (unsigned i = 0; i < b->n; i++)
        none |= (uint64_t)!make_key6(b, i, &k[i]) << i;
    return none;
}

// --- late ---

#define L4_MOST 14u // maximum of acl_l4_bytes
#define FRAGMENT_OR_OPTIONS                                                                        \
    0xff3f0000000000ffull // of an IPv4 header's first 8 bytes, as loaded: version and length, MF
                          // and offset

static bool is_odd4(const uint8_t *ip)
{
    return (load64(ip) ^ 0x45) & FRAGMENT_OR_OPTIONS;
}

// Copies the first sources four at a time, and returns their number. *odd: one is not a plain
// header.
INLINE unsigned copy_sources4_by_four(const struct burst *b, uint32_t *src, bool *odd)
{
    unsigned i = 0;

#ifdef __SSE2__
    const __m128i plain = _mm_cvtsi32_si128(0x45),
                  asked = _mm_set_epi64x(0, (long long)FRAGMENT_OR_OPTIONS);
    __m128i other = _mm_setzero_si128();

    for (; i + 4 <= b->n; i += 4) { // words 0..3 of each header: the last one is the source
        __m128i h[4];
        for (unsigned j = 0; j < 4; j++) {
            h[j] = _mm_loadu_si128((const __m128i *)b->ip[i + j]);
            other = _mm_or_si128(other, _mm_xor_si128(h[j], plain));
        }
        _mm_storeu_si128((__m128i *)(src + i), _mm_unpackhi_epi64(_mm_unpackhi_epi32(h[0], h[1]),
                                                                  _mm_unpackhi_epi32(h[2], h[3])));
    }
    other = _mm_cmpeq_epi8(_mm_and_si128(other, asked), _mm_setzero_si128());
    *odd |= _mm_movemask_epi8(other) != 0xffff;
#endif
    return i;
}

static bool any_shorter(const struct burst *b, uint16_t least)
{
    bool any = false;
    unsigned i = 0;

#ifdef __SSE2__
    __m128i lack = _mm_setzero_si128();
    for (; i + 8 <= b->n; i += 8)
        lack = _mm_or_si128(lack, _mm_subs_epu16(_mm_set1_epi16((short)least),
                                                 _mm_loadu_si128((const __m128i *)(b->len + i))));
    any = _mm_movemask_epi8(_mm_cmpeq_epi8(lack, _mm_setzero_si128())) != 0xffff;
#endif
    for (; i < b->n; i++)
        any |= b->len[i] < least;
    return any;
}

static bool copy_sources4(const struct burst *b, uint32_t *src)
{
    bool odd = false;

    for (unsigned i = copy_sources4_by_four(b, src, &odd); i < b->n; i++) {
        src[i] = load32(b->ip[i] + 12);
        odd |= is_odd4(b->ip[i]);
    }
    if (unlikely(any_shorter(b, IP4_HDR + L4_MOST))) // might still be long enough for its protocol
        for (unsigned i = 0; i < b->n; i++)
            odd |= b->len[i] < IP4_HDR + acl_l4_bytes[b->ip[i][9]];
    return !odd;
}

static bool copy_sources6(const struct burst *b, uint8_t (*src)[16])
{
    bool odd = false;

    for (unsigned i = 0; i < b->n; i++) {
        const uint8_t *ip = b->ip[i];

        memcpy(src[i], ip + 8, sizeof src[i]);
        odd |= !acl_l4_bytes[ip[6]] | (b->len[i] < IP6_HDR + acl_l4_bytes[ip[6]]);
    }
    return !odd;
}

bool acl_sources(const struct burst *b, void *src)
{
    if (b->chained) // headers may span several segments
        return false;
    return b->family == IP4 ? copy_sources4(b, src) : copy_sources6(b, src);
}
