// SPDX-License-Identifier: BSD-3-Clause
// super.c - see super.h
//
// Segments are copies, as Linux cuts them (RFC 793, RFC 768; Linux' tcp_gso_segment): the IPv4
// identification and the sequence number grow, FIN and PSH are in the last segment only, CWR in the
// first only (RFC 3168 6.1.2). Copies suit every port, and their checksums are complete.
#include "table/super.h"

#include <rte_ip.h>
#include <string.h>

#include "base/checksum.h"
#include "base/ip.h"
#include "base/ip_proto.h"
#include "table/exchange.h"

enum { TAG = 4, ETHER = 14, UDP_HEADER = 8, TCP_HEADER = 20 };
enum { TCP_FIN = 1, TCP_PSH = 8, TCP_CWR = 0x80 };

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static bool is_vlan_tag(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

// Reads the IP header at h->l3. Returns the offset of the packet's end, 0 = none.
static uint32_t read_ip(const uint8_t *frame, uint32_t readable, uint8_t family,
                        struct super_header *h)
{
    const uint8_t *ip = frame + h->l3;

    h->family = family;
    if (family == IP4 && readable >= h->l3 + 20u && ip[0] >> 4 == 4 && (ip[0] & 15) >= 5 &&
        !(get16(ip + 6) & 0x3fff)) { // a fragment
        h->proto = ip[9];
        h->l4 = (uint16_t)(h->l3 + (ip[0] & 15) * 4u);
        return h->l3 + (uint32_t)get16(ip + 2);
    }
    if (family == IP6 && readable >= h->l3 + 40u && ip[0] >> 4 == 6) {
        h->proto = ip[6];
        h->l4 = (uint16_t)(h->l3 + 40u);
        return h->l4 + (uint32_t)get16(ip + 4);
    }
    return 0;
}

// The tunnel's headers end where an IP header without options begins that ends at `l4` and has the
// length of the packet.
static bool read_inner(const uint8_t *frame, uint32_t readable, uint32_t l4, uint32_t end,
                       struct super *s)
{
    static const uint8_t family[] = {IP4, IP6};

    s->outer = s->head;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t hlen = family[i] == IP4 ? 20 : 40;
        s->head.l3 = (uint16_t)(l4 - hlen);
        if (l4 >= s->outer.l4 + hlen && read_ip(frame, readable, family[i], &s->head) == end &&
            s->head.l4 == l4)
            return s->outer.proto == PROTO_UDP || s->outer.proto == PROTO_IP4 ||
                   s->outer.proto == PROTO_IP6 ||
                   (s->outer.proto == PROTO_GRE && !(frame[s->outer.l4] & 0x80));
    }
    return false;
}

static bool read_l4(const uint8_t *frame, uint32_t readable, struct super *s)
{
    uint32_t least = s->head.proto == PROTO_TCP ? TCP_HEADER : UDP_HEADER, n = least;

    if (s->head.proto != PROTO_TCP && s->head.proto != PROTO_UDP)
        return false;
    if (readable < s->head.l4 + least)
        return false;
    if (s->head.proto == PROTO_TCP)
        n = (frame[s->head.l4 + 12] >> 4) * 4u;
    s->payload = (uint16_t)(s->head.l4 + n);
    return n >= least && s->payload <= readable;
}

// Reads the headers. Returns false if the payload cannot be found.
static bool read_headers(const struct rte_mbuf *m, struct super *s)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    const uint32_t readable = m->data_len;
    uint32_t type_at = 12;

    *s = (struct super){0};
    while (type_at <= 12 + 2 * TAG && readable >= type_at + 2 &&
           is_vlan_tag(get16(frame + type_at)))
        type_at += TAG;
    if (readable < type_at + 2)
        return false;
    uint16_t type = get16(frame + type_at);
    s->head.l3 = (uint16_t)(type_at + 2);
    uint32_t end = read_ip(frame, readable,
                           type == 0x0800   ? IP4
                           : type == 0x86dd ? IP6
                                            : IP_NONE,
                           &s->head);
    if (!end || end > m->pkt_len ||
        (super_is(m) && m->outer_l3_len && !read_inner(frame, readable, m->outer_l3_len, end, s)) ||
        !read_l4(frame, readable, s) || end <= s->payload)
        return false;
    s->bytes = end - s->payload;
    return true;
}

bool super_read(const struct rte_mbuf *m, struct super *s)
{
    if (!read_headers(m, s) || !m->tso_segsz)
        return false;
    s->segment = m->tso_segsz;
    s->n = (s->bytes + s->segment - 1) / s->segment;
    return s->n <= SUPER_SEGMENTS_MAX;
}

bool super_read_segment(const struct rte_mbuf *m, struct super *s)
{
    if (!read_headers(m, s))
        return false;
    s->segment = (uint16_t)s->bytes;
    s->n = 1;
    return true;
}

static uint8_t *checksum_of(uint8_t *frame, const struct super_header *h)
{
    return frame + h->l4 + (h->proto == PROTO_TCP ? 16 : 6);
}

static uint16_t pseudo_sum(const struct rte_mbuf *m, const struct super_header *h)
{
    const void *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, h->l3);

    return h->family == IP4 ? rte_ipv4_phdr_cksum(ip, 0) : rte_ipv6_phdr_cksum(ip, 0);
}

