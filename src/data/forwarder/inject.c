// SPDX-License-Identifier: BSD-3-Clause
// inject.c - packets from other threads for this forwarder
//
//   INJECT_FRAME    from the kernel, by tap_manager: leaves its interface unchanged, plus its tags
//   INJECT_NEXTHOP  held by neigh_manager, which now has a next hop: IP header first, TTL
//                   decremented
//   INJECT_TX       finished frames for a port whose transmit queue is ours
//
// At most one burst per poll, so that a busy kernel does not starve the ports. The thread that puts
// a packet into the ring counts it (inject); packets of the other two kinds never left the router.
// Exits of a frame that is too large: IP4_TOO_BIG, IP6_TOO_BIG.
#include "base/checksum.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/label.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/super.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "queue/queue.h"
#include "table/iface.h"
#include "table/packet_class.h"
#include "table/tunnel.h"
#include "forwarder/forbidden.h"

// --- frames that exceed their interface's MTU ---
//
// They leave as fragments (IPv4 without DF), or an error tells the kernel the MTU (with DF).
//
// A TAP shows at least 1280 bytes, because Linux removes IPv6 from a device with less
// (control/tap/tap.c). The interface's MTU may be smaller: by configuration of its port, or for a
// tunnel with a narrow path; IPv6 packets of 1280 bytes enter a tunnel in any case.
//
// The kernel is told by an ICMP error from the address that it sends to, like from a router behind
// it (RFC 1191 4). The error does not leave the router, so limits of errors do not apply.

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
    int n = fragment4_cut(f, id, m, piece, mtu);
    if (n <= 0) {
        packet_drop_bare(f, m, id, DROP_IP4_TOO_BIG);
        return;
    }
    for (int k = 0; k < n; k++) {
        memcpy(rte_pktmbuf_prepend(piece[k], ETHER_HDR), ether, ETHER_HDR);
        tx_frame(f, piece[k], id, DROP_INJECT_NO_BUFFER);
    }
    packet_end(f, m, 0);
}

// Handles a frame for interface `id` that exceeds its MTU. Returns false if it may leave as it is.
static bool inject_large(struct forwarder *f, struct rte_mbuf *m, uint16_t id)
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

// --- the ring ---

static void inject_frame(struct forwarder *f, struct rte_mbuf *m)
{
    uint16_t id = packet_meta(m)->iface;

    if (m->data_len < ETHER_HDR)
        packet_drop(f, m, id, DROP_ETHER_TRUNCATED);
    else {
        packet_class_set(m, QUEUE_CLASS_OWN);
        if (likely(m->pkt_len <= ETHER_HDR + iface_get(id)->mtu) || !inject_large(f, m, id))
            tx_frame(f, m, id, DROP_INJECT_NO_BUFFER);
    }
}

// Sends the packets in f->resumed.
static void send_resumed(struct forwarder *f)
{
    struct burst *b = &f->resumed;

    if (b->n && b->family == LABELS) {
        label_resume(f, b);
        burst_cross(f, b);
        ether_out_labels(f, b);
    } else if (b->n) {
        fwd_resume(f, b);
    }
    if (b->features & IFACE_ACL_OUT && b->n)
        checks_out(f, b);
    burst_cross(f, b);
    ether_out(f, b);
    burst_reset(b);
}

// Appends to the burst of held packets, which has one family: a packet of the other family sends it
// first.
static void inject_nexthop(struct forwarder *f, struct rte_mbuf *m)
{
    const struct packet_meta *meta = packet_meta(m);
    struct burst *b = &f->resumed;
    uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *);

    if (b->n && b->family != meta->family)
        send_resumed(f);
    b->family = meta->family;
    unsigned i = burst_add(b, m, ip, meta->iface);
    f->counter->vr[meta->owner].resumed++;
    counter_cross(f->counter, meta->owner, iface_get(meta->iface)->vr);
    b->nh[i] = meta->nexthop;
    b->len[i] = (uint16_t)m->pkt_len;
    if (meta->family == LABELS)
        b->vr[i] = meta->vr;
}

unsigned inject(struct forwarder *f)
{
    struct rte_mbuf *pkt[BURST_MAX];
    unsigned n = rte_ring_dequeue_burst(exchange_inject[f->index], (void **)pkt, BURST_MAX, NULL);

    for (unsigned i = 0; i < n; i++) {
        const struct packet_meta *meta = packet_meta(pkt[i]);
        if (meta->kind == INJECT_NEXTHOP)
            inject_nexthop(f, pkt[i]);
        else if (meta->kind == INJECT_TX) {
            f->supers |= super_is(pkt[i]);
            tx_append(f, pkt[i], meta->port, meta->iface);
        } else
            inject_frame(f, pkt[i]);
    }
    send_resumed(f);
    return n;
}
