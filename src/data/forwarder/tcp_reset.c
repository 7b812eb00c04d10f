// SPDX-License-Identifier: BSD-3-Clause
// tcp_reset.c - resets a TCP connection on behalf of a host that would not answer
//
// RFC 9293 3.5.2 (RFC 793 3.4), as for a connection that does not exist: a reset is not answered; a
// segment with ACK is answered by a reset with that sequence number, any other by one with sequence
// number 0 that acknowledges it. The reset is sent like an ICMP error, with f->origin4 or origin6,
// and has the same limits.

#include "base/checksum.h"
#include "base/ip6_chain.h"
#include "forwarder/icmp.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

#define TCP_HDR 20u
#define RESET_TTL 65 // 64 on the wire: the forwarding path decrements it
#define HEADERS_READ 512u

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

struct segment {
    uint8_t tcp[TCP_HDR]; // its header
    uint32_t bytes;       // TCP header and data
};

// Offset of the TCP header, after headers that acl_key.c has read; 0 = none.
static uint32_t tcp_at(const uint8_t *ip, uint32_t end, uint8_t family)
{
    if (family == IP4)
        return (ip[0] & 15) * 4u;
    struct ip6_chain c = ip6_chain(ip, end);
    return !c.cut && !c.offset && c.proto == PROTO_TCP ? c.at : 0;
}

static bool read_segment(const struct burst *b, unsigned i, struct segment *s)
{
    const uint8_t *ip = b->ip[i];
    struct rte_mbuf *m = b->pkt[i];
    uint8_t copy[HEADERS_READ];
    uint32_t n = RTE_MIN((uint32_t)b->len[i], HEADERS_READ);
    const uint8_t *p = rte_pktmbuf_read(m, packet_l2_len(m, ip), n, copy);
    uint32_t at = p ? tcp_at(p, n, b->family) : 0;

    if (!at || at + TCP_HDR > n)
        return false;
    memcpy(s->tcp, p + at, TCP_HDR);
    s->bytes = b->len[i] - at;
    return true;
}

// Fills in the TCP header of the reset, without its checksum.
static void fill_reset(const struct segment *s, uint8_t *tcp)
{
    const uint8_t *in = s->tcp;
    uint32_t head = (in[12] >> 4) * 4u, data = s->bytes > head ? s->bytes - head : 0;

    memset(tcp, 0, TCP_HDR);
    memcpy(tcp, in + 2, 2);
    memcpy(tcp + 2, in, 2);
    tcp[12] = TCP_HDR / 4 << 4;
    tcp[13] = TCP_RST;
    if (in[13] & TCP_ACK) {
        memcpy(tcp + 4, in + 8, 4);
        return;
    }
    data += !!(in[13] & TCP_SYN) + !!(in[13] & TCP_FIN);
    tcp[13] |= TCP_ACK;
    store32(tcp + 8, rte_cpu_to_be_32(rte_be_to_cpu_32(load32(in + 4)) + data));
}

static void fill_headers4(uint8_t *ip, const uint8_t *about, uint16_t id)
{
    memset(ip, 0, IP4_HDR);
    ip[0] = 0x45;
    store16(ip + 2, rte_cpu_to_be_16(IP4_HDR + TCP_HDR));
    store16(ip + 4, rte_cpu_to_be_16(id));
    ip[8] = RESET_TTL;
    ip[9] = PROTO_TCP;
    memcpy(ip + 12, about + 16, 4);
    memcpy(ip + 16, about + 12, 4);
    store16(ip + 10, checksum(ip, IP4_HDR));
    uint32_t sum = checksum_add((uint32_t)RTE_BE16(PROTO_TCP) + RTE_BE16(TCP_HDR), ip + 12, 8);
    store16(ip + IP4_HDR + 16, checksum_finish(checksum_add(sum, ip + IP4_HDR, TCP_HDR)));
}

static void fill_headers6(uint8_t *ip, const uint8_t *about)
{
    memset(ip, 0, IP6_HDR);
    ip[0] = 0x60;
    store16(ip + 4, rte_cpu_to_be_16(TCP_HDR));
    ip[6] = PROTO_TCP;
    ip[7] = RESET_TTL;
    memcpy(ip + 8, about + 24, 16);
    memcpy(ip + 24, about + 8, 16);
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, TCP_HDR, PROTO_TCP);
    store16(ip + IP6_HDR + 16, checksum_finish(checksum_add(sum, ip + IP6_HDR, TCP_HDR)));
}

void tcp_reset(struct forwarder *f, struct burst *b, unsigned i)
{
    struct segment s;
    uint32_t head = b->family == IP4 ? IP4_HDR : IP6_HDR;

    if (!read_segment(b, i, &s) || s.tcp[13] & TCP_RST || !icmp_may_answer(f, b, i))
        return;
    struct rte_mbuf *m = rte_pktmbuf_alloc(exchange_pool);
    if (!m)
        return;
    uint8_t *ip = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(head + TCP_HDR));
    fill_reset(&s, ip + head);
    if (b->family == IP4)
        fill_headers4(ip, b->ip[i], f->icmp_id++);
    else
        fill_headers6(ip, b->ip[i]);
    origin_add(f, b->family, m, b->iface[i], b->vr[i]);
}
