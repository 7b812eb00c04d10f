// SPDX-License-Identifier: BSD-3-Clause
// netlink_test.c - kernel messages become events; cut and corrupted messages do no harm
#include <endian.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/lwtunnel.h>
#include <linux/mpls.h>
#include <linux/mpls_iptunnel.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/netlink.h"
#include "tests/unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union {
    struct nlmsghdr h;
    char space[8192];
} m;
static struct netlink_event e;

static void *begin(uint16_t type, uint16_t flags, size_t head)
{
    memset(&m, 0, sizeof m);
    mnl_nlmsg_put_header(&m);
    m.h.nlmsg_type = type;
    m.h.nlmsg_flags = flags;
    return mnl_nlmsg_put_extra_header(&m.h, head);
}

static struct rtmsg *begin_route(uint16_t type, uint8_t family, uint8_t len)
{
    struct rtmsg *r = begin(type, NLM_F_CREATE | NLM_F_EXCL, sizeof *r);

    *r = (struct rtmsg){.rtm_family = family, .rtm_dst_len = len, .rtm_table = 254,
                        .rtm_protocol = 186, .rtm_type = RTN_UNICAST};
    return r;
}

static void put4(uint16_t type, const char *text)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(text, &a), 0);
    mnl_attr_put(&m.h, type, a.family == IP4 ? 4 : 16, a.b);
}

static void assert_ip(const struct ip_addr *a, const char *text)
{
    char buf[IP_TEXT_MAX];

    assert_string_equal(ip_format(a, buf), text);
}

unit_test(a_route_with_a_gateway_is_one_hop)
{
    char text[PREFIX_TEXT_MAX];

    begin_route(RTM_NEWROUTE, AF_INET, 20);
    put4(RTA_DST, "203.0.113.77"); // host bits, which the kernel never sends, must be cleared
    put4(RTA_GATEWAY, "10.0.0.2");
    mnl_attr_put_u32(&m.h, RTA_OIF, 7);
    mnl_attr_put_u32(&m.h, RTA_PRIORITY, 20);
    mnl_attr_put_u32(&m.h, RTA_TABLE, 1000);
    put4(RTA_PREFSRC, "10.9.9.9");
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_ROUTE);
    assert_true(!e.del && e.create && e.excl && !e.replace && !e.append);
    assert_string_equal(prefix_format(&e.route.prefix, text), "203.0.112.0/20");
    assert_int_equal(e.route.n_hops, 1);
    assert_ip(&e.route.hop[0].gateway, "10.0.0.2");
    assert_ip(&e.route.prefsrc, "10.9.9.9");
    assert_int_equal(e.route.hop[0].ifindex, 7);
    assert_int_equal(e.route.metric, 20);
    assert_int_equal(e.route.table, 1000);
    assert_int_equal(e.route.protocol, 186);
}

static void begin_rule(void)
{
    struct fib_rule_hdr *r = begin(RTM_NEWRULE, 0, sizeof *r);

    *r = (struct fib_rule_hdr){.family = AF_INET, .table = 254, .action = FR_ACT_TO_TBL};
    mnl_attr_put_u32(&m.h, FRA_TABLE, 254);
    mnl_attr_put_u32(&m.h, FRA_SUPPRESS_PREFIXLEN, UINT32_MAX);
    mnl_attr_put_u32(&m.h, FRA_PRIORITY, 32766);
    mnl_attr_put_u8(&m.h, FRA_PROTOCOL, RTPROT_KERNEL);
}

static bool rule_is_plain(void)
{
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_RULE);
    return e.rule.plain;
}

