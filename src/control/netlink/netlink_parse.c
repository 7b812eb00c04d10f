// SPDX-License-Identifier: BSD-3-Clause
// netlink_parse.c - one kernel message in, one typed event out
//
// This file checks every length, with attr_each (netlink_attr.h) and a `bad` flag that any short
// attribute raises: a message is taken whole or not at all. It hides two peculiarities of
// rtnetlink:
//   - a route's next hop comes as RTA_GATEWAY, as RTA_VIA (IPv4 via IPv6) or inside RTA_MULTIPATH,
//     and becomes hop[] in each case; with RTA_NH_ID the hops are a copy of the object's, and are
//     dropped;
//   - AF_BRIDGE and other foreign families are not ours (0).
#include <endian.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/lwtunnel.h>
#include <linux/mpls.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/plain.h"
#include "netlink/netlink.h"
#include "netlink/netlink_attr.h"

static void attr_via(const struct nlattr *a, struct ip_addr *addr, bool *bad)
{
    const struct rtvia *via = attr_payload(a);
    size_t n = attr_len(a);
    uint8_t family;

    memset(addr, 0, sizeof *addr);
    family = n >= sizeof *via ? ip_family_of_af(via->rtvia_family) : 0;
    if (!family || n < sizeof *via + (family == IP4 ? 4 : 16)) {
        *bad = true;
        return;
    }
    addr->family = family;
    memcpy(addr->b, via->rtvia_addr, family == IP4 ? 4 : 16);
}

// The kernel expresses "no gateway" by omitting the attribute or by an all-zero address.
static bool ip_is_zero(const struct ip_addr *a)
{
    static const uint8_t zero[16];

    return !memcmp(a->b, zero, 16);
}

static void hop_finish(struct netlink_hop *hop)
{
    if (hop->gateway.family && ip_is_zero(&hop->gateway))
        hop->gateway.family = IP_NONE;
}

// The encapsulation type may come before or after the encapsulation itself.
static void attr_encap(const struct nlattr *a, bool is_type, uint8_t *encap, bool *bad)
{
    uint16_t type = is_type ? attr_u16(a, bad) : 0;

    if (type && type < NETLINK_ENCAP_OTHER)
        *encap = (uint8_t)type;
    else if (!*encap)
        *encap = NETLINK_ENCAP_OTHER;
}

static void parse_multipath(const struct nlattr *mp, uint8_t family, struct netlink_route *r,
                            bool *out_bad)
{
    const char *p = attr_payload(mp), *end = p + attr_len(mp);
    bool bad = false;

    r->multipath = true;
    while (end - p >= (int)sizeof(struct rtnexthop)) {
        const struct rtnexthop *nh = (const void *)p;
        const struct nlattr *a;
        struct netlink_hop hop = {.weight = (uint16_t)(nh->rtnh_hops + 1),
                                  .ifindex = nh->rtnh_ifindex,
                                  .onlink = nh->rtnh_flags & RTNH_F_ONLINK,
                                  .dead = nh->rtnh_flags & RTNH_F_DEAD};

        if (nh->rtnh_len < sizeof *nh || nh->rtnh_len > end - p) {
            bad = true;
            break;
        }
        attr_each(a, RTNH_DATA(nh), p + nh->rtnh_len) {
            switch (attr_type(a)) {
            case RTA_GATEWAY: attr_ip(a, family, &hop.gateway, &bad); break;
            case RTA_VIA: attr_via(a, &hop.gateway, &bad); break;
            case RTA_ENCAP:
            case RTA_ENCAP_TYPE:
                attr_encap(a, attr_type(a) == RTA_ENCAP_TYPE, &r->encap, &bad);
                break;
            }
        }
        hop_finish(&hop);
        if (r->n_hops < NETLINK_HOPS)
            r->hop[r->n_hops++] = hop;
        p += RTNH_ALIGN(nh->rtnh_len);
    }
    *out_bad |= bad;
}

