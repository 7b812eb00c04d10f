// SPDX-License-Identifier: BSD-3-Clause
// inject_large.c - frames of the kernel that exceed their interface's MTU
//
//     in     one frame of inject.c, for an interface
//     out    fragments (IPv4 without DF), or an error that tells the kernel the MTU (with DF)
//     exits  IP4_TOO_BIG, IP6_TOO_BIG
//
// A TAP shows at least 1280 bytes, because Linux removes IPv6 from a device with less
// (control/tap/tap.c). The interface's MTU may be smaller: by configuration of its port, or for a
// tunnel with a narrow path; IPv6 packets of 1280 bytes enter a tunnel in any case.
//
// The kernel is told by an ICMP error from the address that it sends to, like from a router behind
// it (RFC 1191 4). The error does not leave the router, so limits of errors do not apply.
#include "forwarder/stages.h"

#include "base/checksum.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/packet.h"
#include "forwarder/tx.h"
#include "table/packet_class.h"
#include "table/tunnel.h"
#include "forwarder/forbidden.h"

enum { ICMP_HDR = 8, ERROR_MAX = 576, ERROR_TOS = 0xc0 };
enum { NEED = IP4_HDR + ICMP_HDR };

// Turns the frame into the error about it. Returns false if its buffer has no room.
static bool tell_kernel(struct forwarder *f, struct rte_mbuf *m, uint16_t id, uint16_t mtu)
{
    uint8_t *was = rte_pktmbuf_mtod(m, uint8_t *), *ip = was + ETHER_HDR - NEED,
            *icmp = ip + IP4_HDR, *frame = (uint8_t *)rte_pktmbuf_prepend(m, NEED), mac[12];

    if (!frame)
        return false;
    packet_trim(m, ETHER_HDR + ERROR_MAX);
    memcpy(mac, was + 6, 6);
    memcpy(mac + 6, was, 6);
    memcpy(frame, mac, 12);
    store16(frame + 12, ETHER_TYPE_IP4);
    memset(ip, 0, NEED);
    ip[0] = 0x45;
    ip[1] = ERROR_TOS;
    store16(ip + 2, rte_cpu_to_be_16((uint16_t)(m->pkt_len - ETHER_HDR)));
    ip[8] = 64;
    ip[9] = PROTO_ICMP;
    memcpy(ip + 12, ip + NEED + 16, 4);
    memcpy(ip + 16, ip + NEED + 12, 4);
    store16(ip + 10, checksum(ip, IP4_HDR));
    icmp[0] = 3;
    icmp[1] = 4;
    store16(icmp + 6, rte_cpu_to_be_16(mtu));
    store16(icmp + 2, checksum(icmp, m->pkt_len - ETHER_HDR - IP4_HDR));
    punt(f, m, id, PUNT_ICMP);
    return true;
}

static void send_pieces(struct forwarder *f, struct rte_mbuf *m, uint16_t id, uint16_t mtu)
{
    struct rte_mbuf *piece[BURST_MAX];
    uint8_t ether[ETHER_HDR];

    memcpy(ether, rte_pktmbuf_mtod(m, const uint8_t *), ETHER_HDR);
    rte_pktmbuf_adj(m, ETHER_HDR);
    int n = mtu < 2 * IP4_HDR ? 0 : fragment4_cut(m, piece, mtu);
    if (n <= 0) {
        packet_drop_bare(f, m, id, DROP_IP4_TOO_BIG);
        return;
    }
    f->counter->inject += (unsigned)n - 1;
    f->counter->vr[iface_get(id)->vr].copies += (unsigned)n - 1;
    for (int k = 0; k < n; k++) {
        uint8_t *ip = rte_pktmbuf_mtod(piece[k], uint8_t *);
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, (ip[0] & 15) * 4u));
        memcpy(rte_pktmbuf_prepend(piece[k], ETHER_HDR), ether, ETHER_HDR);
        packet_class_copy(piece[k], m);
        tx_frame(f, piece[k], id, DROP_INJECT_NO_BUFFER);
    }
    packet_end(f, m, 0);
}

bool inject_large(struct forwarder *f, struct rte_mbuf *m, uint16_t id)
{
    const struct iface *iface = iface_get(id);
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *ip = frame + ETHER_HDR;
    const uint16_t type = load16(frame + 12);
    const bool four = type == ETHER_TYPE_IP4;

    if (iface->kind == IFACE_NONE || (!four && type != ETHER_TYPE_IP6) ||
        m->data_len < ETHER_HDR + IP4_HDR ||
        m->pkt_len <= ETHER_HDR + (uint32_t)tunnel_iface_mtu(iface, four ? IP4 : IP6))
        return false;
    if (!four)
        packet_drop(f, m, id, DROP_IP6_TOO_BIG);
    else if (!ip4_has_df(ip))
        send_pieces(f, m, id, iface->mtu);
    else if (frame[0] & 1 || !icmp4_may_be_answered(ip, m->data_len - ETHER_HDR) ||
             !tell_kernel(f, m, id, iface->mtu))
        packet_drop(f, m, id, DROP_IP4_TOO_BIG);
    return true;
}
