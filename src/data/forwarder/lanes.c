// SPDX-License-Identifier: BSD-3-Clause
// lanes.c - the portable set of lanes.h functions: one packet after the other
//
// It is also the specification: each check of a plain packet has a number here, which lanes_avx2.c,
// lanes_avx512.c and ip4_in.c cite.
//
//     frame    (a) for the MAC of its interface, which is up; its tags are where `tag` says
//              (b) the headers, HEADERS_MAX bytes or the whole frame, lie in the first segment
//     IPv4     RFC 1812 5.2.2, in its order:
//              (1) the frame holds an IP header of 20 bytes
//              (2) the header checksum is right
//              (3) the version is 4
//              (4) the header length is at least 20; for a plain packet exactly 20: no options
//              (5) the total length is at least the header length
//              (6) the frame holds the total length
//              (7) source and destination may be forwarded (5.3.7, RFC 3927)
//     IPv6     (8) the version is 6 (RFC 8200 3)
//              (9) the frame holds the payload, which is not empty: perhaps a jumbogram
//              (10) the first octet of source and destination is 0x01..0xfd (RFC 4291 2.5-2.7)
#include "forwarder/lanes_priv.h"

#include <string.h>

#include "base/cpu.h"
#include "forwarder/packet.h"
#include "table/exchange.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))

_Static_assert(2 * VLAN_HDR + IP6_HDR <= PACKET_BEHIND, "loads for the shortest frame");

// Check (a). Also returns the interface and its first word.
INLINE unsigned for_us(const struct port *port, enum tag tag, const struct rte_mbuf *m,
                       const uint8_t *frame, uint16_t *iface, uint64_t *own)
{
    *iface = lanes_iface_of(port, tag, m, frame);
    *own = load64(iface_get(*iface));
    return ((*own >> 16) == (load64(frame) & LANES_MAC)) & ((*own & IFACE_UP) != 0) &
           ((m->ol_flags & LANES_STRIPPED) == lanes_stripped(tag));
}

// Checks the header of packet `at` of b, and reads it. `type`: EtherType, and version; `mask`: what
// of it counts; `summed`: the port has verified the checksum. Returns the packet's length; 0: not
// plain.
INLINE unsigned header_check(struct burst *b, unsigned at, uint64_t type, uint64_t mask,
                             bool summed, uint8_t family)
{
    const uint8_t *ip = b->ip[at];
    // Loads end at most PACKET_BEHIND bytes after the buffer of any mbuf; bytes after data_len do
    // not affect the result.
    const uint64_t w0 = load64(ip), w8 = load64(ip + 8);
    unsigned len, ok = 1;

    if (family == IP4) {
        uint32_t dst = load32(ip + 16);
        len = __builtin_bswap16((uint16_t)(w0 >> 16));
        if (unlikely(!summed))
            ok &= lanes_header_sum(w0, w8, dst) == 0xffff;    // (2)
        ok &= (type & mask & 0xffffff) == (LANES_IP4 & mask); // (3) (4)
        ok &= len >= IP4_HDR;                                 // (5); with (6) also (1)
        ok &= lanes_is_unicast4((uint32_t)(w8 >> 32));        // (7) source
        ok &= lanes_is_unicast4(dst);                         // (7) destination
        b->hop[at] = (uint32_t)w8;
        b->dst4[at] = dst;
    } else {
        len = IP6_HDR + __builtin_bswap16((uint16_t)(w0 >> 32));
        ok &= (type & mask & 0xf0ffff) == (LANES_IP6 & mask); // (8)
        ok &= len - IP6_HDR - 1 <= UINT16_MAX - IP6_HDR - 1;  // (9) not empty
        ok &= (uint8_t)(w8 - 1) < 0xfd;                       // (10) source
        ok &= (uint8_t)(ip[24] - 1) < 0xfd;                   // (10) destination
        b->hop[at] = (uint32_t)(w0 >> 32);
        memcpy(b->dst6[at], ip + 24, 16);
    }
    b->len[at] = (uint16_t)len;
    return ok ? len : 0;
}

INLINE uint64_t append_plain(const struct arrivals *a, const struct port *port, enum tag tag,
                      struct burst *b, uint8_t family)
{
    const unsigned l2 = lanes_l2(tag);
    unsigned at = b->n; // index of the next plain packet: others are overwritten
    uint64_t odd = 0;