// Includes attributes that this Linux does not have yet: FRA_DSCP is 26 (6.13), FRA_FLOWLABEL 27, …
unit_test(a_rule_with_anything_unknown_is_not_plain)
{
    static const uint16_t harmless[] = {FRA_PRIORITY, FRA_FLOW, FRA_TABLE, FRA_PROTOCOL, FRA_PAD};

    begin_rule();
    assert_true(rule_is_plain());
    for (uint16_t type = 1; type < 60; type++) {
        bool known = false;
        for (unsigned i = 0; i < sizeof harmless / sizeof *harmless; i++)
            known |= type == harmless[i];
        begin_rule();
        mnl_attr_put_u32(&m.h, type, 8);
        assert_int_equal(rule_is_plain(), known);
    }
    begin_rule();
    ((struct fib_rule_hdr *)mnl_nlmsg_get_payload(&m.h))->flags = FIB_RULE_PERMANENT;
    assert_true(rule_is_plain());
    ((struct fib_rule_hdr *)mnl_nlmsg_get_payload(&m.h))->flags = FIB_RULE_INVERT;
    assert_false(rule_is_plain());
    begin_rule();
    mnl_attr_put_u32(&m.h, FRA_SUPPRESS_IFGROUP, UINT32_MAX);
    assert_true(rule_is_plain());
}

unit_test(a_zero_gateway_is_no_gateway)
{
    begin_route(RTM_DELROUTE, AF_INET6, 64);
    put4(RTA_DST, "2001:db8::");
    put4(RTA_GATEWAY, "::");
    mnl_attr_put_u32(&m.h, RTA_OIF, 7);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.del);
    assert_int_equal(e.route.hop[0].gateway.family, IP_NONE);
}

unit_test(an_ipv4_route_may_have_an_ipv6_gateway)
{
    struct {
        uint16_t family;
        uint8_t addr[16];
    } __attribute__((packed)) via = {AF_INET6, {0xfd, 1, [15] = 2}};

    begin_route(RTM_NEWROUTE, AF_INET, 0);
    mnl_attr_put(&m.h, RTA_VIA, sizeof via, &via);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_ip(&e.route.hop[0].gateway, "fd01::2");
    via.family = AF_INET; // an address shorter than the attribute is fine, a longer one is not
    begin_route(RTM_NEWROUTE, AF_INET, 0);
    mnl_attr_put(&m.h, RTA_VIA, 5, &via);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(an_unsupported_encapsulation_has_a_type)
{
    begin_route(RTM_NEWROUTE, AF_INET, 0);
    mnl_attr_put_u16(&m.h, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6);
    mnl_attr_put_u32(&m.h, RTA_ENCAP, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.encap, LWTUNNEL_ENCAP_SEG6);
    begin_route(RTM_NEWROUTE, AF_INET, 0);
    mnl_attr_put_u32(&m.h, RTA_NEWDST, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.encap, NETLINK_ENCAP_OTHER);
    mnl_attr_put_u8(&m.h, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

// Labels 100, 101, …; `extra` is added to the last entry.
static void put_labels(uint16_t type, unsigned n, uint32_t extra)
{
    uint32_t entry[32];

    for (unsigned i = 0; i < n; i++) {
        bool last = i == n - 1;
        entry[i] = htobe32((100 + i) << MPLS_LS_LABEL_SHIFT | (uint32_t)last << MPLS_LS_S_SHIFT);
    }
    if (n)
        entry[n - 1] = htobe32(be32toh(entry[n - 1]) + extra);
    mnl_attr_put(&m.h, type, n * 4, entry);
}

static void put_encap(uint16_t data, uint16_t type, unsigned n, int ttl)
{
    struct nlattr *nest;

    mnl_attr_put_u16(&m.h, type, LWTUNNEL_ENCAP_MPLS);
    nest = mnl_attr_nest_start(&m.h, data);
    put_labels(MPLS_IPTUNNEL_DST, n, 0);
    if (ttl >= 0)
        mnl_attr_put_u8(&m.h, MPLS_IPTUNNEL_TTL, (uint8_t)ttl);
    mnl_attr_nest_end(&m.h, nest);
}

static void assert_labels(const struct label_stack *s, unsigned n) // 100, 101, …
{
    assert_int_equal(s->n, n);
    for (unsigned i = 0; i < LABEL_STACK_MAX; i++)
        assert_int_equal(s->label[i], i < n ? 100 + i : 0);
}

unit_test(labels_of_a_route_are_in_its_hops)
{
    static const struct {
        int ttl; // -1: none
        uint8_t mode;
    } row[] = {{-1, LABEL_TTL_DEFAULT}, {0, LABEL_TTL_UNIFORM}, {9, LABEL_TTL_PIPE}};

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        begin_route(RTM_NEWROUTE, AF_INET6, 0);
        put4(RTA_GATEWAY, "fd01::2");
        put_encap(RTA_ENCAP, RTA_ENCAP_TYPE, 2, row[i].ttl);
        assert_int_equal(netlink_parse(&m.h, &e), 1);
        assert_int_equal(e.route.encap, 0);
        assert_labels(&e.route.hop[0].labels, 2);
        assert_int_equal(e.route.hop[0].labels.ttl, row[i].ttl < 0 ? 0 : row[i].ttl);
        assert_int_equal(e.route.hop[0].labels.ttl_mode, row[i].mode);
        assert_false(e.route.hop[0].labels.swaps);
    }
    begin_route(RTM_NEWROUTE, AF_INET, 0); // too deep for us, but not malformed
    put_encap(RTA_ENCAP, RTA_ENCAP_TYPE, LABEL_STACK_MAX + 1, -1);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.encap, LWTUNNEL_ENCAP_MPLS);
}

unit_test(each_leg_and_each_object_has_labels_of_its_own)
{
    struct nlattr *nest;
    struct nhmsg *n;

    begin_route(RTM_NEWROUTE, AF_INET, 0);
    nest = mnl_attr_nest_start(&m.h, RTA_MULTIPATH);
    for (unsigned i = 0; i < 3; i++) {
        struct rtnexthop *leg = mnl_nlmsg_get_payload_tail(&m.h);
        uint32_t before = m.h.nlmsg_len;

        *leg = (struct rtnexthop){.rtnh_ifindex = 7};
        m.h.nlmsg_len += sizeof *leg;
        put4(RTA_GATEWAY, "10.0.0.2");
        if (i)
            put_encap(RTA_ENCAP, RTA_ENCAP_TYPE, i, -1);
        leg->rtnh_len = (uint16_t)(m.h.nlmsg_len - before);
    }
    mnl_attr_nest_end(&m.h, nest);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.n_hops, 3);
    assert_labels(&e.route.hop[0].labels, 0);
    assert_labels(&e.route.hop[1].labels, 1);
    assert_labels(&e.route.hop[2].labels, 2);
    n = begin(RTM_NEWNEXTHOP, 0, sizeof *n);
    n->nh_family = AF_INET;
    mnl_attr_put_u32(&m.h, NHA_ID, 5);
    put_encap(NHA_ENCAP, NHA_ENCAP_TYPE, 3, -1);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_labels(&e.nexthop.hop.labels, 3);
}

