// SPDX-License-Identifier: BSD-3-Clause
// netlink_parse.c - one kernel message in, one typed event out
//
// This file checks every length, with attr_each (netlink_attr.h) and a `bad` flag that any short
// attribute raises: a message is taken whole or not at all. It hides two peculiarities of
// rtnetlink:
//   - a route's next hop comes as RTA_GATEWAY, as RTA_VIA (IPv4 via IPv6) or inside RTA_MULTIPATH,
//     and becomes hop[] in each case; with RTA_NH_ID the hops are a copy of the object's, and are
//     dropped;
//   - labels come as RTA_NEWDST of a label's route, or inside RTA_ENCAP of a route of IP, and
//     become hop[].labels;
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
#include <linux/mpls_iptunnel.h>
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

static const char *attr_end(const struct nlattr *a)
{
    return (const char *)attr_payload(a) + attr_len(a);
}

// Label stack of an RTA_DST, RTA_NEWDST or MPLS_IPTUNNEL_DST: whole stack entries, of which only
// the last one has the bottom bit. Deeper stacks than ours are not malformed, but get no labels:
// false.
static bool attr_labels(const struct nlattr *a, struct label_stack *s, bool *bad)
{
    unsigned n = attr_len(a) / sizeof(uint32_t);
    bool fits = n <= LABEL_STACK_MAX;

    memset(s->label, 0, sizeof s->label);
    *bad |= !n || attr_len(a) % sizeof(uint32_t);
    for (unsigned i = 0; i < n; i++) {
        uint32_t entry;

        memcpy(&entry, (const char *)attr_payload(a) + i * sizeof entry, sizeof entry);
        entry = be32toh(entry);
        *bad |= (entry & ~MPLS_LS_LABEL_MASK) != (i == n - 1) << MPLS_LS_S_SHIFT ||
                entry >> MPLS_LS_LABEL_SHIFT == MPLS_LABEL_IMPLNULL; // in no packet
        if (fits)
            s->label[i] = entry >> MPLS_LS_LABEL_SHIFT;
    }
    s->n = fits ? (uint8_t)n : 0;
    return fits;
}