    for (unsigned i = 0; i < a->n; i++) {
        struct rte_mbuf *m = a->pkt[i];
        uint8_t *frame = a->frame[i], *ip = frame + l2;
        unsigned all = m->pkt_len, first = m->data_len;
        uint64_t own, type = (uint64_t)load16(ip - 2) | (uint64_t)ip[0] << 16;
        unsigned ok = for_us(port, tag, m, frame, &b->iface[at], &own); // (a)
        ok &= (first >= HEADERS_MAX) | (first >= all);                  // (b)
        b->chained |= first != all;
        b->pkt[at] = m;
        b->ip[at] = ip;
        b->size[at] = (uint16_t)all;
        b->vr[at] = (uint16_t)own >> LANES_FLAGS;
        if (family == LABELS) {
            ok &= ((uint16_t)type == LANES_LABELS) & (first == all) & (all >= l2 + LABEL_HDR);
            b->hop[at] = load32(ip);
            b->len[at] = (uint16_t)(all - l2);
        } else {
            const bool summed = (m->ol_flags & LANES_CKSUM) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
            unsigned len = header_check(b, at, type, UINT64_MAX, summed, family);
            ok &= (len != 0) & (len + l2 <= all); // (6) (9)
        }
        b->features |= ok ? own & IFACE_FEATURES : 0;
        b->mixed |= ok & (b->vr[at] != b->vr[0]);
        b->bytes += ok ? all : 0;
        at += ok;
        odd |= (uint64_t)!ok << i;
    }
    b->n = at;
    return odd;
}

INLINE uint64_t append_below(const struct burst *from, uint64_t of, struct burst *to,
                             uint8_t family)
{
    uint64_t good = 0;

    for (; of; of &= of - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(of), at = to->n;
        uint8_t *ip = from->ip[i] + LABEL_HDR;
        to->pkt[at] = from->pkt[i];
        to->ip[at] = ip;
        to->iface[at] = from->iface[i];
        to->size[at] = from->size[i];
        unsigned len = header_check(to, at, (uint64_t)ip[0] << 16, 0xff0000, false, family);
        bool ok = len && len + LABEL_HDR <= from->len[i]; // (6) (9)
        to->n += ok;
        good |= (uint64_t)ok << i;
    }
    return good;
}

INLINE uint64_t apply_nexthops_of(struct burst *b, bool lower, uint8_t family)
{
    const struct nexthop *const table = nexthop_table; // C assumes that stores change the global
    const unsigned n = b->n, l2 = b->l2;
    uint64_t bad = 0, ports = 0;
    unsigned moved = 0, resized = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct nexthop *nh = &table[b->nh[i]];
        uint64_t word = nexthop_word(nh);
        uint32_t hop = b->hop[i], ttl = family == IP4 ? hop & 0xff : hop >> 24,
                 head = nexthop_word_head(word);
        uint16_t size = (uint16_t)(b->len[i] + head);
        // mtu 0 means none: subtracting 1 from both sides makes 0 the largest
        unsigned fits = (uint16_t)(b->len[i] - 1) <= (uint16_t)(nexthop_word_mtu(word) - 1);
        unsigned ok = (nexthop_word_kind(word) == NEXTHOP_ADJACENCY) & fits & (!lower | (ttl > 1));

        resized |= (unsigned)(size ^ b->size[i]);
        moved |= head ^ l2;
        bad |= (uint64_t)!ok << i;
        ports |= 1ull << nexthop_word_port(word);
        b->word[i] = word;
        b->header[i] = nexthop_rewrite(nh, word) + NEXTHOP_REWRITE;
        b->out_iface[i] = nexthop_word_iface(word);
        b->out_port[i] = nexthop_word_port(word);
        b->hop_out[i] = lower ? lanes_hop_lowered(hop, family) : hop;
        b->size[i] = size;
    }
    b->out_ports = ports;
    b->in_place = !moved;
    b->same = !(moved | resized);
    return bad;
}

#include "forwarder/lanes_set.h"

const struct lanes lanes_scalar = {.name = "scalar", LANES_SET};

// --- the set for this machine ---
//
// The widest set that the CPU and the limit in bits allow (0 = no limit). A CPU with slow gathers
// gets the AVX-512 set that uses loads instead.

const struct lanes *lanes_by_name(const char *name)
{
#ifdef LANES_X86
    if (!strcmp(name, "avx2"))
        return cpu_runs(CPU_AVX2) ? &lanes_avx2 : NULL;
    if (!strcmp(name, "avx512"))
        return cpu_runs(CPU_AVX512) ? &lanes_avx512 : NULL;
    if (!strcmp(name, "avx512-loads"))
        return cpu_runs(CPU_AVX512) ? &lanes_avx512_loads : NULL;
#endif
    return strcmp(name, "scalar") ? NULL : &lanes_scalar;
}

const struct lanes *lanes_choose(unsigned simd_bits)
{
    const struct lanes *wide = !simd_bits || simd_bits >= 512
                                   ? lanes_by_name(gather_is_slow() ? "avx512-loads" : "avx512")
                                   : NULL;

    if (!wide && (!simd_bits || simd_bits >= 256))
        wide = lanes_by_name("avx2");
    return wide ? wide : &lanes_scalar;
}