static void begin_label(uint16_t type)
{
    begin_route(type, AF_MPLS, 20);
    put_labels(RTA_DST, 1, 0);
}

unit_test(a_route_of_a_label_swaps_and_pushes)
{
    struct {
        uint16_t family;
        uint8_t addr[16];
    } __attribute__((packed)) via = {AF_PACKET, {2, 0, 0, 0, 0, 1}};
    char text[PREFIX_TEXT_MAX];

    begin_label(RTM_DELROUTE);
    put_labels(RTA_NEWDST, 2, 0);
    mnl_attr_put(&m.h, RTA_VIA, 8, &via);
    mnl_attr_put_u32(&m.h, RTA_OIF, 7);
    mnl_attr_put_u8(&m.h, RTA_TTL_PROPAGATE, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_LABEL);
    assert_true(e.del);
    assert_string_equal(prefix_format(&e.route.prefix, text), "label 100");
    assert_int_equal(prefix_label(&e.route.prefix), 100);
    assert_int_equal(e.route.n_hops, 1);
    assert_labels(&e.route.hop[0].labels, 2);
    assert_true(e.route.hop[0].labels.swaps);
    assert_int_equal(e.route.hop[0].labels.ttl_mode, LABEL_TTL_PIPE);
    assert_int_equal(e.route.hop[0].gateway.family, NETLINK_VIA_MAC);
    assert_int_equal(e.route.hop[0].gateway.b[5], 1);
    begin_label(RTM_NEWROUTE); // into a VRF device
    mnl_attr_put_u32(&m.h, RTA_OIF, 9);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.n_hops, 1);
    assert_labels(&e.route.hop[0].labels, 0);
    begin_route(RTM_NEWROUTE, AF_INET, 0); // only labels have next hops by MAC
    mnl_attr_put(&m.h, RTA_VIA, 8, &via);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(a_malformed_label_stack_refuses_the_message)
{
    static const struct {
        uint16_t type;
        unsigned n;
        uint32_t extra;
    } row[] = {{RTA_DST, 0, 0},
               {RTA_DST, 2, 0},
               {RTA_DST, 1, -(1u << MPLS_LS_S_SHIFT)},   // no bottom
               {RTA_NEWDST, 0, 0},
               {RTA_NEWDST, 2, 1},                       // a TTL
               {RTA_NEWDST, 2, 1 << MPLS_LS_TC_SHIFT},
               {RTA_NEWDST, 1, (MPLS_LABEL_IMPLNULL - 100u) << MPLS_LS_LABEL_SHIFT}};

    begin_route(RTM_NEWROUTE, AF_MPLS, 20);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG); // no label
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        begin_label(RTM_NEWROUTE);
        put_labels(row[i].type, row[i].n, row[i].extra);
        assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
    }
    begin_label(RTM_NEWROUTE);
    mnl_attr_put(&m.h, RTA_NEWDST, 6, "\0\0\0\0\0");
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(a_link_accepts_labels_or_not)
{
    struct netconfmsg *n = begin(RTM_NEWNETCONF, 0, sizeof *n);

    n->ncm_family = AF_MPLS;
    mnl_attr_put_u32(&m.h, NETCONFA_IFINDEX, 7);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.netconf.family, IP_LABEL);
    assert_false(e.netconf.has_labels);
    mnl_attr_put_u32(&m.h, NETCONFA_INPUT, 1);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.netconf.has_labels && e.netconf.labels);
}

