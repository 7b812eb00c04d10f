// SPDX-License-Identifier: BSD-3-Clause
// Stage ip6_in: is it an IPv6 packet that may be forwarded?
//
//   in     IPv6 packets
//   out    survivors in the same order; len[], dst6[] set; destination is unicast beyond this link
//          packets from link-local sources move to f->local6: delivered here or dropped
//   exits  PUNT (link-local destination, multicast of node and link scope), IP6_TRUNCATED, IP6_VERSION,
//          IP6_MARTIAN_SRC, IP6_MARTIAN_DST, IP6_MULTICAST
//
// RFC 8200 3 (version, payload length) and RFC 4291 2.5-2.7 (who can be a source
// or destination). Addresses whose first octet is 0x01..0xfd - all that is
// global or unique-local - need no second look; ::/8, fe80::/10 and ff00::/8 do.
#include "forwarder/forwarder_priv.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

static inline unsigned octet_is_plain(uint8_t o) // 0 or 1, for use with &
{
    return (uint8_t)(o - 1) < 0xfd;
}

// :: and ::1, and ::ffff:0:0/96 (IPv4-mapped, never on the wire).
static bool is_unspecified(const uint8_t *a)
{
    return !(load64(a) | load64(a + 8));
}

static bool is_loopback(const uint8_t *a)
{
    return !load64(a) && load64(a + 8) == rte_cpu_to_be_64(1);
}

static bool is_mapped(const uint8_t *a)
{
    return !load64(a) && load32(a + 8) == RTE_BE32(0xffff);
}

static bool is_link_local(const uint8_t *a)
{
    return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

static enum drop_reason check_header(const struct rte_mbuf *m, const uint8_t *ip)
{
    if (packet_readable(m, ip) < IP6_HDR)
        return DROP_IP6_TRUNCATED;
    if (ip[0] >> 4 != 6)
        return DROP_IP6_VERSION;
    uint32_t len = IP6_HDR + load16_host(ip + 4);
    if (len > m->pkt_len - packet_l2_len(m, ip) || len > UINT16_MAX)
        return DROP_IP6_TRUNCATED;
    return DROP_NONE;
}

// What is wrong with the addresses; `*up` when the packet concerns this link.
static enum drop_reason check_addresses(const uint8_t *ip, bool *up)
{
    const uint8_t *src = ip + 8, *dst = ip + 24;
    bool unspecified = is_unspecified(src);

    if (src[0] == 0xff || is_loopback(src) || is_mapped(src))
        return DROP_IP6_MARTIAN_SRC;
    if (is_unspecified(dst) || is_loopback(dst) || is_mapped(dst))
        return DROP_IP6_MARTIAN_DST;
    if (dst[0] == 0xff) {
        // interface-local and link-local scope
        *up = (dst[1] & 15) == 1 || (dst[1] & 15) == 2;
        return *up ? DROP_NONE : DROP_IP6_MULTICAST;
    }
    if (is_link_local(dst))
        *up = true;
    else if (unspecified) // only duplicate address detection has no source, and that is multicast (RFC 4862)
        return DROP_IP6_MARTIAN_SRC;
    return DROP_NONE;
}

// True when packet i may go on.
static bool look_again(struct forwarder *f, struct burst *b, unsigned i)
{
    uint8_t *ip = b->ip[i];
    bool up = false;
    enum drop_reason why = check_header(b->pkt[i], ip);

    if (why == DROP_NONE)
        why = check_addresses(ip, &up);
    if (why != DROP_NONE) {
        packet_drop(f, b->pkt[i], b->iface[i], why);
        return false;
    }
    if (up) {
        punt_ip6(f, b->pkt[i], ip, b->iface[i]);
        return false;
    }
    if (!is_link_local(ip + 8) || b->kind == BURST_LOCAL)
        return true;
    unsigned k = burst_add(&f->local6, b->pkt[i], ip, b->iface[i]);
    f->local6.len[k] = b->len[i];
    f->local6.why[k] = DROP_IP6_LINK_LOCAL;
    return false;
}

void ip6_in(struct forwarder *f, struct burst *b)
{
    uint64_t odd = 0, gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        const uint8_t *ip = b->ip[i];
        // Loads lie inside the buffer of any mbuf. That the header is all there follows from its length.
        uint64_t w0 = load64(ip);
        uint32_t len = IP6_HDR + rte_bswap16((uint16_t)(w0 >> 32));
        uint64_t ok = ((w0 & 0xf0) == 0x60) & (len <= b->len[i]) & octet_is_plain(ip[8]) & octet_is_plain(ip[24]);

        memcpy(b->dst6[i], ip + 24, 16);
        odd = mask_next(odd, ok ^ 1);
        b->len[i] = (uint16_t)len;
    }
    odd = mask_end(odd, b->n);
    for (; unlikely(odd); odd &= odd - 1) {
        unsigned i = (unsigned)__builtin_ctzll(odd);
        if (!look_again(f, b, i))
            gone |= 1ull << i;
    }
    if (unlikely(gone))
        burst_remove(b, gone);
}
