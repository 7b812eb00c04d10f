// SPDX-License-Identifier: BSD-3-Clause
// netlink_tunnel.c - parses the attributes of Linux tunnel devices (netlink.h)
//
// Linux has three sets of attributes: for IP in IP, GRE and VXLAN. This file reads only the
// attributes by which tunnel/tunnel_judge.c decides whether our packets can look like the device's.
#include <endian.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <string.h>

#include "netlink/netlink.h"
#include "netlink/netlink_attr.h"

static const struct {
    const char *word;
    uint8_t kind;
} kinds[] = {
    {"ipip", NETLINK_TUNNEL_IP},          {"sit", NETLINK_TUNNEL_IP},
    {"ip6tnl", NETLINK_TUNNEL_IP},        {"gre", NETLINK_TUNNEL_GRE},
    {"ip6gre", NETLINK_TUNNEL_GRE},       {"gretap", NETLINK_TUNNEL_GRE_OTHER},
    {"ip6gretap", NETLINK_TUNNEL_GRE_OTHER}, {"erspan", NETLINK_TUNNEL_GRE_OTHER},
    {"ip6erspan", NETLINK_TUNNEL_GRE_OTHER}, {"vxlan", NETLINK_TUNNEL_VXLAN},
    {"geneve", NETLINK_TUNNEL_OTHER},     {"vti", NETLINK_TUNNEL_OTHER},
    {"vti6", NETLINK_TUNNEL_OTHER},
};

void netlink_tunnel_word(const struct nlattr *kind, struct netlink_tunnel *t)
{
    char word[sizeof t->word] = "";
    size_t n = attr_len(kind);

    if (n >= sizeof word)
        return;
    memcpy(word, attr_payload(kind), n);
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(word, kinds[k].word)) {
            t->kind = kinds[k].kind;
            memcpy(t->word, word, sizeof word);
        }
}

// Reads a number of one, two or four bytes. A flag without payload is 1.
static uint32_t number(const struct nlattr *a)
{
    const uint8_t *p = attr_payload(a);
    uint32_t four;
    uint16_t two;

    switch (attr_len(a)) {
    case 0: return 1;
    case 1: return *p;
    case 2: memcpy(&two, p, 2); return two;
    case 4: memcpy(&four, p, 4); return four;
    default: return 0;
    }
}

// Reads an end address; all zeros means none.
static void read_end(const struct nlattr *a, uint8_t to[16], struct netlink_tunnel *t)
{
    size_t n = attr_len(a);

    if (n != 4 && n != 16)
        return;
    memcpy(to, attr_payload(a), n);
    t->family = n == 4 ? IP4 : IP6;
}

static void ip_attr(const struct nlattr *a, struct netlink_tunnel *t)
{
    switch (attr_type(a)) {
    case IFLA_IPTUN_LINK: t->dev = (int)number(a); break;
    case IFLA_IPTUN_LOCAL: read_end(a, t->local, t); break;
    case IFLA_IPTUN_REMOTE: read_end(a, t->remote, t); break;
    case IFLA_IPTUN_TTL: t->ttl = (uint8_t)number(a); break;
    case IFLA_IPTUN_TOS: t->tos = (uint8_t)number(a); break;
    case IFLA_IPTUN_PROTO: t->proto = (uint8_t)number(a); break;
    case IFLA_IPTUN_FLAGS: t->flags = number(a); break;
    case IFLA_IPTUN_FLOWINFO: t->flowinfo = be32toh(number(a)); break;
    case IFLA_IPTUN_ENCAP_TYPE: t->encap = (uint16_t)number(a); break;
    case IFLA_IPTUN_COLLECT_METADATA: t->external = true; break;
    case IFLA_IPTUN_FWMARK: t->mark = number(a); break;
    }
}

static void gre_attr(const struct nlattr *a, struct netlink_tunnel *t)
{
    switch (attr_type(a)) {
    case IFLA_GRE_LINK: t->dev = (int)number(a); break;
    case IFLA_GRE_LOCAL: read_end(a, t->local, t); break;
    case IFLA_GRE_REMOTE: read_end(a, t->remote, t); break;
    case IFLA_GRE_TTL: t->ttl = (uint8_t)number(a); break;
    case IFLA_GRE_TOS: t->tos = (uint8_t)number(a); break;
    case IFLA_GRE_IFLAGS: t->iflags = be16toh((uint16_t)number(a)); break;
    case IFLA_GRE_OFLAGS: t->oflags = be16toh((uint16_t)number(a)); break;
    case IFLA_GRE_IKEY: t->ikey = be32toh(number(a)); break;
    case IFLA_GRE_OKEY: t->okey = be32toh(number(a)); break;
    case IFLA_GRE_FLAGS: t->flags = number(a); break;
    case IFLA_GRE_FLOWINFO: t->flowinfo = be32toh(number(a)); break;
    case IFLA_GRE_ENCAP_TYPE: t->encap = (uint16_t)number(a); break;
    case IFLA_GRE_COLLECT_METADATA: t->external = true; break;
    case IFLA_GRE_IGNORE_DF: t->special = number(a); break;
    case IFLA_GRE_FWMARK: t->mark = number(a); break;
    }
}

static void vxlan_attr(const struct nlattr *a, struct netlink_tunnel *t)
{
    switch (attr_type(a)) {
    case IFLA_VXLAN_LINK: t->dev = (int)number(a); break;
    case IFLA_VXLAN_ID: t->ikey = number(a); break;
    case IFLA_VXLAN_GROUP:
    case IFLA_VXLAN_GROUP6: read_end(a, t->remote, t); break;
    case IFLA_VXLAN_LOCAL:
    case IFLA_VXLAN_LOCAL6: read_end(a, t->local, t); break;
    case IFLA_VXLAN_TTL: t->ttl = (uint8_t)number(a); break;
    case IFLA_VXLAN_TOS: t->tos = (uint8_t)number(a); break;
    case IFLA_VXLAN_PORT: t->port = be16toh((uint16_t)number(a)); break;
    case IFLA_VXLAN_UDP_ZERO_CSUM6_TX: t->zero_sent = number(a); break;
    case IFLA_VXLAN_UDP_ZERO_CSUM6_RX: t->zero_taken = number(a); break;
    case IFLA_VXLAN_COLLECT_METADATA: t->external |= number(a); break;
    case IFLA_VXLAN_TTL_INHERIT: t->ttl_inherited = true; break;
    case IFLA_VXLAN_GBP:
    case IFLA_VXLAN_GPE: t->special = true; break;
    case IFLA_VXLAN_REMCSUM_TX:
    case IFLA_VXLAN_REMCSUM_RX:
    case IFLA_VXLAN_VNIFILTER: t->special |= number(a); break;
    }
}

void netlink_tunnel_data(const struct nlattr *data, struct netlink_tunnel *t, bool *damaged)
{
    static void (*const take[])(const struct nlattr *, struct netlink_tunnel *) = {
        [NETLINK_TUNNEL_IP] = ip_attr,
        [NETLINK_TUNNEL_GRE] = gre_attr,
        [NETLINK_TUNNEL_GRE_OTHER] = gre_attr,
        [NETLINK_TUNNEL_VXLAN] = vxlan_attr,
        [NETLINK_TUNNEL_OTHER] = NULL,
    };
    const struct nlattr *a;
    bool bad = false;

    if (!take[t->kind])
        return;
    attr_each(a, attr_payload(data), (const char *)attr_payload(data) + attr_len(data))
        take[t->kind](a, t);
    *damaged |= bad;
}
