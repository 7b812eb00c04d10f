// SPDX-License-Identifier: BSD-3-Clause
// tunnel_icmp.c - see tunnel_back.h
//
// The error quotes the outer packet as we sent it: its source is the tunnel's local end. The kernel
// also gets the error, but knows no tunnel. If the quotation does not reach the key or VNI, the
// error concerns all tunnels between these ends.
#include "tap/tunnel_back.h"

#include <stdbool.h>
#include <string.h>

#include "base/ip_proto.h"
#include "core/rcu.h"
#include "rib/rib_manager.h"
#include "table/tunnel.h"

static uint32_t be(const uint8_t *p, unsigned n)
{
    uint32_t w = 0;

    while (n--)
        w = w << 8 | *p++;
    return w;
}

// Reads the tunnel header behind the quoted IP header. Returns false if it is not a tunnel's.
static bool read_shim(struct tunnel_key *k, bool *has_key, uint8_t proto, const uint8_t *at,
                      uint32_t n)
{
    uint16_t port = proto == PROTO_UDP && n >= 4 ? (uint16_t)be(at + 2, 2) : 0;

    *has_key = true;
    if (proto == 4 || proto == 41)
        k->kind = TUNNEL_IPIP;
    else if (proto == PROTO_GRE)
        k->kind = TUNNEL_GRE;
    else
        k->kind = port == TUNNEL_PORT_GRE     ? TUNNEL_GRE_UDP
                  : port == TUNNEL_PORT_VXLAN ? TUNNEL_VXLAN
                                              : TUNNEL_NONE;
    if (proto == PROTO_UDP) {
        at += 8;
        n = n > 8 ? n - 8 : 0;
    }
    if (k->kind == TUNNEL_VXLAN) {
        *has_key = n >= 8;
        k->key = *has_key ? be(at + 4, 4) >> 8 : 0;
    } else if (k->kind == TUNNEL_GRE || k->kind == TUNNEL_GRE_UDP) {
        *has_key = n >= 1 && (!(at[0] & 0x20) || n >= 8);
        k->key = *has_key && at[0] & 0x20 ? be(at + 4, 4) : 0;
    }
    return k->kind != TUNNEL_NONE;
}

static void read_quote4(const uint8_t *ip, uint32_t n, struct tunnel_key *k, uint16_t mtu)
{
    uint32_t hlen = n >= 20 ? (ip[0] & 15) * 4u : 0;
    bool has_key;

    if (hlen < 20 || n < hlen || ip[0] >> 4 != 4)
        return;
    memcpy(k->local, ip + 12, 4);
    memcpy(k->remote, ip + 16, 4);
    if (read_shim(k, &has_key, ip[9], ip + hlen, n - hlen))
        rib_tunnel_too_big(k, has_key, mtu);
}

static void read_quote6(const uint8_t *ip, uint32_t n, struct tunnel_key *k, uint32_t mtu)
{
    bool has_key;

    if (n < 40 || ip[0] >> 4 != 6 || mtu < IP6_MTU_MIN) // RFC 8201 4
        return;
    memcpy(k->local, ip + 8, 16);
    memcpy(k->remote, ip + 24, 16);
    if (read_shim(k, &has_key, ip[6], ip + 40, n - 40))
        rib_tunnel_too_big(k, has_key, mtu > UINT16_MAX ? UINT16_MAX : (uint16_t)mtu);
}

void tunnel_icmp(const uint8_t *frame, uint32_t n, uint16_t vr)
{
    const uint8_t *ip = frame + 14;
    uint16_t type = n >= 14 ? (uint16_t)be(frame + 12, 2) : 0;
    struct tunnel_key k = {.vr = vr};

    n = n >= 14 ? n - 14 : 0;
    if (!rcu_load(&tunnel_index))
        return;
    if (type == 0x0800 && n >= 20) {
        uint32_t hlen = (ip[0] & 15) * 4u;
        k.family = IP4;
        if (ip[9] == PROTO_ICMP && n >= hlen + 8 && be(ip + hlen, 2) == 0x0304)
            read_quote4(ip + hlen + 8, n - hlen - 8, &k, (uint16_t)be(ip + hlen + 6, 2));
    } else if (type == 0x86dd && n >= 48 && ip[6] == PROTO_ICMP6 && ip[40] == 2) {
        k.family = IP6;
        read_quote6(ip + 48, n - 48, &k, be(ip + 44, 4));
    }
}