// Only the MTU metric affects forwarded packets. The other metrics concern the host's own
// connections; so does the MTU lock, which keeps path MTU discovery from changing the MTU.
static void parse_metrics(const struct nlattr *metrics, struct netlink_route *r, bool *out_bad)
{
    const char *p = attr_payload(metrics);
    const struct nlattr *a;
    bool bad = false;

    r->metrics_hash = (uint32_t)hash_bytes(p, attr_len(metrics), 0);
    attr_each(a, p, p + attr_len(metrics)) {
        if (attr_type(a) == RTAX_MTU) {
            uint32_t mtu = attr_u32(a, &bad);
            r->mtu = (uint16_t)(mtu < UINT16_MAX ? mtu : UINT16_MAX);
        }
    }
    *out_bad |= bad;
}

static int parse_route(const struct nlmsghdr *h, struct netlink_route *r)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    uint8_t family;
    struct netlink_hop hop = {.weight = 1};
    bool bad = false, has_hop = false;

    family = ip_family_of_af(m->rtm_family);
    if (!family)
        return 0;
    if (m->rtm_dst_len > ip_bits(family))
        return -EBADMSG;
    memset(r, 0, offsetof(struct netlink_route, hop));
    r->prefix.family = family;
    r->prefix.len = m->rtm_dst_len;
    r->type = m->rtm_type;
    r->protocol = m->rtm_protocol;
    r->scope = m->rtm_scope;
    r->tos = m->rtm_tos;
    r->table = m->rtm_table;
    r->cloned = m->rtm_flags & RTM_F_CLONED;
    r->from = m->rtm_src_len != 0;
    r->source = (struct prefix){.family = family, .len = m->rtm_src_len};
    hop.onlink = m->rtm_flags & RTNH_F_ONLINK;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case RTA_DST: {
            struct ip_addr dst;

            attr_ip(a, family, &dst, &bad);
            memcpy(r->prefix.b, dst.b, 16);
            break;
        }
        case RTA_SRC: {
            struct ip_addr src;

            attr_ip(a, family, &src, &bad);
            memcpy(r->source.b, src.b, 16);
            break;
        }
        case RTA_OIF: hop.ifindex = (int)attr_u32(a, &bad); has_hop = true; break;
        case RTA_GATEWAY: attr_ip(a, family, &hop.gateway, &bad); has_hop = true; break;
        case RTA_VIA: attr_via(a, &hop.gateway, &bad); has_hop = true; break;
        case RTA_PRIORITY: r->metric = attr_u32(a, &bad); break;
        case RTA_TABLE: r->table = attr_u32(a, &bad); break;
        case RTA_PREFSRC: attr_ip(a, family, &r->prefsrc, &bad); break;
        case RTA_NH_ID: r->nhid = attr_u32(a, &bad); break;
        case RTA_ENCAP:
        case RTA_NEWDST:
        case RTA_ENCAP_TYPE:
            attr_encap(a, attr_type(a) == RTA_ENCAP_TYPE, &r->encap, &bad);
            break;
        case RTA_METRICS: parse_metrics(a, r, &bad); break;
        case RTA_MULTIPATH: parse_multipath(a, family, r, &bad); break;
        }
    }
    if (bad)
        return -EBADMSG;
    prefix_canon(&r->prefix);
    if (r->nhid) {
        r->n_hops = r->encap = 0;
    } else if (!r->multipath && has_hop) {
        hop_finish(&hop);
        r->hop[0] = hop;
        r->n_hops = 1;
    }
    return 1;
}

static const char *attr_end(const struct nlattr *a)
{
    return (const char *)attr_payload(a) + attr_len(a);
}

static bool attr_is(const struct nlattr *a, const char *word)
{
    size_t n = strlen(word); // with or without the terminating 0

    return attr_len(a) >= n && attr_len(a) <= n + 1 &&
           !memcmp(attr_payload(a), word, n);
}

static void parse_info_data(const struct nlattr *data, struct netlink_link *l, bool *damaged)
{
    const struct nlattr *a;
    bool bad = false;

    attr_each(a, attr_payload(data), attr_end(data)) {
        if (l->kind == NETLINK_LINK_VRF && attr_type(a) == IFLA_VRF_TABLE)
            l->vrf_table = attr_u32(a, &bad);
        if (l->kind == NETLINK_LINK_VLAN && attr_type(a) == IFLA_VLAN_ID)
            l->vlan = attr_u16(a, &bad);
    }
    *damaged |= bad;
}