unit_test(multipath_legs_keep_their_weights)
{
    struct nlattr *nest;

    begin_route(RTM_NEWROUTE, AF_INET, 8);
    put4(RTA_DST, "9.0.0.0");
    nest = mnl_attr_nest_start(&m.h, RTA_MULTIPATH);
    for (int i = 0; i < 300; i++) { // more than NETLINK_HOPS
        struct rtnexthop *nh = mnl_nlmsg_get_payload_tail(&m.h);
        ip4_t gw = htobe32(0x0a000000u + (unsigned)i);

        *nh = (struct rtnexthop){
            .rtnh_hops = (uint8_t)(i % 3), .rtnh_ifindex = i + 1, .rtnh_len = sizeof *nh + 8};
        m.h.nlmsg_len += sizeof *nh;
        mnl_attr_put(&m.h, RTA_GATEWAY, 4, &gw);
    }
    nest->nla_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(&m.h) - (char *)nest);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.route.multipath);
    assert_int_equal(e.route.n_hops, NETLINK_HOPS);
    assert_int_equal(e.route.hop[2].weight, 3);
    assert_int_equal(e.route.hop[255].ifindex, 256);
    assert_ip(&e.route.hop[255].gateway, "10.0.0.255");
}

unit_test(a_nexthop_object_replaces_the_hops)
{
    begin_route(RTM_NEWROUTE, AF_INET, 8);
    put4(RTA_DST, "9.0.0.0");
    put4(RTA_GATEWAY, "10.0.0.2");
    mnl_attr_put_u32(&m.h, RTA_NH_ID, 42);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.nhid, 42);
    assert_int_equal(e.route.n_hops, 0);
}

