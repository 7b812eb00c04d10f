// SPDX-License-Identifier: BSD-3-Clause
// icmp_link.c - ICMP errors from and to link-local addresses
//
// A host has sent from its link-local address to another link (RFC 4443 3.1, code 2); or the
// virtual router has no other address (RFC 7404). Such addresses belong to one link and are in no
// FIB, so the error leaves by the packet's input interface, from our link-local address there, to
// the MAC that sent the packet: a host on the link gets it, a router drops it. Rules and token
// buckets: as for all errors (icmp_error.c).
#include "forwarder/icmp.h"
#include "forwarder/packet.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "forwarder/forbidden.h"

#define ICMP_HDR 8u
#define IP6_ERROR_MAX 1280u

enum { ICMP6_UNREACHABLE = 1, ICMP6_CODE_SCOPE = 2 };

static bool may_answer(const struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i], *own = iface_get(b->iface[i])->addr6_ll;
    const uint8_t *frame = rte_pktmbuf_mtod(b->pkt[i], const uint8_t *);

    return own[0] == 0xfe && iface_get(b->iface[i])->kind != IFACE_TUNNEL &&
           packet_l2_len(b->pkt[i], ip) >= ETHER_HDR && !(frame[6] & 1) &&
           !icmp6_may_be_error(ip, packet_readable(b->pkt[i], ip));
}

void icmp6_link_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                      uint32_t word)
{
    const unsigned head = ETHER_HDR + IP6_HDR + ICMP_HDR;
    const struct iface *iface = iface_get(b->iface[i]);
    const uint8_t *about = rte_pktmbuf_mtod(b->pkt[i], const uint8_t *);

    if (!may_answer(b, i)) {
        f->counter->icmp.forbidden++;
        return;
    }
    if (!icmp_has_token(f, b, i, type, code)) {
        f->counter->icmp.limited++;
        return;
    }
    struct rte_mbuf *m = icmp_quote(b, i, head, IP6_ERROR_MAX - IP6_HDR - ICMP_HDR);
    if (!m)
        return;
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *ip = frame + ETHER_HDR;
    memcpy(frame, about + 6, 6);
    memcpy(frame + 6, iface->mac, 6);
    store16(frame + 12, ETHER_TYPE_IP6);
    icmp6_fill(ip, m->data_len - ETHER_HDR, iface->addr6_ll, b->ip[i] + 8, type, code,
               word);
    ip[7]--; // it bypasses the forwarding path, which would decrement it
    f->counter->inject++;
    f->counter->icmp.sent++;
    f->counter->iface[iface->id].inject_packets++;
    tx_frame(f, m, iface->id, DROP_TX_NO_BUFFER);
}

void icmp6_beyond_scope(struct forwarder *f, struct burst *b, unsigned i)
{
    icmp6_link_error(f, b, i, ICMP6_UNREACHABLE, ICMP6_CODE_SCOPE, 0);
}
