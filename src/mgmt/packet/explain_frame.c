// SPDX-License-Identifier: BSD-3-Clause
// explain_frame.c - builds the frame for `explain` from the operator's input (explain_frame.h)
//
// The frame is as a host would send it: lengths, checksums and padding are right, and TCP begins a
// connection. It grows to the requested size with zero bytes. A later fragment has no header above
// IP.
#include "packet/explain_frame.h"

#include <string.h>

#include "base/checksum.h"
#include "base/text.h"

enum { ICMP4 = 1, TCP = 6, UDP = 17, FRAGMENT = 44, ICMP6 = 58, SCTP = 132, UDPLITE = 136 };
enum { ETHER_MIN = 60 };

static const struct {
    const char *name;
    uint8_t number;
} protocols[] = {{"icmp", ICMP4},  {"igmp", 2},    {"tcp", TCP},        {"udp", UDP},
                 {"rsvp", 46},     {"gre", 47},    {"esp", 50},         {"ah", 51},
                 {"icmp6", ICMP6}, {"eigrp", 88},  {"ospf", 89},        {"pim", 103},
                 {"vrrp", 112},    {"sctp", SCTP}, {"udplite", UDPLITE}};

int explain_protocol(const char *name, uint8_t family)
{
    uint64_t n;

    if (!strcmp(name, "icmp") && family == IP6)
        return ICMP6;
    for (unsigned i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (!strcmp(protocols[i].name, name))
            return protocols[i].number;
    return text_parse_u64(name, 0, 255, &n) ? -1 : (int)n;
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xffff);
}

// --- payload of IP ---

static unsigned l4_header(uint8_t proto)
{
    return proto == TCP                                                           ? 20
           : proto == SCTP                                                        ? 12
           : proto == UDP || proto == UDPLITE || proto == ICMP4 || proto == ICMP6 ? 8
                                                                                  : 0;
}

static uint32_t pseudo_sum(const struct packet_spec *s, unsigned len)
{
    uint8_t tail[4] = {0, s->proto};

    if (s->src.family == IP6)
        return checksum_pseudo6(s->src.b, s->dst.b, len, s->proto);
    put16(tail + 2, len);
    return checksum_add(checksum_add(checksum_add(0, s->src.b, 4), s->dst.b, 4), tail, 4);
}

static void put_checksum(const struct packet_spec *s, uint8_t *p, unsigned len)
{
    unsigned at = s->proto == TCP                          ? 16
                  : s->proto == UDP || s->proto == UDPLITE ? 6
                  : s->proto == ICMP4 || s->proto == ICMP6 ? 2
                                                           : 0;
    uint32_t sum = s->proto == ICMP4 ? 0 : pseudo_sum(s, len);

    if (!at)
        return;
    uint16_t value = checksum_finish(checksum_add(sum, p, len));
    memcpy(p + at, &(uint16_t){value ? value : 0xffff}, 2);
}

// Writes `len` bytes at p, which are zero. A later fragment has no header.
static void put_l4(const struct packet_spec *s, uint8_t *p, unsigned len)
{
    if (s->offset || len < l4_header(s->proto))
        return;
    switch (s->proto) {
    case TCP:
        p[12] = 5 << 4;
        p[13] = s->tcp_flags ? s->tcp_flags : 0x02; // SYN
        break;
    case UDP:
    case UDPLITE:
        put16(p + 4, len);
        break;
    case ICMP4:
    case ICMP6:
        p[0] = s->icmp_type;
        p[1] = s->icmp_code;
        break;
    }
    if (s->proto != ICMP4 && s->proto != ICMP6 && l4_header(s->proto)) {
        put16(p, s->sport);
        put16(p + 2, s->dport);
    }
    put_checksum(s, p, len);
}

// --- IP ---

static unsigned put_ip4(const struct packet_spec *s, uint8_t *p)
{
    unsigned head = 20, rest = s->offset ? 0 : l4_header(s->proto),
             len = s->size > head + rest ? s->size : head + rest;

    p[0] = 0x45;
    p[1] = s->tos;
    put16(p + 2, len);
    put16(p + 6, (s->df ? 0x4000u : 0) | (s->more ? 0x2000u : 0) | s->offset / 8u);
    p[8] = s->ttl;
    p[9] = s->proto;
    memcpy(p + 12, s->src.b, 4);
    memcpy(p + 16, s->dst.b, 4);
    memcpy(p + 10, &(uint16_t){checksum(p, head)}, 2);
    put_l4(s, p + head, len - head);
    return len;
}

static unsigned put_ip6(const struct packet_spec *s, uint8_t *p)
{
    bool fragment = s->offset || s->more;
    unsigned head = fragment ? 48 : 40, rest = s->offset ? 0 : l4_header(s->proto);
    unsigned len = s->size > head + rest ? s->size : head + rest;

    put32(p, 6u << 28 | (uint32_t)s->tos << 20 | (s->label & 0xfffff));
    put16(p + 4, len - 40);
    p[6] = fragment ? FRAGMENT : s->proto;
    p[7] = s->ttl;
    memcpy(p + 8, s->src.b, 16);
    memcpy(p + 24, s->dst.b, 16);
    if (fragment) {
        p[40] = s->proto;
        put16(p + 42, s->offset | s->more);
    }
    put_l4(s, p + head, len - head);
    return len;
}

uint32_t explain_frame(const struct packet_spec *s, uint8_t *frame)
{
    uint8_t *p = frame + 12;

    memset(frame, 0, EXPLAIN_FRAME_ROOM);
    memcpy(frame, s->dst_mac, 6);
    memcpy(frame + 6, s->src_mac, 6);
    if (s->outer_vlan) {
        put16(p, s->outer_tpid);
        put16(p + 2, s->outer_vlan);
        p += 4;
    }
    if (s->vlan) {
        put16(p, 0x8100);
        put16(p + 2, s->vlan);
        p += 4;
    }
    put16(p, s->src.family == IP6 ? 0x86dd : 0x0800);
    p += 2;
    p += s->src.family == IP6 ? put_ip6(s, p) : put_ip4(s, p);
    uint32_t n = (uint32_t)(p - frame);
    return n < ETHER_MIN ? ETHER_MIN : n;
}