unit_test(a_group_has_members_with_wide_weights)
{
    struct nhmsg *n = begin(RTM_NEWNEXTHOP, 0, sizeof *n);
    struct nexthop_grp g[4] = {{.id = 10, .weight = 0},
                               {.id = 11, .weight = 255},
                               {.id = 12, .weight = 254},
                               {.id = 13, .weight = 255}};
    static const uint8_t high[4] = {0, 1, 255, 255}; // Linux refuses the last one

    for (unsigned i = 0; i < 4; i++)
        ((uint8_t *)&g[i])[offsetof(struct nexthop_grp, weight) + 1] = high[i];
    mnl_attr_put_u32(&m.h, NHA_ID, 20);
    mnl_attr_put(&m.h, NHA_GROUP, sizeof g, g);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.nexthop.group);
    assert_int_equal(e.nexthop.n_members, 4);
    assert_int_equal(e.nexthop.member[0].weight, 1);
    assert_int_equal(e.nexthop.member[1].weight, 512);
    assert_int_equal(e.nexthop.member[2].weight, 65535);
    assert_int_equal(e.nexthop.member[3].weight, 65535);
}

unit_test(links_addresses_and_neighbors)
{
    struct ifinfomsg *l = begin(RTM_NEWLINK, 0, sizeof *l);
    struct ifaddrmsg *a;
    struct ndmsg *n;

    l->ifi_index = 5;
    l->ifi_flags = IFF_UP;
    mnl_attr_put_strz(&m.h, IFLA_IFNAME, "averyverylongnameofalink");
    mnl_attr_put_u32(&m.h, IFLA_MTU, 9000);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_string_equal(e.link.name, "averyverylongna");
    assert_true(e.link.up && !e.link.carrier && e.link.mtu == 9000);

    a = begin(RTM_NEWADDR, 0, sizeof *a);
    *a = (struct ifaddrmsg){.ifa_family = AF_INET, .ifa_prefixlen = 31, .ifa_index = 5};
    put4(IFA_ADDRESS, "10.0.0.1"); // peer of a point-to-point address
    put4(IFA_LOCAL, "10.0.0.0");
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_ip(&e.addr.addr, "10.0.0.0");

    n = begin(RTM_NEWNEIGH, 0, sizeof *n);
    *n = (struct ndmsg){.ndm_family = AF_INET6, .ndm_ifindex = 5, .ndm_state = NUD_REACHABLE};
    put4(NDA_DST, "fe80::1");
    mnl_attr_put(&m.h, NDA_LLADDR, 6, "\2\0\0\0\0\1");
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.neigh.has_mac);
    n->ndm_family = AF_BRIDGE;
    assert_int_equal(netlink_parse(&m.h, &e), 0);
}

static struct nlattr *begin_tunnel(const char *kind, struct nlattr **info)
{
    struct ifinfomsg *l = begin(RTM_NEWLINK, 0, sizeof *l);

    l->ifi_index = 12;
    *info = mnl_attr_nest_start(&m.h, IFLA_LINKINFO);
    mnl_attr_put_strz(&m.h, IFLA_INFO_KIND, kind);
    return mnl_attr_nest_start(&m.h, IFLA_INFO_DATA);
}

static const struct netlink_tunnel *end_tunnel(struct nlattr *info, struct nlattr *data)
{
    mnl_attr_nest_end(&m.h, data);
    mnl_attr_nest_end(&m.h, info);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    return &e.link.tunnel;
}