// Reads the kind of the device. IFLA_INFO_KIND comes before IFLA_INFO_DATA.
static void parse_linkinfo(const struct nlattr *info, struct netlink_link *l, bool *damaged)
{
    const struct nlattr *a;
    bool bad = false;

    attr_each(a, attr_payload(info), attr_end(info)) {
        switch (attr_type(a)) {
        case IFLA_INFO_KIND:
            l->kind = attr_is(a, "macvlan") || attr_is(a, "macvtap") ? NETLINK_LINK_MACVLAN
                      : attr_is(a, "vlan")                            ? NETLINK_LINK_VLAN
                      : attr_is(a, "vrf")                             ? NETLINK_LINK_VRF
                                                                      : NETLINK_LINK_OTHER;
            netlink_tunnel_word(a, &l->tunnel);
            break;
        case IFLA_INFO_DATA:
            parse_info_data(a, l, &bad);
            netlink_tunnel_data(a, &l->tunnel, &bad);
            break;
        }
    }
    *damaged |= bad;
}

static int parse_link(const struct nlmsghdr *h, struct netlink_link *l)
{
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool bad = false, lower_elsewhere = false;

    if (m->ifi_family != AF_UNSPEC)
        return 0;
    memset(l, 0, sizeof *l);
    l->ifindex = m->ifi_index;
    l->up = m->ifi_flags & IFF_UP;
    l->carrier = m->ifi_flags & IFF_RUNNING;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case IFLA_MTU: l->mtu = attr_u32(a, &bad); break;
        case IFLA_LINK: l->lower = (int)attr_u32(a, &bad); break;
        case IFLA_LINK_NETNSID: lower_elsewhere = true; break;
        case IFLA_MASTER: l->master = (int)attr_u32(a, &bad); break;
        case IFLA_LINKINFO: parse_linkinfo(a, l, &bad); break;
        case IFLA_ADDRESS:
            if (attr_len(a) == sizeof l->mac)
                memcpy(l->mac, attr_payload(a), sizeof l->mac);
            break;
        case IFLA_IFNAME: {
            size_t n = attr_len(a);

            memcpy(l->name, attr_payload(a), n < 15 ? n : 15);
            break;
        }
        }
    }
    if (l->name[0] && !plain_name(l->name)) { // no valid name begins with '#'
        memcpy(l->odd_name, l->name, sizeof l->odd_name);
        memset(l->name, 0, sizeof l->name);
        snprintf(l->name, sizeof l->name, "#%d", l->ifindex);
    }
    if (lower_elsewhere)
        l->lower = 0;
    l->tunnel.elsewhere = l->tunnel.kind && lower_elsewhere;
    return bad || l->ifindex <= 0 ? -EBADMSG : 1;
}

#define PROTO_KERNEL_LL 3 // IFAPROT_KERNEL_LL

static int parse_addr(const struct nlmsghdr *h, struct netlink_addr *r)
{
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    struct ip_addr address = {0}, local = {0};
    uint32_t flags;
    uint8_t family;
    bool bad = false, automatic = false;

    family = ip_family_of_af(m->ifa_family);
    if (!family)
        return 0;
    flags = m->ifa_flags;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case IFA_ADDRESS: attr_ip(a, family, &address, &bad); break;
        case IFA_LOCAL: attr_ip(a, family, &local, &bad); break;
        case IFA_FLAGS: flags = attr_u32(a, &bad); break;
        case IFA_PROTO:
            automatic = attr_len(a) &&
                        *(const uint8_t *)attr_payload(a) == PROTO_KERNEL_LL;
            break;
        }
    }
    memset(r, 0, sizeof *r);
    r->ifindex = (int)m->ifa_index;
    r->addr = local.family ? local : address;
    r->len = m->ifa_prefixlen;
    r->scope = m->ifa_scope;
    r->secondary = family == IP4 && (flags & IFA_F_SECONDARY);
    r->automatic = automatic;
    r->deprecated = flags & IFA_F_DEPRECATED;
    r->usable = !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) || (flags & IFA_F_OPTIMISTIC);
    return bad || !r->addr.family || r->len > ip_bits(family) ? -EBADMSG : 1;
}

