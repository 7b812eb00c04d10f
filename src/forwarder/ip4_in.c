// SPDX-License-Identifier: BSD-3-Clause
// Stage ip4_in: is it an IPv4 packet that may be forwarded?
//
//   in     IPv4 packets, headers in the first segment
//   out    survivors in the same order; len[], dst4[] set; destination is unicast, source can be one
//   exits  PUNT (limited broadcast, link-local and control multicast), IP4_TRUNCATED, IP4_VERSION, IP4_CHECKSUM,
//          IP4_MARTIAN_SRC, IP4_MARTIAN_DST, IP4_MULTICAST
//
// RFC 1812 5.2.2 asks for five checks (length of the frame, version, header
// length, total length, checksum), 5.3.7 for the martians. All are computed
// for every packet without a branch; packets that fail one, and those with
// options, are looked at again one by one to find out why.
//
// When the port has found every checksum of the burst good, it is believed;
// otherwise they are computed here. Bytes behind the total length (Ethernet pads short
// frames) stay until ether_out: a punted frame goes up as it came.
#include "base/checksum.h"
#include "forwarder/forwarder_priv.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

// Sum of a 20-byte header given as its words; 0xffff when the checksum is right (RFC 1071).
static inline uint32_t header_sum(uint64_t w0, uint64_t w8, uint32_t w16)
{
    uint64_t s = (uint32_t)w0 + (w0 >> 32) + (uint32_t)w8 + (w8 >> 32) + w16;

    s = (s & 0xffffffff) + (s >> 32);
    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    return (uint32_t)((s & 0xffff) + (s >> 16));
}

// First octet 1..223 but not 127: neither "this network", loopback, multicast nor reserved. 0 or 1, for use with &.
static inline unsigned octet_is_unicast(uint8_t o)
{
    return ((uint8_t)(o - 1) < 223) & (o != 127);
}

// Where a packet to a group goes: up when it concerns this link or the routing protocols.
static bool multicast_is_control(const uint8_t *ip)
{
    uint8_t proto = ip[9];

    return (ip[16] == 224 && ip[17] == 0 && ip[18] == 0) || proto == PROTO_IGMP || proto == PROTO_PIM;
}

// What is wrong with the destination of an otherwise good packet; DROP_NONE: nothing, or `*up` is set.
static enum drop_reason check_addresses(const uint8_t *ip, bool *up)
{
    uint32_t src = load32(ip + 12), dst = load32(ip + 16);
    bool group = (ip[16] & 0xf0) == 0xe0, broadcast = dst == 0xffffffff;

    // A host without an address yet may speak on its link (DHCP, IGMP), not through us.
    if (!octet_is_unicast(ip[12]) && !(src == 0 && (group || broadcast)))
        return DROP_IP4_MARTIAN_SRC;
    if (broadcast || (group && multicast_is_control(ip)))
        *up = true;
    else if (group)
        return DROP_IP4_MULTICAST;
    else if (!octet_is_unicast(ip[16]))
        return DROP_IP4_MARTIAN_DST;
    return DROP_NONE;
}

static enum drop_reason check_header(const struct rte_mbuf *m, const uint8_t *ip)
{
    uint32_t readable = packet_readable(m, ip), hlen = (ip[0] & 15) * 4u;

    if (readable < IP4_HDR)
        return DROP_IP4_TRUNCATED;
    if (ip[0] >> 4 != 4 || hlen < IP4_HDR)
        return DROP_IP4_VERSION;
    uint32_t len = load16_host(ip + 2);
    if (len < hlen || len > m->pkt_len - packet_l2_len(m, ip) || hlen > readable)
        return DROP_IP4_TRUNCATED;
    if (checksum(ip, hlen))
        return DROP_IP4_CHECKSUM;
    return DROP_NONE;
}

// True when packet i may go on after all (its only oddity are options).
static bool look_again(struct forwarder *f, struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i];
    bool up = false;
    enum drop_reason why = check_header(b->pkt[i], ip);

    if (why == DROP_NONE)
        why = check_addresses(ip, &up);
    if (why != DROP_NONE)
        packet_drop(f, b->pkt[i], b->iface[i], why);
    else if (up)
        punt_ip4(f, b->pkt[i], ip, b->iface[i]);
    return why == DROP_NONE && !up;
}

// The packets of b that are not plainly good, as a mask. `summed`: checksums are known to be right.
static inline __attribute__((always_inline)) uint64_t look(struct burst *b, bool summed)
{
    uint64_t odd = 0;

    for (unsigned i = 0; i < b->n; i++) {
        const uint8_t *ip = b->ip[i];
        // Loads lie inside the buffer of any mbuf. That the header is all there follows from its length.
        uint64_t w0 = load64(ip), w8 = load64(ip + 8);
        uint32_t dst = load32(ip + 16), len = rte_bswap16((uint16_t)(w0 >> 16));
        uint64_t ok = ((uint8_t)w0 == 0x45) & (len >= IP4_HDR) & (len <= b->len[i]) &
                      octet_is_unicast((uint8_t)(w8 >> 32)) & octet_is_unicast((uint8_t)dst);

        if (!summed)
            ok &= header_sum(w0, w8, dst) == 0xffff;
        odd = mask_next(odd, ok ^ 1);
        b->dst4[i] = dst;
        b->len[i] = (uint16_t)len;
    }
    return mask_end(odd, b->n);
}

void ip4_in(struct forwarder *f, struct burst *b)
{
    uint64_t odd = b->summed ? look(b, true) : look(b, false), gone = 0;

    for (; unlikely(odd); odd &= odd - 1) {
        unsigned i = (unsigned)__builtin_ctzll(odd);
        if (!look_again(f, b, i))
            gone |= 1ull << i;
    }
    if (unlikely(gone))
        burst_remove(b, gone);
}