unit_test(a_tunnel_has_ends_and_what_its_packets_look_like)
{
    struct nlattr *info, *data = begin_tunnel("gre", &info);

    put4(IFLA_GRE_LOCAL, "192.0.2.1");
    put4(IFLA_GRE_REMOTE, "198.51.100.1");
    mnl_attr_put_u16(&m.h, IFLA_GRE_IFLAGS, htons(0x2000));
    mnl_attr_put_u32(&m.h, IFLA_GRE_IKEY, htonl(7));
    mnl_attr_put_u8(&m.h, IFLA_GRE_TTL, 9);
    mnl_attr_put(&m.h, IFLA_GRE_COLLECT_METADATA, 0, NULL);
    const struct netlink_tunnel *t = end_tunnel(info, data);
    assert_true(t->kind == NETLINK_TUNNEL_GRE && t->family == IP4 && t->iflags == 0x2000);
    assert_true(t->ikey == 7 && t->ttl == 9 && t->external && !t->elsewhere);
    assert_memory_equal(t->remote, "\xc6\x33\x64\x01\0\0\0\0", 8);
    assert_string_equal(t->word, "gre");
    mnl_attr_put_u32(&m.h, IFLA_LINK_NETNSID, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.link.tunnel.elsewhere);

    data = begin_tunnel("ip6tnl", &info);
    put4(IFLA_IPTUN_LOCAL, "2001:db8::1");
    put4(IFLA_IPTUN_REMOTE, "2001:db8::2");
    mnl_attr_put_u8(&m.h, IFLA_IPTUN_PROTO, 41);
    mnl_attr_put_u32(&m.h, IFLA_IPTUN_LINK, 5);
    t = end_tunnel(info, data);
    assert_true(t->kind == NETLINK_TUNNEL_IP && t->family == IP6 && t->proto == 41 && t->dev == 5);

    data = begin_tunnel("vxlan", &info);
    mnl_attr_put_u32(&m.h, IFLA_VXLAN_ID, 77);
    put4(IFLA_VXLAN_LOCAL, "192.0.2.1");
    put4(IFLA_VXLAN_GROUP, "198.51.100.1");
    mnl_attr_put_u16(&m.h, IFLA_VXLAN_PORT, htons(4789));
    mnl_attr_put_u8(&m.h, IFLA_VXLAN_COLLECT_METADATA, 0);
    t = end_tunnel(info, data);
    assert_true(t->kind == NETLINK_TUNNEL_VXLAN && t->ikey == 77 && t->port == 4789);
    assert_false(t->external || t->special);

    data = begin_tunnel("akindwithalongname", &info);
    assert_int_equal(end_tunnel(info, data)->kind, NETLINK_TUNNEL_NONE);
}

unit_test(what_a_link_is_and_stands_on)
{
    struct ifinfomsg *l = begin(RTM_NEWLINK, 0, sizeof *l);

    l->ifi_index = 9;
    mnl_attr_put(&m.h, IFLA_ADDRESS, 6, "\0\0\x5e\0\1\5");
    mnl_attr_put_u32(&m.h, IFLA_LINK, 5);
    struct nlattr *info = mnl_attr_nest_start(&m.h, IFLA_LINKINFO);
    mnl_attr_put_strz(&m.h, IFLA_INFO_KIND, "macvlan");
    mnl_attr_nest_end(&m.h, info);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.link.kind, NETLINK_LINK_MACVLAN);
    assert_int_equal(e.link.lower, 5);
    assert_memory_equal(e.link.mac, "\0\0\x5e\0\1\5", 6);
    mnl_attr_put_u32(&m.h, IFLA_LINK_NETNSID, 0); // then index 5 is in another namespace
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.link.lower, 0);

    l = begin(RTM_NEWLINK, 0, sizeof *l);
    l->ifi_index = 10;
    mnl_attr_put_u32(&m.h, IFLA_MASTER, 11);
    info = mnl_attr_nest_start(&m.h, IFLA_LINKINFO);
    mnl_attr_put_strz(&m.h, IFLA_INFO_KIND, "vrf");
    struct nlattr *data = mnl_attr_nest_start(&m.h, IFLA_INFO_DATA);
    mnl_attr_put_u32(&m.h, IFLA_VRF_TABLE, 100);
    mnl_attr_nest_end(&m.h, data);
    mnl_attr_nest_end(&m.h, info);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.link.kind == NETLINK_LINK_VRF && e.link.vrf_table == 100 && e.link.master == 11);
}

// The name is not valid for our interfaces, so the ifindex is shown instead, which is unique.
unit_test(a_device_with_another_name_is_known_by_its_number)
{
    static const struct {
        const char *linux_name, *name, *odd;
    } row[] = {{"p0", "p0", ""},
               {"a.b_c-d", "a.b_c-d", ""},
               {"g\xff", "#9", "g\xff"},
               {"g\xfe", "#9", "g\xfe"},
               {"#7", "#9", "#7"},
               {"x\x1b]0;y\x07", "#9", "x\x1b]0;y\x07"},
               {"123456789012345", "123456789012345", ""},
               {"12345678901234\xc3", "#9", "12345678901234\xc3"}};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct ifinfomsg *l = begin(RTM_NEWLINK, 0, sizeof *l);

        l->ifi_index = 9;
        mnl_attr_put_strz(&m.h, IFLA_IFNAME, row[i].linux_name);
        assert_int_equal(netlink_parse(&m.h, &e), 1);
        assert_string_equal(e.link.name, row[i].name);
        assert_string_equal(e.link.odd_name, row[i].odd);
    }
}

