// SPDX-License-Identifier: BSD-3-Clause
// Stage ip6_in: checks whether an IPv6 packet may be forwarded
//
//   in     IPv6 packets that ether_in did not find plain, at least 40 bytes
//   out    survivors in the same order; len[], dst6[] set; destination is unicast beyond this link
//          packets from link-local sources move to f->local6: delivered here or dropped
//   exits  punt (our link-local addresses, multicast of link scope, MLD), multicast of wider scope
//          -> multicast.c, IP6_TRUNCATED, IP6_VERSION, IP6_MARTIAN_SRC, IP6_MARTIAN_DST,
//          IP6_LINK_LOCAL, IP6_JUMBO
//
// RFC 8200 3 (version, payload length) and RFC 4291 2.5-2.7 (valid sources and destinations);
// checks (8) to (10) of lanes.c. Packets whose addresses begin with 0x01..0xfd are plain, so the
// addresses here are in ::/8, fe80::/10 and ff00::/8.
#include "forwarder/checks.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

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

static enum drop_reason check_header(const struct rte_mbuf *m, const uint8_t *ip)
{
    if (ip[0] >> 4 != 6)
        return DROP_IP6_VERSION;
    uint32_t len = IP6_HDR + load16_host(ip + 4);
    if (len > m->pkt_len - packet_l2_len(m, ip) || len > UINT16_MAX)
        return DROP_IP6_TRUNCATED;
    if (len == IP6_HDR && ip[6] == PROTO_HOPOPTS) // RFC 2675; no link of ours supports jumbograms
        return DROP_IP6_JUMBO;
    return DROP_NONE;
}

// Multicast listener discovery is sent to the group that it reports (RFC 2710 3, RFC 3590), with a
// router alert.
static bool is_mld(const uint8_t *ip, uint32_t readable)
{
    uint32_t at = IP6_HDR;

    if (ip[6] != PROTO_HOPOPTS || readable < at + 8 || ip[at] != PROTO_ICMP6)
        return false;
    at += 8u * (ip[at + 1] + 1u);
    return readable > at && ((ip[at] >= 130 && ip[at] <= 132) || ip[at] == 143);
}

// Destination is link-local: punt if the address is ours on this link and the frame was unicast;
// the kernel would forward others. The subnet-router anycast address, fe80::, is ours everywhere
// (RFC 4291 2.6.1).
static enum drop_reason check_link_local(const struct burst *b, unsigned i, bool *up)
{
    const uint8_t *ip = b->ip[i];
    bool anycast = !(load64(ip + 24) ^ RTE_BE64(0xfe80000000000000)) && !load64(ip + 32);

    if (b->kind == BURST_LOCAL)
        return b->why[i];
    *up = anycast || multicast_is_own_link_local(ip, b->iface[i]);
    return *up ? DROP_NONE : DROP_IP6_LINK_LOCAL;
}

// Finds a fault in the addresses; `*up`: the packet concerns this link.
static enum drop_reason check_addresses(const struct burst *b, unsigned i, bool *up)
{
    const uint8_t *src = b->ip[i] + 8, *dst = b->ip[i] + 24;
    bool unspecified = is_unspecified(src);

    if (src[0] == 0xff || is_loopback(src) || is_mapped(src))
        return DROP_IP6_MARTIAN_SRC;
    if (is_unspecified(dst) || is_loopback(dst) || is_mapped(dst))
        return DROP_IP6_MARTIAN_DST;
    if (dst[0] == 0xff) { // reserved and interface-local scope are on no link (RFC 4291 2.7)
        *up = (dst[1] & 15) == 2;
        return (dst[1] & 15) < 2     ? DROP_IP6_MARTIAN_DST
               : unspecified && !*up ? DROP_IP6_MARTIAN_SRC
                                     : DROP_NONE;
    }
    if (ip6_is_link_local(dst))
        return check_link_local(b, i, up);
    if (unspecified) // only for duplicate address detection, which is multicast (RFC 4862)
        return DROP_IP6_MARTIAN_SRC;
    return DROP_NONE;
}

// Returns true if packet i may continue.
static bool check_packet(struct forwarder *f, struct burst *b, unsigned i)
{
    uint8_t *ip = b->ip[i];
    bool up = false;
    enum drop_reason why = check_header(b->pkt[i], ip);

    if (why == DROP_IP6_TRUNCATED)
        why = offload_cut(f, b, i, IP6_HDR + load16_host(ip + 4), why);

    if (why == DROP_NONE)
        why = check_addresses(b, i, &up);
    if (why != DROP_NONE) {
        packet_drop(f, b->pkt[i], b->iface[i], why);
        return false;
    }
    bool group = ip[24] == 0xff;
    if (up || group) {
        b->len[i] = (uint16_t)(IP6_HDR + load16_host(ip + 4));
        if (!checks_in_one(f, b, i))
            return false;
    }
    if (up || (group && is_mld(ip, packet_readable(b->pkt[i], ip)))) {
        punt_ip(f, b->pkt[i], ip, b->iface[i], IP6);
        return false;
    }
    if (group) {
        multicast(f, b, i);
        return false;
    }
    if (!ip6_is_link_local(ip + 8) || b->kind == BURST_LOCAL)
        return true;
    unsigned k = burst_add(&f->local6, b->pkt[i], ip, b->iface[i]);
    f->local6.len[k] = b->len[i];
    f->local6.why[k] = DROP_IP6_LINK_LOCAL;
    return false;
}

void ip6_in(struct forwarder *f, struct burst *b)
{
    uint64_t gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        if (!check_packet(f, b, i)) { // it may have been freed
            gone |= 1ull << i;
            continue;
        }
        b->len[i] = (uint16_t)(IP6_HDR + load16_host(b->ip[i] + 4));
        memcpy(b->dst6[i], b->ip[i] + 24, 16);
    }
    if (gone)
        burst_remove(b, gone);
}
