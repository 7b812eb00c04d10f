// SPDX-License-Identifier: BSD-3-Clause
// tunnel_back.c - see tunnel_back.h
//
// The outer header is the template of table/tunnel.h with its ends exchanged. The inner packet
// already has the ECN and DSCP of the received packet. UDP over IPv6 gets the sum of its pseudo
// header, and the kernel is told to add the rest, so it accepts the checksum.
#include "tap/tunnel_back.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <string.h>

#include "base/checksum.h"
#include "table/iface.h"

enum { ETHER_HDR = 14, IP4_HDR = 20, IP6_HDR = 40, UDP_SUM = 6, HOPS = 64, SOURCE_PORT = 49152 };
enum { ICMP_REDIRECT = 5 };
enum { TYPE_IP4 = 0x0800, TYPE_IP6 = 0x86dd };

uint16_t tunnel_back_iface(uint16_t id)
{
    for (unsigned k = 0; id && tunnel_is_by_linux(iface_get(id)); k++) {
        const struct tunnel *t = tunnel_get(tunnel_of_iface(iface_get(id)));
        id = k <= TUNNEL_NESTED_MAX ? __atomic_load_n(&t->out, __ATOMIC_RELAXED) : 0;
    }
    return id;
}

static void put16(uint8_t *p, uint32_t host)
{
    p[0] = (uint8_t)(host >> 8);
    p[1] = (uint8_t)host;
}

static void exchange(uint8_t *a, uint8_t *b, unsigned n)
{
    uint8_t kept[16];

    memcpy(kept, a, n);
    memcpy(a, b, n);
    memcpy(b, kept, n);
}

static void finish4(uint8_t *ip, uint32_t len, uint8_t proto)
{
    uint16_t sum;

    exchange(ip + 12, ip + 16, 4);
    put16(ip + 2, len);
    ip[8] = HOPS;
    ip[9] = proto ? proto : ip[9];
    sum = checksum_finish(checksum_add(0, ip, IP4_HDR));
    memcpy(ip + 10, &sum, sizeof sum);
}

static void finish6(uint8_t *ip, uint32_t len, uint8_t proto)
{
    exchange(ip + 8, ip + 24, 16);
    put16(ip + 4, len - IP6_HDR);
    ip[6] = proto ? proto : ip[6];
    ip[7] = HOPS;
}

static void finish_udp(struct tunnel_back *b, uint8_t *ip, uint8_t *udp, uint32_t len, bool six)
{
    put16(udp, SOURCE_PORT);
    put16(udp + 4, len);
    if (!six)
        return;
    uint16_t sum = (uint16_t)~checksum_finish(checksum_pseudo6(ip + 8, ip + 24, len, IPPROTO_UDP));
    memcpy(udp + UDP_SUM, &sum, sizeof sum);
    b->header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    b->header.csum_start = (uint16_t)(udp - b->bytes);
    b->header.csum_offset = UDP_SUM;
}

static void put_ether(uint8_t *frame, const uint8_t mac[6], bool six)
{
    memcpy(frame, mac, 6);
    memcpy(frame + 6, mac, 6);
    frame[11] ^= 1; // the other end
    put16(frame + 12, six ? TYPE_IP6 : TYPE_IP4);
}

// A device that does not forward accepts redirects as long as `all` does; a router does not (RFC
// 1812 5.2.7.2).
static bool is_redirect(const struct rte_mbuf *m, uint16_t type)
{
    const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, ETHER_HDR);
    uint32_t at = ETHER_HDR + (type == TYPE_IP4 && m->data_len >= ETHER_HDR + IP4_HDR
                                   ? (ip[0] & 15) * 4u
                                   : UINT16_MAX);

    return at < m->data_len && ip[9] == IPPROTO_ICMP && ip[at - ETHER_HDR] == ICMP_REDIRECT;
}

bool tunnel_back_make(struct tunnel_back *b, const struct tunnel *t, const struct rte_mbuf *m,
                      const uint8_t mac[6])
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    bool six = t->id.family == IP6, ethernet = tunnel_is_ethernet(t->id.kind);
    uint16_t type = m->data_len >= ETHER_HDR ? (uint16_t)(frame[12] << 8 | frame[13]) : 0;
    uint8_t *ip = b->bytes + ETHER_HDR, *shim = ip + (six ? IP6_HDR : IP4_HDR);
    uint32_t len = t->size + m->pkt_len - (ethernet ? 0 : ETHER_HDR);

    if (is_redirect(m, type))
        return false;
    if ((!ethernet && type != TYPE_IP4 && type != TYPE_IP6) || !type || len > UINT16_MAX)
        return false;
    *b = (struct tunnel_back){.size = (uint16_t)(ETHER_HDR + t->size),
                              .skip = ethernet ? 0 : ETHER_HDR};
    put_ether(b->bytes, mac, six);
    memcpy(ip, t->header + TUNNEL_HEADER - t->size, t->size);
    uint8_t proto = t->id.kind != TUNNEL_IPIP ? 0
                    : type == TYPE_IP4        ? IPPROTO_IPIP
                                              : IPPROTO_IPV6;
    six ? finish6(ip, len, proto) : finish4(ip, len, proto);
    if (tunnel_is_udp(t->id.kind))
        finish_udp(b, ip, shim, len - (six ? IP6_HDR : IP4_HDR), six);
    if (t->id.kind == TUNNEL_GRE || t->id.kind == TUNNEL_GRE_UDP)
        put16(shim + (tunnel_is_udp(t->id.kind) ? 8 : 0) + 2, type);
    return true;
}