unit_test(a_vlan_device_has_a_number)
{
    struct ifinfomsg *l = begin(RTM_NEWLINK, 0, sizeof *l);
    struct nlattr *info, *data;

    l->ifi_index = 9;
    mnl_attr_put_u32(&m.h, IFLA_LINK, 5);
    info = mnl_attr_nest_start(&m.h, IFLA_LINKINFO);
    mnl_attr_put_strz(&m.h, IFLA_INFO_KIND, "vlan");
    data = mnl_attr_nest_start(&m.h, IFLA_INFO_DATA);
    mnl_attr_put_u16(&m.h, IFLA_VLAN_ID, 7);
    mnl_attr_nest_end(&m.h, data);
    mnl_attr_nest_end(&m.h, info);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.link.kind, NETLINK_LINK_VLAN);
    assert_true(e.link.vlan == 7 && e.link.lower == 5 && !e.link.vrf_table);
}

unit_test(a_prefix_longer_than_its_address_is_refused)
{
    begin_route(RTM_NEWROUTE, AF_INET, 33);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(short_attributes_are_refused)
{
    begin_route(RTM_NEWROUTE, AF_INET, 24);
    mnl_attr_put(&m.h, RTA_DST, 3, "\1\2\3");
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
    begin_route(RTM_NEWROUTE, AF_INET, 24);
    put4(RTA_DST, "1.2.3.0");
    mnl_attr_put(&m.h, RTA_OIF, 2, "\1\2");
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

static void count(void *ctx, const struct nlmsghdr *h)
{
    ++*(unsigned *)ctx;
}

unit_test(every_cut_of_a_message_is_noticed_or_harmless)
{
    multipath_legs_keep_their_weights(state);
    for (uint32_t len = 0; len < m.h.nlmsg_len; len++) {
        uint8_t *copy =
            malloc(len ? len : 1); // exact size, so that a sanitizer sees an overrun by one byte
        unsigned n = 0;

        memcpy(copy, &m, len);
        assert_false(netlink_walk(copy, len, count, &n) && len);
        assert_int_equal(n, 0);
        if (len >= sizeof(struct nlmsghdr)) {
            ((struct nlmsghdr *)copy)->nlmsg_len = len; // the header now claims that the cut
                                                        // message is complete
            assert_true(netlink_parse((struct nlmsghdr *)copy, &e) <= 1);
        }
        free(copy);
    }
}

unit_test(mangled_messages_do_no_harm)
{
    uint8_t copy[sizeof m];
    unsigned seed = 1;

    for (int i = 0; i < 30000; i++) {
        size_t len;

        switch (i % 3) {
        case 0: multipath_legs_keep_their_weights(state); break;
        case 1: a_group_has_members_with_wide_weights(state); break;
        case 2: a_route_with_a_gateway_is_one_hop(state); break;
        }
        len = m.h.nlmsg_len;
        if (i % 3 == 0 && i % 60)
            len = 400;
        memcpy(copy, &m, len);
        for (int k = 0; k < 6; k++)
            copy[(unsigned)rand_r(&seed) % len] = (uint8_t)rand_r(&seed);
        if (i & 1)
            memcpy(copy, &(uint32_t){(uint32_t)len}, 4);
        assert_int_equal(LLVMFuzzerTestOneInput(copy, len), 0);
    }
}

static void put_out(int ifindex, uint8_t ttl)
{
    struct rtnexthop *nh = mnl_nlmsg_get_payload_tail(&m.h);

    *nh = (struct rtnexthop){.rtnh_hops = ttl, .rtnh_ifindex = ifindex, .rtnh_len = sizeof *nh};
    m.h.nlmsg_len += sizeof *nh;
}

unit_test(a_multicast_route_has_an_input_and_outputs_with_thresholds)
{
    struct nlattr *nest;

    begin_route(RTM_NEWROUTE, RTNL_FAMILY_IPMR, 32)->rtm_table = 0;
    mnl_attr_put_u32(&m.h, RTA_TABLE, 253);
    put4(RTA_SRC, "10.0.0.2");
    put4(RTA_DST, "239.1.1.1");
    mnl_attr_put_u32(&m.h, RTA_IIF, 7);
    nest = mnl_attr_nest_start(&m.h, RTA_MULTIPATH);
    for (int i = 0; i < 40; i++) // more than NETLINK_OUTS
        put_out(i + 1, (uint8_t)(i + 2));
    nest->nla_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(&m.h) - (char *)nest);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_MROUTE);
    assert_true(!e.del && e.mroute.resolved);
    assert_int_equal(e.mroute.family, IP4);
    assert_int_equal(e.mroute.table, 253);
    assert_int_equal(e.mroute.in, 7);
    assert_memory_equal(e.mroute.source, ((uint8_t[16]){10, 0, 0, 2}), 16);
    assert_memory_equal(e.mroute.group, ((uint8_t[16]){239, 1, 1, 1}), 16);
    assert_int_equal(e.mroute.n_out, NETLINK_OUTS);
    assert_int_equal(e.mroute.out[31].ifindex, 32);
    assert_int_equal(e.mroute.out[31].ttl, 33);
    nest->nla_len = (uint16_t)(nest->nla_len - 2); // cuts the last leg
    m.h.nlmsg_len -= 2;
    assert_int_equal(netlink_parse(&m.h, &e), 1); // the rest is shorter than a leg and is ignored
}

