// SPDX-License-Identifier: BSD-3-Clause
// tunnel_judge.c - see tunnel_linux.h
//
// Properties of a device that are not named here make no difference to another router: path MTU
// discovery off (our outer packets always have DF), the encapsulation limit of RFC 2473 (we send
// none and accept it), flow labels, VXLAN's range of source ports and its checksum over IPv4.
#include "tunnel/tunnel_linux.h"

#include <linux/if_tunnel.h>
#include <linux/ip6_tunnel.h>
#include <netinet/in.h>
#include <string.h>

enum { KEY = 0x2000, SEQUENCE = 0x1000, CHECKSUM = 0x8000 }; // GRE_* in host byte order
enum { TOS_INHERITED = 1, TCLASS_SHIFT = 20, HOPS = 64 };

bool tunnel_is_fallback(const struct netlink_link *l)
{
    static const char *const name[] = {"tunl0",   "sit0",    "ip6tnl0", "gre0",    "ip6gre0",
                                       "gretap0", "erspan0", "ip_vti0", "ip6_vti0"};

    for (unsigned k = 0; k < sizeof name / sizeof *name; k++)
        if (!strcmp(l->name, name[k]))
            return true;
    return false;
}

static bool is_zero(const uint8_t end[16])
{
    static const uint8_t zero[16];

    return !memcmp(end, zero, sizeof zero);
}

static bool is_multicast(const struct netlink_tunnel *t)
{
    return t->family == IP4 ? t->remote[0] >> 4 == 14 : t->remote[0] == 0xff;
}

static const char *judge_ends(const struct netlink_tunnel *t)
{
    if (t->elsewhere)
        return "has its outer packets in another network namespace";
    if (t->external)
        return "is told its ends with each packet (external)";
    if (is_zero(t->remote))
        return "has no fixed remote address";
    if (is_zero(t->local))
        return "has no fixed local address";
    if (is_multicast(t))
        return "has a multicast group as its remote address";
    return NULL;
}

static const char *judge_gre(const struct netlink_tunnel *t)
{
    uint16_t flags = t->iflags | t->oflags;

    if (flags & SEQUENCE)
        return "has sequence numbers (seq)";
    if (flags & CHECKSUM)
        return "has checksums (csum)";
    if (flags & ~KEY)
        return "has flags that are not supported";
    if ((t->iflags ^ t->oflags) & KEY || (flags & KEY && t->ikey != t->okey))
        return "has different receive and transmit keys (ikey, okey)";
    if (t->special)
        return "ignores DF of inner packets (ignore-df)";
    return NULL;
}

static const char *judge_ip(const struct netlink_tunnel *t)
{
    if (t->family == IP4 && t->flags & SIT_ISATAP)
        return "is an ISATAP tunnel";
    if (t->proto && t->proto != IPPROTO_IPIP && t->proto != IPPROTO_IPV6)
        return "carries something else than IP (mode)";
    return NULL;
}

static const char *judge_vxlan(const struct netlink_tunnel *t)
{
    if (t->port != TUNNEL_PORT_VXLAN)
        return "uses another UDP port than 4789 (dstport)";
    if (t->special)
        return "has VXLAN extensions (gbp, gpe, remcsum or vnifilter)";
    if (t->family == IP6 && t->zero_sent != t->zero_taken)
        return "has UDP checksums in one direction only (udp6zerocsumtx, udp6zerocsumrx)";
    return NULL;
}

static const char *judge_header(const struct netlink_tunnel *t)
{
    const uint32_t copied = t->flags & (IP6_TNL_F_USE_ORIG_TCLASS | IP6_TNL_F_RCV_DSCP_COPY);

    if (t->encap)
        return "has a further header (encap)";
    if (t->mark)
        return "routes its outer packets by a mark (fwmark)";
    if (t->family == IP6 && t->flags & (IP6_TNL_F_MIP6_DEV | IP6_TNL_F_USE_ORIG_FWMARK))
        return "has flags that are not supported";
    if (t->family == IP6 && copied == IP6_TNL_F_RCV_DSCP_COPY)
        return "copies DSCP from outer to inner packets and not back (dscp inherit)";
    return t->kind == NETLINK_TUNNEL_IP      ? judge_ip(t)
           : t->kind == NETLINK_TUNNEL_GRE   ? judge_gre(t)
           : t->kind == NETLINK_TUNNEL_VXLAN ? judge_vxlan(t)
                                             : "is of a kind that kamueed does not have";
}

static void read_marks(const struct netlink_tunnel *t, struct tunnel_settings *s)
{
    bool six = t->family == IP6 && t->kind != NETLINK_TUNNEL_VXLAN;
    bool copies = six ? t->flags & IP6_TNL_F_USE_ORIG_TCLASS : t->tos & TOS_INHERITED;
    uint8_t tos = six ? (uint8_t)(t->flowinfo >> TCLASS_SHIFT) : t->tos;

    s->dscp_mode = !copies                                     ? TUNNEL_DSCP_FIXED
                   : six && t->flags & IP6_TNL_F_RCV_DSCP_COPY ? TUNNEL_DSCP_UNIFORM
                                                               : TUNNEL_DSCP_COPY;
    s->dscp = copies ? 0 : tos >> 2;
    s->ttl = t->ttl;
    if (t->kind == NETLINK_TUNNEL_VXLAN && !t->ttl && !t->ttl_inherited)
        s->ttl = HOPS;
}

static void read_id(const struct netlink_tunnel *t, struct tunnel_settings *s)
{
    static const uint8_t kind[] = {
        [NETLINK_TUNNEL_IP] = TUNNEL_IPIP,       [NETLINK_TUNNEL_GRE] = TUNNEL_GRE,
        [NETLINK_TUNNEL_GRE_OTHER] = TUNNEL_GRE, [NETLINK_TUNNEL_VXLAN] = TUNNEL_VXLAN,
        [NETLINK_TUNNEL_OTHER] = TUNNEL_NONE,
    };

    s->id.kind = kind[t->kind];
    s->id.family = t->family;
    memcpy(s->id.local, t->local, sizeof s->id.local);
    memcpy(s->id.remote, t->remote, sizeof s->id.remote);
    s->keyed = s->id.kind == TUNNEL_GRE && t->iflags & KEY;
    s->id.key = s->keyed || s->id.kind == TUNNEL_VXLAN ? t->ikey : 0;
}

const char *tunnel_judge(const struct netlink_link *l, struct tunnel_settings *s)
{
    const struct netlink_tunnel *t = &l->tunnel;
    const char *why = t->kind == NETLINK_TUNNEL_OTHER ? judge_header(t) : judge_ends(t);

    *s = (struct tunnel_settings){.by_linux = true};
    read_id(t, s);
    read_marks(t, s);
    s->zero_checksum = t->zero_sent;
    if (t->kind == NETLINK_TUNNEL_IP)
        s->only = t->proto == IPPROTO_IPIP ? IP4 : t->proto == IPPROTO_IPV6 ? IP6 : IP_NONE;
    return why ? why : judge_header(t);
}
