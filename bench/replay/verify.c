// SPDX-License-Identifier: BSD-3-Clause
// verify.c - checks forwarded frames
//
// The next hop is looked up in our own trie (route.c). Next hop i has MAC 02:4b:52:00:I:I and is on
// port i % ports. Virtual router k forwards by the same prefixes to next hop (i + k) % hops, so the
// use of another's table is detected. A frame counts once for each kind of fault. A frame whose
// source is not ours is foreign, since the program may send its own packets; so the runner counts a
// frame with a damaged source as lost.
#include <string.h>

#include "replay.h"

#define TTL 64

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

struct frame {
    const uint8_t *mac, *ip;
    unsigned ip_bytes; // present bytes
    unsigned vlan;     // 0 = untagged
    bool is_ip6;
};

static bool source_is_ours(const struct frame *f)
{
    return f->is_ip6 ? !memcmp(f->ip + 8, "\x20\x01\x00\x02\0\0\0", 7)
                     : f->ip[12] == 198 && f->ip[13] == 18;
}

// False: the frame is not ours.
static bool parse(const struct rte_mbuf *m, struct frame *f)
{
    unsigned l2 = 14, type, least;

    f->mac = rte_pktmbuf_mtod(m, const uint8_t *);
    f->vlan = 0;
    if (m->data_len < 14)
        return false;
    type = get16(f->mac + 12);
    if (type == 0x8100 && m->data_len >= 18) {
        f->vlan = get16(f->mac + 14) & 0xfff;
        type = get16(f->mac + 16);
        l2 = 18;
    }
    f->is_ip6 = type == 0x86dd;
    f->ip = f->mac + l2;
    f->ip_bytes = m->data_len - l2;
    least = f->is_ip6 ? 48 : 28;
    return (f->is_ip6 || type == 0x0800) && f->ip_bytes >= least &&
           f->ip[0] >> 4 == (f->is_ip6 ? 6 : 4) && source_is_ours(f);
}

static bool payload_is_whole(const struct frame *f, unsigned ip_length)
{
    unsigned header = f->is_ip6 ? 40 : 20, bytes = ip_length - header;
    const uint8_t *udp = f->ip + header;

    return get16(udp + 4) == bytes &&
           traffic_sum(udp, bytes, traffic_pseudo_header(f->ip, f->is_ip6, bytes)) == 0xffff;
}

static void verify_path(const struct option *o, const struct route_table *t, const struct frame *f,
                        uint64_t *fault)
{
    unsigned vr =
        o->vlan_low ? f->ip[f->is_ip6 ? 15 : 14] : 0; // traffic.c put it into the source address
    uint16_t hop =
        f->is_ip6 ? route_find(&t->ip6, f->ip + 24, 128) : route_find(&t->ip4, f->ip + 16, 32);

    if (hop != HOP_NONE)
        hop = (uint16_t)((hop + vr) % o->hops);
    const uint8_t mac[6] = {0x02, 0x4b, 0x52, 0x00, (uint8_t)(hop >> 8), (uint8_t)hop};
    fault[FAULT_HOP] += hop == HOP_NONE || memcmp(f->mac, mac, 6);
    fault[FAULT_PORT] += hop % o->ports != o->index;
    fault[FAULT_VLAN] += f->vlan != (o->vlan_low ? o->vlan_low + vr : 0);
}

void verify_frame(const struct option *o, const struct route_table *routes,
                  const struct rte_mbuf *m, struct page_tx *count)
{
    uint64_t *fault = count->fault;
    struct frame f;

    if (!parse(m, &f)) {
        count->foreign++;
        return;
    }
    count->verified++;
    unsigned ip_length = f.is_ip6 ? 40 + get16(f.ip + 4) : get16(f.ip + 2);
    if (ip_length != f.ip_bytes || m->nb_segs != 1 || m->pkt_len != m->data_len) {
        fault[FAULT_LENGTH]++;
        return;
    }
    fault[FAULT_MAC] += memcmp(f.mac + 6, &o->mac, 6) != 0;
    fault[FAULT_TTL] += f.ip[f.is_ip6 ? 7 : 8] != TTL - 1;
    fault[FAULT_CHECKSUM] += !f.is_ip6 && (f.ip[0] != 0x45 || traffic_sum(f.ip, 20, 0) != 0xffff);
    fault[FAULT_PAYLOAD] += !payload_is_whole(&f, ip_length);
    if (o->verify == 2)
        verify_path(o, routes, &f, fault);
}