static int parse_neigh(const struct nlmsghdr *h, struct netlink_neigh *r)
{
    const struct ndmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    uint8_t family;
    bool bad = false;

    family = ip_family_of_af(m->ndm_family);
    if (!family || (m->ndm_flags & NTF_PROXY))
        return 0;
    memset(r, 0, sizeof *r);
    r->ifindex = m->ndm_ifindex;
    r->state = m->ndm_state;
    r->flags = m->ndm_flags;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case NDA_DST: attr_ip(a, family, &r->addr, &bad); break;
        case NDA_LLADDR:
            if (attr_len(a) == 6) { // other lengths are not Ethernet
                memcpy(r->mac, attr_payload(a), 6);
                r->has_mac = true;
            }
            break;
        }
    }
    return bad || !r->addr.family ? -EBADMSG : 1;
}

static void parse_members(const struct nlattr *a, struct netlink_nexthop *r)
{
    const struct nexthop_grp *g = attr_payload(a);
    size_t n = attr_len(a) / sizeof *g;

    r->group = true;
    for (size_t i = 0; i < n && i < NETLINK_HOPS; i++) {
        r->member[i].id = g[i].id;
        // The weight field holds weight - 1. Its high byte (Linux 6.12) is the next byte, whose
        // field name differs between headers.
        const uint8_t *weight = (const uint8_t *)&g[i] + offsetof(struct nexthop_grp, weight);
        r->member[i].weight = (uint16_t)((weight[1] << 8 | weight[0]) + 1);
        if (!r->member[i].weight)
            r->member[i].weight = 0xffff;
        r->n_members++;
    }
}

static int parse_nexthop(const struct nlmsghdr *h, struct netlink_nexthop *r)
{
    const struct nhmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool bad = false;

    memset(r, 0, offsetof(struct netlink_nexthop, member));
    r->hop.weight = 1;
    r->hop.onlink = m->nh_flags & RTNH_F_ONLINK;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case NHA_ID: r->id = attr_u32(a, &bad); break;
        case NHA_BLACKHOLE: r->blackhole = true; break;
        case NHA_OIF: r->hop.ifindex = (int)attr_u32(a, &bad); break;
        case NHA_ENCAP:
        case NHA_ENCAP_TYPE:
            attr_encap(a, attr_type(a) == NHA_ENCAP_TYPE, &r->encap, &bad);
            break;
        case NHA_FDB: r->fdb = true; break;
        case NHA_GROUP: parse_members(a, r); break;
        case NHA_GATEWAY:
            attr_ip(a, ip_family_of_af(m->nh_family) == IP6 ? IP6 : IP4, &r->hop.gateway, &bad);
            break;
        }
    }
    hop_finish(&r->hop);
    return bad || !r->id ? -EBADMSG : 1;
}

// A rule is plain only if all its attributes are known to select nothing: an unknown attribute of a
// later Linux may be a selector.
static int parse_rule(const struct nlmsghdr *h, struct netlink_rule *r)
{
    const struct fib_rule_hdr *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool bad = false;

    memset(r, 0, sizeof *r);
    r->family = ip_family_of_af(m->family);
    if (!r->family)
        return 0;
    r->table = m->table;
    r->plain = !m->src_len && !m->dst_len && !m->tos && m->action == FR_ACT_TO_TBL &&
               !(m->flags & ~(uint32_t)FIB_RULE_PERMANENT);
    const char *attrs = (const char *)m + NLMSG_ALIGN(sizeof *m);
    r->selectors = (uint32_t)hash_bytes(attrs, (size_t)(message_end(h) - attrs),
                                        (uint64_t)m->src_len << 24 | (uint64_t)m->dst_len << 16 |
                                            (uint64_t)m->tos << 8 | m->action);
    attr_each(a, attrs, message_end(h)) {
        switch (attr_type(a)) {
        case FRA_PRIORITY: r->priority = attr_u32(a, &bad); break;
        case FRA_TABLE: r->table = attr_u32(a, &bad); break;
        case FRA_SUPPRESS_PREFIXLEN:
        case FRA_SUPPRESS_IFGROUP: r->plain &= attr_u32(a, &bad) == UINT32_MAX; break;
        case FRA_PROTOCOL: // the rule's creator
        case FRA_FLOW:     // realm, for statistics
        case FRA_PAD: break;
        default: r->plain = false;
        }
    }
    return bad ? -EBADMSG : 1;
}

