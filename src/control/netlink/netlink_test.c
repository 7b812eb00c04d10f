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
#include <linux/neighbour.h>
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

unit_test(an_encapsulation_has_a_type)
{
    struct rtmsg *r = begin(RTM_NEWROUTE, 0, sizeof *r);

    r->rtm_family = AF_INET;
    r->rtm_type = RTN_UNICAST;
    mnl_attr_put_u16(&m.h, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS);
    mnl_attr_put_u32(&m.h, RTA_ENCAP, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.encap, LWTUNNEL_ENCAP_MPLS);
    r = begin(RTM_NEWROUTE, 0, sizeof *r);
    r->rtm_family = AF_INET;
    r->rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(&m.h, RTA_NEWDST, 0);
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.route.encap, NETLINK_ENCAP_OTHER);
    mnl_attr_put_u8(&m.h, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS);
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
}

unit_test(a_route_of_mpls_has_a_label)
{
    struct rtmsg *r = begin(RTM_DELROUTE, 0, sizeof *r);

    r->rtm_family = AF_MPLS;
    assert_int_equal(netlink_parse(&m.h, &e), -EBADMSG);
    mnl_attr_put_u32(&m.h, RTA_DST, htobe32(100 << MPLS_LS_LABEL_SHIFT | 1 << MPLS_LS_S_SHIFT));
    assert_int_equal(netlink_parse(&m.h, &e), 1);
    assert_int_equal(e.kind, NETLINK_EVENT_MPLS);
    assert_true(e.del);
    assert_int_equal(e.mpls.label, 100);
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
