// SPDX-License-Identifier: BSD-3-Clause
// Stage ip4_in: checks whether an IPv4 packet may be forwarded
//
//   in     IPv4 packets that ether_in did not find plain, at least 20 bytes in the first segment
//   out    survivors in the same order; len[], dst4[] set; unicast destination, valid source
//          packets from or to link-local addresses move to f->local4: delivered here or dropped
//   exits  punt (limited broadcast, link-local and control multicast), other groups -> multicast.c,
//          IP4_TRUNCATED, IP4_VERSION, IP4_CHECKSUM, IP4_MARTIAN_SRC, IP4_MARTIAN_DST, exits of
//          ip4_options.c
//
// The checks have the numbers of lanes.c. They run packet by packet: for packets with options,
// packets that will be dropped, and multicast for us.
#include "base/checksum.h"
#include "forwarder/checks.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

// First octet 1..223 but not 127: neither "this network", loopback, multicast nor reserved.
static bool octet_is_unicast(uint8_t o)
{
    return (uint8_t)(o - 1) < 223 && o != 127;
}

static bool is_group(const uint8_t *a)
{
    return (a[0] & 0xf0) == 0xe0;
}

// Is a packet to a group punted, because it concerns this link or the routing protocols?
static bool multicast_is_control(const uint8_t *ip)
{
    uint8_t proto = ip[9];

    return (ip[16] == 224 && ip[17] == 0 && ip[18] == 0) || proto == PROTO_IGMP ||
           proto == PROTO_PIM;
}

// Check (7): finds a fault in the addresses of an otherwise good packet; `*up`: it is for this
// link.
static enum drop_reason check_addresses(const uint8_t *ip, bool *up)
{
    uint32_t src = load32(ip + 12), dst = load32(ip + 16);
    bool group = is_group(ip + 16), broadcast = dst == 0xffffffff;

    // A host without an address may send on its link (DHCP, IGMP), but not through us.
    if (!octet_is_unicast(ip[12]) && !(src == 0 && (group || broadcast)))
        return DROP_IP4_MARTIAN_SRC;
    if (broadcast || (group && multicast_is_control(ip)))
        *up = true;
    else if (group)
        return src == 0 ? DROP_IP4_MARTIAN_SRC : DROP_NONE;
    else if (!octet_is_unicast(ip[16]))
        return DROP_IP4_MARTIAN_DST;
    return DROP_NONE;
}

static enum drop_reason check_header(const struct rte_mbuf *m, const uint8_t *ip)
{
    uint32_t readable = packet_readable(m, ip), hlen = (ip[0] & 15) * 4u; // (1): by ether_in
    uint32_t len = load16_host(ip + 2);

    if (ip[0] >> 4 != 4 || hlen < IP4_HDR) // (3) (4)
        return DROP_IP4_VERSION;
    if (len < hlen) // (5)
        return DROP_IP4_TRUNCATED;
    if (len > m->pkt_len - packet_l2_len(m, ip) || hlen > readable) // (6) (b)
        return DROP_IP4_TRUNCATED;
    return checksum(ip, hlen) ? DROP_IP4_CHECKSUM : DROP_NONE; // (2)
}

// Returns true if packet i may continue.
static bool check_packet(struct forwarder *f, struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i];
    bool up = false;
    enum drop_reason why = check_header(b->pkt[i], ip);

    if (why == DROP_IP4_TRUNCATED)
        why = offload_cut(f, b, i, load16_host(ip + 2), why);

    if (why == DROP_NONE)
        why = check_addresses(ip, &up);
    if (why == DROP_NONE && (ip[0] & 15) > 5)
        why = ip4_options(f, b, i);
    if (why != DROP_NONE) {
        packet_drop(f, b->pkt[i], b->iface[i], why);
        return false;
    }
    if (up || is_group(ip + 16)) {
        b->len[i] = load16_host(ip + 2);
        if (!checks_in_one(f, b, i))
            return false;
    }
    if (up) {
        punt_ip(f, b->pkt[i], ip, b->iface[i], IP4);
        return false;
    }
    if (is_group(ip + 16)) {
        multicast(f, b, i);
        return false;
    }
    if (!(ip4_is_link_local(ip + 12) || ip4_is_link_local(ip + 16)) || b->kind == BURST_LOCAL)
        return true;
    unsigned k = burst_add(&f->local4, b->pkt[i], b->ip[i], b->iface[i]);
    f->local4.len[k] = b->len[i];
    f->local4.why[k] = DROP_IP4_LINK_LOCAL;
    return false;
}

void ip4_in(struct forwarder *f, struct burst *b)
{
    uint64_t gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        if (!check_packet(f, b, i)) { // it may have been freed
            gone |= 1ull << i;
            continue;
        }
        b->len[i] = load16_host(b->ip[i] + 2);
        b->dst4[i] = load32(b->ip[i] + 16);
    }
    if (gone)
        burst_remove(b, gone);
}
