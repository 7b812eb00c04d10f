// SPDX-License-Identifier: BSD-3-Clause
// frame.c - builds and checks frames of path tests
#include "harness.h"

#include <arpa/inet.h>

#include "base/checksum.h"

const uint8_t broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

const uint8_t *neighbor_mac(unsigned k)
{
    static uint8_t mac[4][6];
    static unsigned turn;
    uint8_t *m = mac[turn++ % 4];

    memcpy(m, (uint8_t[6]){0x02, 0, 0, 0, (uint8_t)(k >> 8), (uint8_t)k}, 6);
    return m;
}

struct frame frame_raw(const void *bytes, unsigned n)
{
    struct frame f = {.n = n};

    memcpy(f.b, bytes, n);
    return f;
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static unsigned put_l4(uint8_t *p, const struct ip_spec *s)
{
    if (s->l4) {
        memcpy(p, s->l4, s->l4_len);
        return s->l4_len;
    }
    unsigned n = 8 + s->payload;
    memset(p, 0x5a, n);
    put16(p, s->sport ? s->sport : 1000);
    put16(p + 2, s->dport ? s->dport : 2000);
    put16(p + 4, n);
    put16(p + 6, 0);
    return n;
}

static unsigned put_ip4(uint8_t *p, const struct ip_spec *s)
{
    unsigned hlen = 20 + s->options, n = hlen + put_l4(p + hlen, s);

    memset(p, 0, 20);
    memset(p + 20, 1, s->options);
    p[0] = (uint8_t)(0x40 | hlen / 4);
    p[1] = s->tos;
    put16(p + 2, n);
    put16(p + 4, 0x1234);
    put16(p + 6, s->fragment);
    p[8] = s->ttl_zero ? 0 : s->ttl ? s->ttl : 64;
    p[9] = s->proto ? s->proto : 17;
    assert_int_equal(inet_pton(AF_INET, s->src, p + 12), 1);
    assert_int_equal(inet_pton(AF_INET, s->dst, p + 16), 1);
    uint16_t sum = checksum(p, hlen);
    memcpy(p + 10, &sum, 2);
    return n;
}

static unsigned put_ip6(uint8_t *p, const struct ip_spec *s)
{
    unsigned n = put_l4(p + 40, s);

    memset(p, 0, 40);
    p[0] = (uint8_t)(0x60 | s->tos >> 4);
    p[1] = (uint8_t)(s->tos << 4 | (s->flow_label >> 16 & 15));
    put16(p + 2, s->flow_label & 0xffff);
    put16(p + 4, n);
    p[6] = s->proto ? s->proto : 17;
    p[7] = s->ttl_zero ? 0 : s->ttl ? s->ttl : 64;
    assert_int_equal(inet_pton(AF_INET6, s->src, p + 8), 1);
    assert_int_equal(inet_pton(AF_INET6, s->dst, p + 24), 1);
    return 40 + n;
}

struct frame frame_ip(const struct ip_spec *s)
{
    struct frame f = {0};
    bool is4 = !strchr(s->dst, ':');
    uint8_t *p = f.b;

    memcpy(p, s->dst_mac ? s->dst_mac : iface_get(s->to_iface ? s->to_iface : 1)->mac, 6);
    memcpy(p + 6, neighbor_mac(0xee), 6);
    p += 12;
    if (s->outer_tpid) {
        put16(p, s->outer_tpid);
        put16(p + 2, s->outer_tci);
        p += 4;
    }
    if (s->vlan) {
        put16(p, 0x8100);
        put16(p + 2, s->vlan);
        p += 4;
    }
    put16(p, is4 ? 0x0800 : 0x86dd);
    p += 2;
    p += is4 ? put_ip4(p, s) : put_ip6(p, s);
    f.n = (unsigned)(p - f.b);
    if (f.n < s->pad_to)
        f.n = s->pad_to;
    return f;
}

uint8_t *frame_l3(struct frame *f)
{
    uint8_t *at = f->b + 12;

    while ((at[0] == 0x81 || at[0] == 0x91) ? at[1] == 0 : at[0] == 0x88 && at[1] == 0xa8)
        at += 4;
    return at + 2;
}

bool frame_is_ip4_sound(const struct frame *f)
{
    const uint8_t *ip = frame_l3((struct frame *)f);
    unsigned hlen = (ip[0] & 15) * 4u, len = (unsigned)ip[2] << 8 | ip[3];

    return ip[0] >> 4 == 4 && checksum(ip, hlen) == 0 && (ip - f->b) + len <= f->n;
}

void ip4_fix_checksum(struct frame *f)
{
    uint8_t *ip = frame_l3(f);

    put16(ip + 10, 0);
    uint16_t sum = checksum(ip, (ip[0] & 15) * 4u);
    memcpy(ip + 10, &sum, 2);
}
