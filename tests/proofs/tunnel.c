// SPDX-License-Identifier: BSD-3-Clause
// tunnel.c - outer headers of packets of tunnels over IPv4, up to the inner IP header
//
// ip4_in or ether_in has checked the outer IPv4 header.
#include "proof.h"

#include "base/checksum.h"
#define checksum_add any_sum

#include "forwarder/tunnel_in.c"

static struct forwarder f;
static struct tunnel tunnels[2];
struct tunnel_index {
    int any;
};
static const struct tunnel_index some;

struct tunnel *tunnel_table = tunnels;
const struct tunnel_index *tunnel_index = &some;
uint64_t metalink_flag = 1ull << 40;
struct tunnel nondet_tunnel(void);

uint16_t tunnel_find(const struct tunnel_index *x, const struct tunnel_key *k)
{
    return nondet_bool() && !memcmp(&tunnels[1].id, k, sizeof *k);
}

bool tunnel_ends(const struct tunnel_index *x, const struct tunnel_key *k)
{
    return nondet_bool();
}

static bool is_sound(const uint8_t *ip, uint32_t n, uint32_t pkt_len)
{
    uint32_t hlen = (ip[0] & 15) * 4u, len = load16_host(ip + 2);

    return ip[0] >> 4 == 4 && hlen >= IP4_HDR && hlen <= n && len >= hlen && len <= pkt_len;
}

void proof(void)
{
    static struct burst b;
    struct rte_mbuf m;
    struct outer o;
    unsigned n = any_length(IP4_HDR, BYTES);
    uint8_t *ip = any_packet(&m, n);
    enum drop_reason why;
    uint16_t number;

    b.family = IP4;
    assume(is_sound(ip, n, m.pkt_len));
    tunnels[1] = nondet_tunnel();
    assume(tunnels[1].kind < TUNNEL_KIND_N && tunnels[1].kind == tunnels[1].id.kind);
    b.pkt[0] = &m;
    b.ip[0] = ip;
    b.vr[0] = nondet_u16();
    f.tunnel_last = nondet_bool();
    if (!find_tunnel(&f, &b, 0, &o, &number, &why) || why)
        return;
    if (checks(&m, &o, &tunnels[number]))
        return;
    claim(o.at >= ip + ETHER_HDR && o.at + o.left <= ip + n);
    claim((uint32_t)(o.at - ip) + o.whole <= m.pkt_len); // cut_packet
}