// Labels have next hops by MAC as well.
static void attr_via(const struct nlattr *a, bool of_label, struct ip_addr *addr, bool *bad)
{
    const struct rtvia *via = attr_payload(a);
    size_t n = attr_len(a), bytes;
    bool mac;

    memset(addr, 0, sizeof *addr);
    if (n < sizeof *via) {
        *bad = true;
        return;
    }
    mac = of_label && via->rtvia_family == AF_PACKET;
    addr->family = mac ? NETLINK_VIA_MAC : ip_family_of_af(via->rtvia_family);
    bytes = mac ? 6 : addr->family == IP4 ? 4 : 16;
    if (addr->family && n >= sizeof *via + bytes)
        memcpy(addr->b, via->rtvia_addr, bytes);
    else
        *bad = true;
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

// RTA_ENCAP and RTA_ENCAP_TYPE of a hop come in any order.
struct encap {
    const struct nlattr *data;
    uint16_t type;
};

static void encap_attr(struct encap *e, const struct nlattr *a, bool is_type, bool *bad)
{
    if (is_type)
        e->type = attr_u16(a, bad);
    else
        e->data = a;
}

static void encap_labels(const struct encap *e, struct label_stack *s, uint8_t *encap,
                         bool *out_bad)
{
    const struct nlattr *a;
    bool bad = false, fits = false;

    attr_each(a, attr_payload(e->data), attr_end(e->data)) {
        if (attr_type(a) == MPLS_IPTUNNEL_DST)
            fits = attr_labels(a, s, &bad);
        if (attr_type(a) == MPLS_IPTUNNEL_TTL) {
            s->ttl = attr_u8(a, &bad);
            s->ttl_mode = s->ttl ? LABEL_TTL_PIPE : LABEL_TTL_UNIFORM;
        }
    }
    if (!fits)
        *encap = LWTUNNEL_ENCAP_MPLS;
    *out_bad |= bad;
}

// Stores the labels in the hop, or the type of an unsupported encapsulation in *encap.
static void encap_finish(const struct encap *e, struct label_stack *s, uint8_t *encap, bool *bad)
{
    if (e->type == LWTUNNEL_ENCAP_MPLS && e->data)
        encap_labels(e, s, encap, bad);
    else if (e->type || e->data)
        *encap = e->type && e->type < NETLINK_ENCAP_OTHER ? (uint8_t)e->type : NETLINK_ENCAP_OTHER;
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
        struct encap encap = {0};
        struct netlink_hop hop = {.weight = (uint16_t)(nh->rtnh_hops + 1),
                                  .ifindex = nh->rtnh_ifindex,
                                  .onlink = nh->rtnh_flags & RTNH_F_ONLINK,
                                  .dead = nh->rtnh_flags & RTNH_F_DEAD,
                                  .labels.swaps = family == IP_LABEL};

        if (nh->rtnh_len < sizeof *nh || nh->rtnh_len > end - p) {
            bad = true;
            break;
        }
        attr_each(a, RTNH_DATA(nh), p + nh->rtnh_len) {
            switch (attr_type(a)) {
            case RTA_GATEWAY: attr_ip(a, family, &hop.gateway, &bad); break;
            case RTA_VIA: attr_via(a, family == IP_LABEL, &hop.gateway, &bad); break;
            case RTA_NEWDST:
                if (family != IP_LABEL || !attr_labels(a, &hop.labels, &bad))
                    r->encap = NETLINK_ENCAP_OTHER;
                break;
            case RTA_ENCAP:
            case RTA_ENCAP_TYPE:
                encap_attr(&encap, a, attr_type(a) == RTA_ENCAP_TYPE, &bad);
                break;
            }
        }
        encap_finish(&encap, &hop.labels, &r->encap, &bad);
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

// IP_LABEL: the route of a label, whose prefix stands for the label.
static int parse_route(const struct nlmsghdr *h, uint8_t family, struct netlink_route *r)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool of_label = family == IP_LABEL;
    struct netlink_hop hop = {.weight = 1, .labels.swaps = of_label};
    struct label_stack label = {0};
    struct encap encap = {0};
    uint8_t ttl_mode = LABEL_TTL_DEFAULT;
    bool bad = false, has_hop = false;

    if (!of_label && m->rtm_dst_len > ip_bits(family))
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

            if (of_label) {
                attr_labels(a, &label, &bad);
                break;
            }
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
        case RTA_VIA: attr_via(a, of_label, &hop.gateway, &bad); has_hop = true; break;
        case RTA_PRIORITY: r->metric = attr_u32(a, &bad); break;
        case RTA_TABLE: r->table = attr_u32(a, &bad); break;
        case RTA_PREFSRC: attr_ip(a, family, &r->prefsrc, &bad); break;
        case RTA_NH_ID: r->nhid = attr_u32(a, &bad); break;
        case RTA_NEWDST:
            if (!of_label || !attr_labels(a, &hop.labels, &bad))
                r->encap = NETLINK_ENCAP_OTHER;
            break;
        case RTA_ENCAP:
        case RTA_ENCAP_TYPE:
            encap_attr(&encap, a, attr_type(a) == RTA_ENCAP_TYPE, &bad);
            break;
        case RTA_TTL_PROPAGATE:
            ttl_mode = attr_u8(a, &bad) ? LABEL_TTL_UNIFORM : LABEL_TTL_PIPE;
            break;
        case RTA_METRICS: parse_metrics(a, r, &bad); break;
        case RTA_MULTIPATH: parse_multipath(a, family, r, &bad); break;
        }
    }
    encap_finish(&encap, &hop.labels, &r->encap, &bad);
    if (bad || (of_label && label.n != 1))
        return -EBADMSG;
    if (of_label)
        r->prefix = prefix_of_label(label.label[0]);
    else
        prefix_canon(&r->prefix);
    if (r->nhid) {
        r->n_hops = r->encap = 0;
    } else if (!r->multipath && has_hop) {
        hop_finish(&hop);
        r->hop[0] = hop;
        r->n_hops = 1;
    }
    for (unsigned i = 0; of_label && i < r->n_hops; i++)
        r->hop[i].labels.ttl_mode = ttl_mode;
    return 1;
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
    struct encap encap = {0};
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
            encap_attr(&encap, a, attr_type(a) == NHA_ENCAP_TYPE, &bad);
            break;
        case NHA_FDB: r->fdb = true; break;
        case NHA_GROUP: parse_members(a, r); break;
        case NHA_GATEWAY:
            attr_ip(a, ip_family_of_af(m->nh_family) == IP6 ? IP6 : IP4, &r->hop.gateway, &bad);
            break;
        }
    }
    encap_finish(&encap, &r->hop.labels, &r->encap, &bad);
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
    r->family = m->ncm_family == AF_MPLS ? IP_LABEL : ip_family_of_af(m->ncm_family);
    if (!r->family)
        return 0;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case NETCONFA_INPUT:
            r->has_labels = true;
            r->labels = attr_u32(a, &bad) != 0;
            break;
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

static int parse_any_route(const struct nlmsghdr *h, struct netlink_event *e)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    uint8_t family;

    switch (m->rtm_family) {
    case RTNL_FAMILY_IPMR:
    case RTNL_FAMILY_IP6MR:
        e->kind = NETLINK_EVENT_MROUTE;
        return netlink_parse_mroute(h, &e->mroute);
    case AF_MPLS: e->kind = NETLINK_EVENT_LABEL; return parse_route(h, IP_LABEL, &e->route);
    default:
        family = ip_family_of_af(m->rtm_family);
        return family ? parse_route(h, family, &e->route) : 0;
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
