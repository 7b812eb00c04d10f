// SPDX-License-Identifier: BSD-3-Clause
// sample_packet.c - reads the flow fields of a sampled frame (sample_packet.h)
//
// A header is read only if it is complete. Ports are read from the first fragment only, and for
// ICMP type and code take the place of the destination port.
#include "export/sample_packet.h"

#include <stdbool.h>
#include <string.h>

#include "base/ip6_chain.h"
#include "export/flow_cache.h"

enum { ETHER_IP4 = 0x0800, ETHER_IP6 = 0x86dd, ETHER_MPLS = 0x8847, TAGS_MAX = 3, DEPTH = 16 };

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static bool is_vlan_tag(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

static void read_ports(const uint8_t *l4, const uint8_t *end, struct sample_packet *p)
{
    if (end - l4 < 4)
        return;
    if (p->proto == PROTO_ICMP || p->proto == PROTO_ICMP6) {
        p->dport = get16(l4);
    } else if (p->proto == PROTO_TCP || p->proto == PROTO_UDP || p->proto == PROTO_SCTP ||
               p->proto == PROTO_UDPLITE) {
        p->sport = get16(l4);
        p->dport = get16(l4 + 2);
    }
    if (p->proto == PROTO_TCP && end - l4 >= 14)
        p->tcp_flags = l4[13];
}

static void read_ip4(const uint8_t *ip, const uint8_t *end, struct sample_packet *p)
{
    unsigned header = (ip[0] & 15) * 4u;

    p->src.family = p->dst.family = IP4;
    memcpy(p->src.b, ip + 12, 4);
    memcpy(p->dst.b, ip + 16, 4);
    p->tos = ip[1];
    p->proto = ip[9];
    p->length = get16(ip + 2);
    if (!(get16(ip + 6) & 0x1fff) && header >= 20 && end - ip > header) // not a later fragment
        read_ports(ip + header, end, p);
}

static void read_ip6(const uint8_t *ip, const uint8_t *end, struct sample_packet *p)
{
    p->src.family = p->dst.family = IP6;
    memcpy(p->src.b, ip + 8, 16);
    memcpy(p->dst.b, ip + 24, 16);
    p->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    p->length = IP6_HDR + get16(ip + 4);
    struct ip6_chain c = ip6_chain(ip, (uint32_t)(end - ip));
    p->proto = c.proto;
    if (!c.cut && !c.offset && end - ip > c.at)
        read_ports(ip + c.at, end, p);
}

// Returns what follows the last label; NULL: it is not there.
static const uint8_t *read_labels(const uint8_t *at, const uint8_t *end, struct sample_stack *s)
{
    bool bottom = false;

    for (; !bottom && s->n < DEPTH && end - at >= 4; at += 4) {
        if (s->n < SAMPLE_LABELS)
            memcpy(s->entry[s->n], at, 3);
        s->n++;
        bottom = at[2] & 1;
    }
    return bottom ? at : NULL;
}

void sample_packet_read(const uint8_t *frame, uint32_t n, struct sample_packet *p)
{
    const uint8_t *end = frame + n, *type = frame + 12;

    *p = (struct sample_packet){0};
    for (unsigned tags = 0; tags < TAGS_MAX && end - type >= 6 && is_vlan_tag(get16(type)); tags++)
        type += 4;
    if (end - type < 2)
        return;
    const bool labels = get16(type) == ETHER_MPLS;
    const uint8_t *ip = labels ? read_labels(type + 2, end, &p->labels) : type + 2;
    if (!ip)
        return;
    if ((labels || get16(type) == ETHER_IP4) && end - ip >= 20 && ip[0] >> 4 == 4)
        read_ip4(ip, end, p);
    else if ((labels || get16(type) == ETHER_IP6) && end - ip >= 40 && ip[0] >> 4 == 6)
        read_ip6(ip, end, p);
}

void sample_packet_key(const struct sample_packet *p, struct flow_key *key)
{
    memset(key, 0, sizeof *key);
    key->src.family = p->src.family;
    key->dst.family = p->dst.family;
    memcpy(key->src.b, p->src.b, 16);
    memcpy(key->dst.b, p->dst.b, 16);
    key->sport = p->sport;
    key->dport = p->dport;
    key->proto = p->proto;
    key->tos = p->tos;
    memcpy(&key->labels, &p->labels, sizeof key->labels);
}