void super_request(struct rte_mbuf *m, const struct super *s)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    uint16_t sum = pseudo_sum(m, &s->head);

    memcpy(checksum_of(frame, &s->head), &sum, 2);
    m->ol_flags |= (s->head.proto == PROTO_TCP ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
                   (s->head.family == IP4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
    m->l2_len = s->head.l3;
    m->l3_len = (uint16_t)(s->head.l4 - s->head.l3);
    m->l4_len = (uint8_t)(s->payload - s->head.l4);
}

// Appends the next `n` bytes of payload behind `done` bytes of `to`.
static void copy_payload(struct rte_mbuf *to, uint32_t done, uint32_t n, struct super_at *at)
{
    while (n) {
        uint32_t most = RTE_MIN(at->buffer->data_len - at->offset, to->data_len - done);
        most = RTE_MIN(most, n);
        memcpy(rte_pktmbuf_mtod_offset(to, uint8_t *, done),
               rte_pktmbuf_mtod_offset(at->buffer, const uint8_t *, at->offset), most);
        at->offset += most;
        done += most;
        n -= most;
        if (at->offset == at->buffer->data_len) {
            at->buffer = at->buffer->next;
            at->offset = 0;
        }
        if (done == to->data_len) {
            to = to->next;
            done = 0;
        }
    }
}

static void write_ip(uint8_t *frame, const struct super_header *h, uint32_t end, uint32_t k)
{
    uint8_t *ip = frame + h->l3;

    if (h->family == IP6) {
        put16(ip + 4, end - h->l4);
        return;
    }
    put16(ip + 2, end - h->l3);
    put16(ip + 4, get16(ip + 4) + k);
    memset(ip + 10, 0, 2);
    uint16_t sum = checksum(ip, h->l4 - h->l3);
    memcpy(ip + 10, &sum, 2);
}

// Sum of the pseudo-header and of all from the TCP or UDP header on: UINT16_MAX if the checksum is
// right. Each buffer but the last has an even number of bytes from there on.
static uint16_t sum_of(const struct rte_mbuf *m, const struct super_header *h)
{
    uint16_t sum = 0;

    rte_raw_cksum_mbuf(m, h->l4, m->pkt_len - h->l4, &sum);
    return (uint16_t)~checksum_finish((uint32_t)sum + pseudo_sum(m, h));
}

static void write_checksum(struct rte_mbuf *p, const struct super_header *h)
{
    uint8_t *field = checksum_of(rte_pktmbuf_mtod(p, uint8_t *), h);

    memset(field, 0, 2);
    uint16_t sum = (uint16_t)~sum_of(p, h);
    if (!sum && h->proto == PROTO_UDP) // RFC 768: 0 would mean no checksum
        sum = UINT16_MAX;
    memcpy(field, &sum, 2);
}

bool super_checksum_is_right(const struct rte_mbuf *m, const struct super *s)
{
    return sum_of(m, &s->head) == UINT16_MAX;
}

static void write_tcp(uint8_t *tcp, const struct super *s, uint32_t k)
{
    uint32_t seq = ((uint32_t)get16(tcp + 4) << 16 | get16(tcp + 6)) + k * s->segment;

    put16(tcp + 4, seq >> 16);
    put16(tcp + 6, seq);
    if (k)
        tcp[13] &= (uint8_t)~TCP_CWR;
    if (k + 1 < s->n)
        tcp[13] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
}

// Completes the headers of segment k, whose payload is in place.
static void write_headers(struct rte_mbuf *p, const struct super *s, uint32_t k)
{
    uint8_t *frame = rte_pktmbuf_mtod(p, uint8_t *), *l4 = frame + s->head.l4;

    write_ip(frame, &s->head, p->pkt_len, k);
    if (s->head.proto == PROTO_TCP)
        write_tcp(l4, s, k);
    else
        put16(l4 + 4, p->pkt_len - s->head.l4);
    write_checksum(p, &s->head);
    if (!s->outer.family)
        return;
    write_ip(frame, &s->outer, p->pkt_len, k);
    if (s->outer.proto != PROTO_UDP)
        return;
    put16(frame + s->outer.l4 + 4, p->pkt_len - s->outer.l4);
    if (get16(frame + s->outer.l4 + 6))
        write_checksum(p, &s->outer);
}

struct rte_mbuf *super_piece(const struct rte_mbuf *m, const struct super *s, uint32_t k,
                             struct super_at *at)
{
    uint32_t bytes = super_piece_bytes(s, k);
    struct rte_mbuf *p = packet_new(exchange_pool, bytes);

    if (!p)
        return NULL;
    if (!k)
        *at = (struct super_at){.buffer = m, .offset = s->payload};
    if (at->buffer && at->offset == at->buffer->data_len)
        *at = (struct super_at){.buffer = at->buffer->next};
    p->port = m->port;
    p->ol_flags = m->ol_flags & ~(RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    p->vlan_tci = m->vlan_tci;
    p->vlan_tci_outer = m->vlan_tci_outer;
    p->hash = m->hash;
    memcpy(rte_pktmbuf_mtod(p, uint8_t *), rte_pktmbuf_mtod(m, const uint8_t *), s->payload);
    copy_payload(p, s->payload, bytes - s->payload, at);
    write_headers(p, s, k);
    return p;
}