unit_test(an_unresolved_multicast_route_says_so)
{
    begin_route(RTM_DELROUTE, RTNL_FAMILY_IP6MR, 128)->rtm_flags = RTNH_F_UNRESOLVED;
    put4(RTA_SRC, "2001:db8::1");
    put4(RTA_DST, "ff1e::1");
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.del && !e.mroute.resolved);
    assert_int_equal(e.mroute.family, IP6);
    assert_int_equal(e.mroute.group[1], 0x1e);
    assert_int_equal(e.mroute.n_out, 0);
}

unit_test(multicast_routes_that_lie_are_refused)
{
    struct nlattr *nest;

    begin_route(RTM_NEWROUTE, RTNL_FAMILY_IPMR, 32);
    mnl_attr_put(&m.h, RTA_SRC, 2, "\1\2");
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
    begin_route(RTM_NEWROUTE, RTNL_FAMILY_IPMR, 32);
    nest = mnl_attr_nest_start(&m.h, RTA_MULTIPATH);
    put_out(1, 1);
    ((struct rtnexthop *)mnl_attr_get_payload(nest))->rtnh_len = 400;
    nest->nla_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(&m.h) - (char *)nest);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
    ((struct rtnexthop *)mnl_attr_get_payload(nest))->rtnh_len = 0; // would loop forever
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(a_joined_group_has_a_link)
{
    // As sent by Linux 6.18: ifaddrmsg, IFA_MULTICAST, IFA_CACHEINFO.
    struct ifaddrmsg *a = begin(RTM_NEWMULTICAST, 0, sizeof *a);

    *a = (struct ifaddrmsg){
        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_flags = IFA_F_PERMANENT, .ifa_index = 3};
    put4(IFA_MULTICAST, "239.1.1.1");
    mnl_attr_put(&m.h, IFA_CACHEINFO, 16, "0123456789abcdef");
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_GROUP);
    assert_int_equal(e.group.ifindex, 3);
    assert_ip(&e.group.addr, "239.1.1.1");
    assert_false(e.del);
    m.h.nlmsg_type = RTM_DELMULTICAST;
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_true(e.del);
    m.h.nlmsg_type = RTM_GETMULTICAST; // row of a dump
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_false(e.del);
    begin(RTM_NEWMULTICAST, 0, sizeof *a);
    ((struct ifaddrmsg *)mnl_nlmsg_get_payload(&m.h))->ifa_family = AF_INET6;
    put4(IFA_MULTICAST, "239.1.1.1"); // too short for the family
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}
