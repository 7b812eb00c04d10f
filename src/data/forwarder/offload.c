// SPDX-License-Identifier: BSD-3-Clause
// offload.c - completes checksums that a sender has left to a NIC
//
// A sender with checksum offload writes the folded sum of the pseudo-header into the TCP or UDP
// checksum field and leaves the rest to the NIC. Behind a veth or in a virtual machine there is no
// NIC: the packet arrives incomplete, the driver (net_af_packet, net_af_xdp) does not report it,
// and the receiver drops it.
//
// An input check for interfaces of such ports (struct port.offload), so others pay nothing. Each
// packet costs the sum of its pseudo-header; its payload is read only if the field holds that sum:
// for all incomplete packets, and one in 65,536 complete ones, which are left unchanged.
//
// Fragments have no checksum of their own, and only the outermost TCP or UDP header is examined.
#include "base/checksum.h"
#include "base/ip6_chain.h"
#include "forwarder/checks.h"
#include "forwarder/packet.h"
#include "table/iface.h"
#include "table/super.h"
#include "forwarder/forbidden.h"

struct l4 {
    uint8_t proto;
    uint32_t at, sum_at; // from the IP header: start of the header, and of its checksum
};

static bool find_l4(const uint8_t *ip, uint8_t family, uint32_t end, struct l4 *l)
{
    if (family == IP4) {
        if (load16(ip + 6) & RTE_BE16(0x3fff)) // a fragment
            return false;
        l->proto = ip[9];
        l->at = (ip[0] & 15) * 4u;
    } else {
        struct ip6_chain c = ip6_chain(ip, end);
        if (c.cut || c.more || c.offset)
            return false;
        l->proto = c.proto;
        l->at = c.at;
    }
    if (l->proto != PROTO_TCP && l->proto != PROTO_UDP)
        return false;
    l->sum_at = l->at + (l->proto == PROTO_TCP ? 16 : 6);
    return l->sum_at + 2 <= end;
}

static uint16_t fold_sum(uint32_t sum)
{
    return (uint16_t)~checksum_finish(sum);
}

// Folded sum of the pseudo-header: the value of an unfinished field. `len`: from the TCP or UDP
// header on.
static uint16_t pseudo_sum(const uint8_t *ip, uint8_t family, uint8_t proto, uint32_t len)
{
    uint32_t sum =
        family == IP6
            ? checksum_pseudo6(ip + 8, ip + 24, len, proto)
            : checksum_add(rte_cpu_to_be_16((uint16_t)len) + rte_cpu_to_be_16(proto), ip + 12, 8);

    return fold_sum(sum);
}

// Sum of `len` bytes of the packet from `at` on, over all its buffers.
// (rte_raw_cksum_mbuf of DPDK 22.11 and 24.11 is wrong after a buffer of odd length.)
static uint16_t sum_of(const struct rte_mbuf *m, uint32_t at, uint32_t len)
{
    uint32_t sum = 0, done = 0;

    for (; m && done < len; m = m->next) {
        uint32_t n = RTE_MIN((uint32_t)m->data_len - at, len - done);
        uint16_t part = fold_sum(checksum_add(0, rte_pktmbuf_mtod_offset(m, const void *, at), n));
        sum += done & 1 ? rte_bswap16(part) : part;
        done += n;
        at = 0;
    }
    return fold_sum(sum);
}

void offload_one(struct forwarder *f, struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->pkt[i];
    uint8_t *ip = b->ip[i];
    uint32_t len = b->len[i];
    struct l4 l;

    if (!find_l4(ip, b->family, RTE_MIN(packet_readable(m, ip), len), &l) ||
        likely(load16(ip + l.sum_at) != pseudo_sum(ip, b->family, l.proto, len - l.at)))
        return;
    // The field already contains the pseudo-header's sum.
    uint16_t sum = sum_of(m, packet_l2_len(m, ip) + l.at, len - l.at);
    uint16_t whole = sum == UINT16_MAX && l.proto == PROTO_UDP
                         ? UINT16_MAX
                         : (uint16_t)~sum; // RFC 768: 0 would mean no checksum
    if (whole == load16(ip + l.sum_at))
        return;
    store16(ip + l.sum_at, whole);
    f->counter->offload[iface_get(b->iface[i])->port].completed++;
}

void offload(struct forwarder *f, struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (iface_get(b->iface[i])->flags & IFACE_OFFLOAD && !super_is(b->pkt[i]))
            offload_one(f, b, i);
}

enum drop_reason offload_cut(struct forwarder *f, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why)
{
    const struct iface *iface = iface_get(b->iface[i]);

    if (!(iface->flags & IFACE_OFFLOAD) || len <= iface->mtu)
        return why;
    f->counter->offload[iface->port].cut++;
    return DROP_OFFLOAD_CUT;
}