static int parse_netconf(const struct nlmsghdr *h, struct netlink_netconf *r)
{
    const struct netconfmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool bad = false, has_ifindex = false;

    memset(r, 0, sizeof *r);
    r->family = ip_family_of_af(m->ncm_family);
    if (!r->family)
        return 0;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case NETCONFA_IFINDEX: r->ifindex = (int)attr_u32(a, &bad); has_ifindex = true; break;
        case NETCONFA_FORWARDING:
            r->forwards = attr_u32(a, &bad) != 0;
            r->suspect |= !r->forwards;
            break;
        case NETCONFA_RP_FILTER: r->suspect |= attr_u32(a, &bad) != 0; break;
        case NETCONFA_MC_FORWARDING:
            r->has_multicast = true;
            r->multicast = attr_u32(a, &bad) != 0;
            break;
        case NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN:
            r->has_ignore_linkdown = true;
            r->ignore_linkdown = attr_u32(a, &bad) != 0;
            break;
        }
    }
    return bad || !has_ifindex ? -EBADMSG : 1;
}

static int parse_mpls(const struct nlmsghdr *h, struct netlink_mpls *r)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool bad = false, has_label = false;

    *r = (struct netlink_mpls){0};
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m),
              message_end(h)) if (attr_type(a) == RTA_DST)
    {
        r->label = be32toh(attr_u32(a, &bad)) >> MPLS_LS_LABEL_SHIFT; // the attribute is a label
                                                                      // stack entry
        has_label = true;
    }
    return bad || !has_label ? -EBADMSG : 1;
}

static int parse_any_route(const struct nlmsghdr *h, struct netlink_event *e)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);

    switch (m->rtm_family) {
    case RTNL_FAMILY_IPMR:
    case RTNL_FAMILY_IP6MR:
        e->kind = NETLINK_EVENT_MROUTE;
        return netlink_parse_mroute(h, &e->mroute);
    case AF_MPLS: e->kind = NETLINK_EVENT_MPLS; return parse_mpls(h, &e->mpls);
    default: return parse_route(h, &e->route);
    }
}

int netlink_parse(const struct nlmsghdr *h, struct netlink_event *e)
{
    uint16_t f = h->nlmsg_flags;

    e->del = (h->nlmsg_type & 3) == 1; // RTM_NEW…, RTM_DEL…, RTM_GET…, RTM_SET…
    e->replace = f & NLM_F_REPLACE;
    e->append = f & NLM_F_APPEND;
    e->create = f & NLM_F_CREATE;
    e->excl = f & NLM_F_EXCL;
#define CASE(NAME, KIND, header, call)                                                             \
    case RTM_NEW##NAME:                                                                            \
    case RTM_DEL##NAME:                                                                            \
        e->kind = NETLINK_EVENT_##KIND;                                                            \
        return mnl_nlmsg_get_payload_len(h) < sizeof(struct header) ? -EBADMSG : call
    switch (h->nlmsg_type) {
    case RTM_GETMULTICAST: // kernels before 6.14 use this type for the rows of a dump
    CASE(MULTICAST, GROUP, ifaddrmsg, netlink_parse_group(h, &e->group));
    CASE(ROUTE, ROUTE, rtmsg, parse_any_route(h, e));
    CASE(LINK, LINK, ifinfomsg, parse_link(h, &e->link));
    CASE(ADDR, ADDR, ifaddrmsg, parse_addr(h, &e->addr));
    CASE(NEIGH, NEIGH, ndmsg, parse_neigh(h, &e->neigh));
    CASE(NEXTHOP, NEXTHOP, nhmsg, parse_nexthop(h, &e->nexthop));
    CASE(RULE, RULE, fib_rule_hdr, parse_rule(h, &e->rule));
    CASE(NETCONF, NETCONF, netconfmsg, parse_netconf(h, &e->netconf));
    }
#undef CASE
    return 0;
}

bool netlink_walk(const void *buf, size_t len, void (*fn)(void *ctx, const struct nlmsghdr *h),
                  void *ctx)
{
    const char *p = buf, *end = p + len;

    // Replaces mnl_nlmsg_ok(), which takes lengths of 2 GiB and more for negative numbers and so
    // accepts them.
    while (end - p >= (ptrdiff_t)sizeof(struct nlmsghdr)) {
        const struct nlmsghdr *h = (const void *)p;

        if (h->nlmsg_len < sizeof *h || h->nlmsg_len > (size_t)(end - p))
            return false;
        fn(ctx, h);
        p += NLMSG_ALIGN(h->nlmsg_len);
    }
    return p >= end;
}
