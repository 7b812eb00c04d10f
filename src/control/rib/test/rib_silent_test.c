// SPDX-License-Identifier: BSD-3-Clause
// rib_silent_test.c - silent changes of the kernel, one test per change, against the real kernel
//
// Each test sets routes, makes one change, checks the FIB, and then lets the verifying dump run: it
// must find nothing to sweep, that is, the silent change had been derived. FIXTURE_LOG=1 shows
// commands and log.
#include <string.h>

#include "rib/test/rib_fixture.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "tests/unit.h"

static int open_fixture(void **state)
{
    fixture_open();
    return 0;
}

static int close_fixture(void **state)
{
    fixture_close();
    return 0;
}

static struct rib_stats before;

// Permanent neighbors, so that a gateway is recognized by its MAC.
static void gateways(void)
{
    for (int i = 1; i <= 2; i++) {
        for (int k = 2; k <= 3; k++) {
            fixture_do(
                "ip neigh replace 10.0.%d.%d lladdr 02:00:00:00:0%d:0%d dev e%d nud permanent", i,
                k, i, k, i);
            fixture_do(
                "ip neigh replace fd0%d::%d lladdr 02:00:00:00:1%d:0%d dev e%d nud permanent", i, k,
                i, k, i);
        }
    }
}
#define A1 "adjacency e1 02:00:00:00:01:02"
#define A13 "adjacency e1 02:00:00:00:01:03"
#define A2 "adjacency e2 02:00:00:00:02:02"
#define A23 "adjacency e2 02:00:00:00:02:03"
#define B1 "adjacency e1 02:00:00:00:11:02"
#define B2 "adjacency e2 02:00:00:00:12:02"

static void routes(void)
{
    gateways();
    fixture_do(
        "ip route add 1.1.1.0/24 via 10.0.1.2 && ip -6 route add 2001:db8:1::/48 via fd01::2");
    fixture_do("ip route add 9.0.0.0/8 via 10.0.2.2");
    fixture_expect("1.1.1.1", A1);
    fixture_expect("2001:db8:1::1", B1);
    fixture_stats(&before);
}

#define rib_test(name) unit_test_of(name, open_fixture, close_fixture)

rib_test(link_down_takes_its_ipv4_routes)
{
    routes();
    fixture_do("ip link set e1 down");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("10.0.1.9", "none");
    fixture_expect("10.0.1.1", "local"); // the address stays
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("9.9.9.9", A2);
    fixture_expect_derived(&before);
    fixture_do("ip link set e1 up");
    fixture_expect("10.0.1.9", "glean e1");
    fixture_eventually(fixture_reports >= 2);
}

rib_test(link_down_takes_ipv6_routes_without_events)
{
    fixture_do("sysctl -qw net.ipv6.route.skip_notify_on_dev_down=1");
    routes();
    fixture_do("ip -6 route add 2001:db8:2::/48 nexthop via fd01::2 nexthop via fd02::2");
    fixture_expect("2001:db8:2::1", "group e1 e2");
    fixture_do("ip link set e1 down");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("2001:db8:2::1", "group e2");
    fixture_expect("fd01::9", "none");
    fixture_expect("fd01::1", "none");
    fixture_expect("1.1.1.1", "none");
    fixture_expect_derived(&before);
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip link set e1 up; ip addr add fd01::1/64 dev e1 nodad");
    fixture_expect("fd01::9", "glean e1");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(a_deleted_link_takes_ipv6_routes_without_events)
{
    fixture_do("sysctl -qw net.ipv6.route.skip_notify_on_dev_down=1");
    routes();
    fixture_do("ip -6 route add 2001:db8:2::/48 nexthop via fd01::2 nexthop via fd02::2");
    fixture_expect("2001:db8:2::1", "group e1 e2");
    fixture_do("ip link del e1");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("fd01::9", "none");
    fixture_expect("fd01::1", "none");
    fixture_expect("2001:db8:2::1", B2); // the dump tells that it has one leg left
    assert_int_equal(fixture_audit(), 0);
}

rib_test(a_link_without_ipv6_has_lost_its_routes_without_events)
{
    fixture_do("sysctl -qw net.ipv6.route.skip_notify_on_dev_down=1");
    routes();
    fixture_do("sysctl -qw net.ipv6.conf.e1.disable_ipv6=1");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("fd01::9", "none");
    fixture_expect("1.1.1.1", A1);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(an_address_that_was_never_announced_takes_ipv6_routes_without_events)
{
    struct rib_stats s;

    fixture_do("sysctl -qw net.ipv6.route.skip_notify_on_dev_down=1");
    routes();
    fixture_do("ip link set e1 down");
    fixture_eventually((fixture_stats(&s), s.resyncs > before.resyncs));
    fixture_do("sysctl -qw net.ipv6.conf.e1.accept_dad=1 net.ipv6.conf.e1.dad_transmits=100");
    fixture_do("ip link set e1 addrgenmode eui64 up");
    fixture_eventually(strstr(fixture_routes("fe80::/64"), "e1"));
    fixture_run(300);
    fixture_do("sysctl -qw net.ipv6.conf.e1.disable_ipv6=1");
    fixture_eventually(!strstr(fixture_routes("fe80::/64"), "e1"));
    assert_int_equal(fixture_audit(), 0);
}

rib_test(carrier_loss_keeps_plain_routes)
{
    routes();
    fixture_peer("ip link set p1 down");
    fixture_expect("1.1.1.1",
                   "failed e1"); // the kernel keeps it, "linkdown"; no host is reachable
    fixture_expect_derived(&before);
    fixture_peer("ip link set p1 up");
    fixture_expect("1.1.1.1", A1);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(carrier_loss_ends_routes_when_linkdown_is_ignored)
{
    fixture_do("ip route add 1.1.1.0/24 via 10.0.2.2 metric 9");
    routes();
    fixture_do("sysctl -qw net.ipv4.conf.e1.ignore_routes_with_linkdown=1");
    fixture_do("sysctl -qw net.ipv6.conf.e1.ignore_routes_with_linkdown=1");
    fixture_peer("ip link set p1 down");
    fixture_expect("1.1.1.1", A2);
    fixture_expect("2001:db8:1::1", "none");
    fixture_peer("ip link set p1 up");
    fixture_expect("1.1.1.1", A1);
    fixture_expect("2001:db8:1::1", B1);
}

static void objects(void)
{
    gateways();
    fixture_do(
        "ip nexthop add id 10 via 10.0.1.2 dev e1; ip nexthop add id 11 via 10.0.2.2 dev e2");
    fixture_do("ip nexthop add id 12 via fd01::2 dev e1; ip nexthop add id 20 group 10/11");
    fixture_do("ip route add 1.1.1.0/24 nhid 10; ip route add 1.2.0.0/16 nhid 20; ip -6 route add "
           "2001:db8:1::/48 nhid 12");
    fixture_expect("1.1.1.1", A1);
    fixture_expect("1.2.0.1", "group e1 e2");
    fixture_expect("2001:db8:1::1", B1);
    fixture_stats(&before);
}

rib_test(link_down_takes_nexthop_objects_and_shrinks_groups)
{
    objects();
    fixture_do("ip link set e1 down");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("1.2.0.1", "group e2");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect_derived(&before);
}

rib_test(carrier_loss_takes_nexthop_objects)
{
    objects();
    fixture_peer("ip link set p1 down");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("1.2.0.1", "group e2");
    fixture_expect_derived(&before);
}

rib_test(nexthop_del_takes_ipv4_routes)
{
    objects();
    fixture_do("ip nexthop del id 10; ip nexthop del id 12");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("1.2.0.1", "group e2");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect_derived(&before);
}

// Its IPv6 routes go without an event, too.
rib_test(nexthop_del_takes_ipv6_routes_without_compatibility_mode)
{
    fixture_do("sysctl -qw net.ipv4.nexthop_compat_mode=0");
    objects();
    fixture_do("ip nexthop add id 13 via fd02::2 dev e2; ip nexthop add id 21 group 12/13");
    fixture_do("ip -6 route add 2001:db8:2::/48 nhid 13; ip -6 route add 2001:db8:3::/48 nhid 21; "
               "ip -6 route append 2001:db8:2::/48 nhid 12");
    fixture_expect("2001:db8:2::1", B2);
    fixture_expect("2001:db8:3::1", "group e1 e2");
    fixture_stats(&before);
    fixture_do("ip nexthop del id 13; ip nexthop add id 13 via fd02::2 dev e2");
    fixture_expect("2001:db8:2::1", B1);
    fixture_expect("2001:db8:3::1", "group e1");
    fixture_do("ip link set e1 down");
    fixture_expect("2001:db8:2::1", "none");
    fixture_expect("2001:db8:3::1", "none");
    fixture_expect_derived(&before);
}

rib_test(nexthop_replace_moves_its_routes)
{
    objects();
    fixture_do("ip nexthop replace id 10 via 10.0.2.3 dev e2");
    fixture_expect("1.1.1.1", A23);
    fixture_expect("1.2.0.1", "group e2");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(nexthop_replace_keeps_the_order_of_candidates)
{
    objects();
    fixture_do("ip route prepend 1.1.1.0/24 via 10.0.2.2");
    fixture_expect("1.1.1.1", A2);
    fixture_do("ip nexthop replace id 10 via 10.0.1.3 dev e1"); // announces the second candidate as
                                                                // a replacement
    fixture_do("ip route add 1.9.9.0/24 via 10.0.2.2");
    fixture_expect("1.9.9.1", A2);
    fixture_expect("1.1.1.1", A2);
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip route del 1.1.1.0/24 via 10.0.2.2");
    fixture_expect("1.1.1.1", A13);
}

rib_test(group_replace_touches_no_prefix)
{
    struct rib_stats s;

    objects();
    for (int i = 0; i < 20; i++)
        fixture_do("ip route add 1.3.%d.0/24 nhid 20", i);
    fixture_expect("1.3.19.1", "group e1 e2");
    fixture_stats(&before);
    fixture_do("ip nexthop replace id 20 group 11");
    fixture_expect("1.3.19.1", "group e2");
    fixture_stats(&s);
    assert_int_equal(s.family[0].updates, before.family[0].updates);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(deleted_group_member_leaves_the_group)
{
    objects();
    fixture_do("ip nexthop del id 10");
    fixture_expect("1.2.0.1", "group e2");
    fixture_do("ip nexthop del id 11");
    fixture_expect("1.2.0.1", "none");
    fixture_expect_derived(&before);
}

rib_test(last_address_takes_the_gateways_routes)
{
    routes();
    fixture_do("ip addr add 10.9.9.9/32 dev e1; ip route add 1.3.0.0/24 via 10.0.2.2 src 10.9.9.9");
    fixture_expect("1.3.0.1", A2);
    fixture_expect("10.9.9.9", "local");
    fixture_do("ip addr del 10.9.9.9/32 dev e1");
    fixture_expect("1.3.0.1", "none");
    fixture_expect("10.9.9.9", "none");
    fixture_expect("1.1.1.1", A1);
    fixture_stats(&before);
    fixture_do("ip addr del 10.0.1.1/24 dev e1");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("10.0.1.9", "none");
    fixture_expect_derived(&before);
}

rib_test(address_of_one_of_two_subnets_keeps_the_others_routes)
{
    routes();
    fixture_do(
        "ip addr add 10.0.3.1/24 dev e1; ip neigh replace 10.0.3.2 lladdr 02:00:00:00:01:03 dev "
        "e1");
    fixture_do("ip route add 1.4.0.0/24 via 10.0.3.2");
    fixture_expect("1.4.0.1", A13);
    fixture_do("ip addr del 10.0.3.1/24 dev e1");
    fixture_expect("10.0.3.1", "none");
    fixture_expect_derived(&before);
    fixture_expect("1.1.1.1", A1);
}

rib_test(multipath_leg_down_leaves_the_others)
{
    gateways();
    fixture_do("ip route add 1.1.1.0/24 nexthop via 10.0.1.2 nexthop via 10.0.2.2");
    fixture_do(
        "ip -6 route add 2001:db8:1::/48 nexthop via fd01::2 dev e1 nexthop via fd02::2 dev e2");
    fixture_expect("1.1.1.1", "group e1 e2");
    fixture_expect("2001:db8:1::1", "group e1 e2");
    fixture_stats(&before);
    fixture_do("ip link set e1 down");
    fixture_expect("1.1.1.1", "group e2");
    fixture_expect("2001:db8:1::1", "group e2");
    fixture_expect_derived(&before);
    fixture_do("ip link set e2 down");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("2001:db8:1::1", "none");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(carrier_loss_of_a_leg_leaves_the_group_at_once)
{
    gateways();
    fixture_do("ip route add 1.1.1.0/24 nexthop via 10.0.1.2 nexthop via 10.0.2.2");
    fixture_expect("1.1.1.1", "group e1 e2");
    fixture_peer("ip link set p2 down");
    fixture_expect("1.1.1.1", "group e1");
    fixture_peer("ip link set p2 up");
    fixture_expect("1.1.1.1", "group e1 e2");
}

rib_test(ipv6_append_replace_and_leg_deletion)
{
    routes();
    fixture_do("ip -6 route append 2001:db8:1::/48 via fd02::2");
    fixture_expect("2001:db8:1::1", "group e1 e2");
    fixture_do("ip -6 route del 2001:db8:1::/48 via fd01::2");
    fixture_expect("2001:db8:1::1", B2);
    fixture_do("ip -6 route replace 2001:db8:1::/48 via fd01::2");
    fixture_expect("2001:db8:1::1", B1);
    assert_string_equal(fixture_routes("2001:db8:1::/48"), "fd01::2@e1 m1024 active; ");
    fixture_do(
        "ip -6 route append 2001:db8:1::/48 via fd02::2; ip -6 route append 2001:db8:1::/48 via "
        "fd02::3");
    fixture_expect("2001:db8:1::1", "group e1 e2");
    fixture_do("ip -6 route del 2001:db8:1::/48");
    fixture_do("ip -6 route add 2001:db8:1::/48 via fd02::2 metric 5; ip -6 route append "
           "2001:db8:1::/48 dev e1 metric 9");
    fixture_expect("2001:db8:1::1", B2);
    assert_int_equal(fixture_audit(), 0);
}

// Dumps skip routes between two legs of a multipath route: such a route is kept, and comes to the
// front when the first leg goes.
rib_test(ipv6_routes_between_the_legs_of_a_multipath_route_are_followed)
{
    static const char prefix[] = "2001:db8:9::/48", addr[] = "2001:db8:9::1";
    static const char between[] = "ip -6 route add %s via fd01::2; ip -6 route append %s nhid 14; "
                                  "ip -6 route append %s via fd01::3";

    gateways();
    fixture_do("ip -6 nexthop add id 14 via fd02::2 dev e2");
    fixture_do(between, prefix, prefix, prefix);
    fixture_expect(addr, "group e1");
    assert_int_equal(fixture_audit(), 0);
    assert_non_null(strstr(fixture_routes(prefix), "fd02::2@e2 m1024"));
    fixture_do("ip -6 route del %s via fd01::2", prefix); // the one between is first
    fixture_expect(addr, B2);
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip -6 route append %s via fd01::2", prefix); // and now it is before both
    assert_int_equal(fixture_audit(), 0);
    fixture_expect(addr, B2);
    fixture_do("ip -6 route del %s nhid 14", prefix);
    fixture_expect(addr, "group e1");
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip -6 route del %s", prefix);

    fixture_do(between, prefix, prefix, prefix);
    fixture_do("ip -6 route del %s nhid 14", prefix); // not seen
    assert_int_equal(fixture_audit(), 0);
    fixture_eventually(!strstr(fixture_routes(prefix), "fd02::2@e2"));
    fixture_do(
        "ip -6 route append %s nhid 14; ip -6 route append %s dev e2; ip -6 route append %s via "
        "fd02::3",
        prefix, prefix, prefix);
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip -6 route replace %s via fd01::2", prefix); // nothing in between any more
    fixture_expect(addr, B1);
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip -6 route del %s via fd01::2", prefix);
    fixture_expect(addr, B2);
    assert_int_equal(fixture_audit(), 0);

    fixture_do("ip -6 route replace %s dev e2",
           prefix); // it takes the place of the object, and exists twice
    fixture_expect(addr, "glean e2");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(ipv4_append_prepend_and_replace_keep_the_order)
{
    routes();
    fixture_do("ip route append 1.1.1.0/24 via 10.0.2.2");
    fixture_do("ip route prepend 1.1.1.0/24 via 10.0.2.3");
    fixture_expect("1.1.1.1", A23);
    fixture_do("ip route replace 1.1.1.0/24 via 10.0.1.3");
    fixture_expect("1.1.1.1", A13);
    assert_string_equal(fixture_routes("1.1.1.0/24"),
                        "10.0.1.3@e1 m0 active; 10.0.1.2@e1 m0; 10.0.2.2@e2 m0; ");
    fixture_do("ip route del 1.1.1.0/24 via 10.0.1.3");
    fixture_expect("1.1.1.1", A1);
    fixture_do("ip route del 1.1.1.0/24");
    fixture_expect("1.1.1.1", A2);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(lowest_metric_wins)
{
    gateways();
    fixture_do("ip route add 1.1.1.0/24 via 10.0.1.2 metric 10");
    fixture_do("ip route replace 1.1.1.0/24 via 10.0.2.2 metric 20");
    fixture_expect("1.1.1.1", A1);
    fixture_do("ip route replace 1.1.1.0/24 via 10.0.1.3 metric 10");
    fixture_expect("1.1.1.1", A13);
    assert_string_equal(fixture_routes("1.1.1.0/24"), "10.0.1.3@e1 m10 active; 10.0.2.2@e2 m20; ");
    fixture_do("ip route del 1.1.1.0/24 metric 10");
    fixture_expect("1.1.1.1", A2);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(every_type_of_route_has_its_next_hop)
{
    gateways();
    fixture_do("ip route add 1.1.1.0/24 via inet6 fd01::2 dev e1");
    fixture_do("ip route add blackhole 1.2.0.0/16; ip route add unreachable 1.3.0.0/16");
    fixture_do("ip route add prohibit 1.4.0.0/16; ip route add throw 1.5.0.0/16; ip route add "
           "1.0.0.0/8 via 10.0.2.2");
    fixture_do(
        "ip route add multicast 239.1.0.0/16 dev e1; ip route add 1.6.0.0/16 via 172.16.0.1 dev "
        "e2 onlink");
    fixture_do(
        "ip -6 route add blackhole 2001:db8:1::/48; ip -6 route add unreachable 2001:db8:2::/48");
    fixture_do("ip -6 route add prohibit 2001:db8:3::/48; ip route add 1.7.0.0/16 dev lo");
    fixture_expect("1.1.1.1", B1);
    fixture_expect("1.2.0.1", "blackhole");
    fixture_expect("1.3.0.1", "unreachable");
    fixture_expect("1.4.0.1", "prohibit");
    fixture_expect("1.5.0.1",
               "no-route"); // although 1.0.0.0/8 has a route: the tables after main are empty
    fixture_expect("1.6.0.1", "hold e2");
    fixture_expect("1.7.0.1", "unreachable"); // leaves by a link that is not one of our interfaces
    fixture_expect("239.1.0.1", "none");
    fixture_expect("2001:db8:1::1", "blackhole");
    fixture_expect("2001:db8:2::1", "unreachable");
    fixture_expect("2001:db8:3::1", "prohibit");
    fixture_expect("10.0.1.1", "local");
    fixture_expect("10.0.1.255", "broadcast e1");
    fixture_expect("fd01::1", "local");
    fixture_expect("127.0.0.1", "local");
    assert_int_equal(fixture_audit(), 0);
}

static uint64_t unfollowed(enum rib_unfollowed_kind kind)
{
    static struct rib_audit_report r; // large

    fixture_audit_report(false, &r);
    return r.unfollowed.of[kind].n;
}

rib_test(what_linux_routes_by_and_we_do_not_is_counted_once_and_forgotten_with_it)
{
    static struct rib_audit_report r;

    fixture_do(
        "ip rule add pref 100 from 10.9.0.0/24 lookup 77; ip rule add pref 100 from 10.8.0.0/24 "
        "lookup 77");
    fixture_do(
        "ip route add 1.1.1.0/24 tos 0x10 via 10.0.1.2; ip route add 1.2.0.0/16 via 10.0.1.2 "
        "table 253");
    fixture_do(
        "ip -6 route add 2001:db8:1::/48 from 2001:db8:9::/48 via fd01::2; ip rule add pref 101 "
        "to 1.0.0.0/8 lookup 77");
    fixture_eventually(unfollowed(UNFOLLOWED_RULE) == 3 && unfollowed(UNFOLLOWED_TOS) == 1 &&
                   unfollowed(UNFOLLOWED_TABLE) == 1 && unfollowed(UNFOLLOWED_SOURCE) == 1);
    fixture_audit_report(true, &r); // a dump shows all of it again
    assert_int_equal(r.diverged, 0);
    assert_int_equal(r.unfollowed.n, 6);
    assert_string_equal(r.unfollowed.of[UNFOLLOWED_TOS].example, "1.1.1.0/24 tos 0x10");
    fixture_do("ip route add 1.3.0.0/16 encap ip id 5 dst 10.0.1.9 dev e1");
    fixture_eventually(unfollowed(UNFOLLOWED_ENCAP) == 1);
    fixture_audit_report(false, &r);
    assert_string_equal(r.unfollowed.of[UNFOLLOWED_ENCAP].example, "1.3.0.0/16 encap ip");
    fixture_do("ip route del 1.3.0.0/16; ip rule del pref 100 from 10.8.0.0/24 lookup 77");
    fixture_eventually(unfollowed(UNFOLLOWED_RULE) == 2);
    fixture_do("ip link set e1 down"); // Linux deletes the IPv4 routes silently
    fixture_eventually(unfollowed(UNFOLLOWED_TOS) == 0 && unfollowed(UNFOLLOWED_TABLE) == 0 &&
                   unfollowed(UNFOLLOWED_SOURCE) == 0);
    fixture_do("ip rule del pref 100; ip rule del pref 101");
    fixture_eventually(unfollowed(UNFOLLOWED_RULE) == 0);
    fixture_do("ip rule del pref 32766");
    fixture_eventually(unfollowed(UNFOLLOWED_RULE) == 1);
    fixture_do(
        "ip rule add pref 32766 lookup main; ip rule add pref 32765 lookup local; ip rule del "
        "pref 0");
    fixture_eventually(unfollowed(UNFOLLOWED_RULE) == 0);
}

rib_test(routes_by_an_object_with_an_encapsulation_go_with_it)
{
    fixture_do(
        "ip nexthop add id 10 encap ip id 5 dst 10.0.1.9 dev e1; ip route add 1.4.0.0/16 nhid 10");
    fixture_expect("1.4.0.1", "unreachable");
    assert_int_equal(unfollowed(UNFOLLOWED_ENCAP), 1);
    fixture_stats(&before);
    fixture_do("ip nexthop del id 10"); // Linux deletes the route silently
    fixture_expect_derived(&before);
    fixture_expect("1.4.0.1", "none");
}

static void leaf_mtu(void *arg)
{
    struct ip_addr *a = arg;
    struct vr *vr = vr_get(VR_DEFAULT);

    a->ip4 = nexthop_route_mtu(fib_find(a->family == IP4 ? vr->fib4 : vr->fib6, a));
}

static unsigned mtu_of(const char *text)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(text, &a), 0);
    fixture_in_rib_manager(leaf_mtu, &a);
    return a.ip4;
}

rib_test(routes_of_one_gateway_have_an_mtu_each)
{
    gateways();
    fixture_do(
        "ip route add 1.1.1.0/24 via 10.0.1.2 mtu 1000; ip route add 1.2.0.0/16 via 10.0.1.2 "
        "mtu lock 900");
    fixture_do("ip route add 1.3.0.0/16 via 10.0.1.2; ip nexthop add id 10 via 10.0.1.2 dev e1; ip "
           "route add 1.4.0.0/16 nhid 10 mtu 800");
    fixture_do(
        "ip -6 route add 2001:db8:1::/48 via fd01::2 mtu 1300; ip -6 route add 2001:db8:2::/48 "
        "via fd01::2 mtu 1000");
    fixture_eventually(mtu_of("1.1.1.1") == 1000 && mtu_of("1.2.0.1") == 900 &&
                   mtu_of("1.4.0.1") == 800);
    fixture_eventually(mtu_of("2001:db8:1::1") == 1300 &&
                   mtu_of("2001:db8:2::1") == 1280); // no less, as in Linux
    assert_int_equal(mtu_of("1.3.0.1"), 0);
    fixture_expect("1.1.1.1", A1);
    fixture_expect("1.4.0.1", A1);
    fixture_do("ip link set e1 mtu 1290"); // changes the MTU of IPv6 routes, too, silently
    fixture_eventually(mtu_of("2001:db8:1::1") == 1290);
    fixture_do("ip link set e1 mtu 1500");
    fixture_eventually(mtu_of("2001:db8:1::1") == 1500);
    fixture_do(
        "ip route replace 1.1.1.0/24 via 10.0.1.2; ip route add blackhole 1.2.3.0/24 mtu 700");
    fixture_eventually(mtu_of("1.1.1.1") == 0);
    fixture_expect("1.2.3.1", "blackhole");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(hosts_have_the_mtu_of_the_route_to_their_link)
{
    fixture_do("ip neigh replace 10.0.1.9 lladdr 02:00:00:00:01:09 dev e1 nud permanent");
    fixture_expect("10.0.1.9", "adjacency e1 02:00:00:00:01:09");
    fixture_do("ip route replace 10.0.1.0/24 dev e1 proto kernel scope link src 10.0.1.1 mtu 1200");
    fixture_eventually(mtu_of("10.0.1.9") == 1200 && mtu_of("10.0.1.8") == 1200);
    fixture_expect("10.0.1.9", "adjacency e1 02:00:00:00:01:09");
    assert_int_equal(fixture_audit(), 0);
    fixture_do("ip route replace 10.0.1.0/24 dev e1 proto kernel scope link src 10.0.1.1");
    fixture_eventually(mtu_of("10.0.1.9") == 0 && mtu_of("10.0.1.8") == 0);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(deleted_link_takes_everything)
{
    routes();
    fixture_do("ip nexthop add id 10 via 10.0.1.2 dev e1; ip route add 1.2.0.0/24 nhid 10");
    fixture_do("ip route add 1.3.0.0/24 nexthop via 10.0.1.2 nexthop via 10.0.2.2");
    fixture_expect("1.3.0.1", "group e1 e2");
    fixture_stats(&before);
    fixture_do("ip link del e1");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("1.2.0.1", "none");
    fixture_expect("10.0.1.1", "none");
    fixture_expect("1.3.0.1", "none");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("9.9.9.9", A2);
    fixture_expect_derived(&before);
    fixture_eventually(fixture_gone == 1);
}

rib_test(moved_link_takes_everything)
{
    routes();
    fixture_do("ip link set e1 netns %d", fixture_peer_pid());
    fixture_expect("1.1.1.1", "none");
    fixture_expect("10.0.1.1", "none");
    fixture_expect_derived(&before);
    fixture_eventually(fixture_gone == 1);
}

rib_test(flushed_routes_go)
{
    routes();
    fixture_do("ip -4 route flush 1.1.1.0/24; ip -6 route flush 2001:db8:1::/48");
    fixture_expect("1.1.1.1", "none");
    fixture_expect("2001:db8:1::1", "none");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(neighbor_changes_reach_the_adjacency)
{
    routes();
    fixture_do("ip neigh change 10.0.1.2 lladdr 02:00:00:00:00:09 dev e1 nud permanent");
    fixture_expect("1.1.1.1", "adjacency e1 02:00:00:00:00:09");
    fixture_expect("10.0.1.2", "adjacency e1 02:00:00:00:00:09");
    fixture_do("ip neigh del 10.0.1.3 dev e1");
    fixture_expect("10.0.1.3", "glean e1"); // back to "somewhere on the link"
    fixture_do("ip neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev e1 nud permanent");
    fixture_expect("10.0.2.77", "glean e2"); // a different link than the kernel's
    fixture_do("ip route add 10.0.1.2/32 via 10.0.2.2");
    fixture_expect("10.0.1.2", A2); // a kernel route for exactly this host wins
    fixture_do("ip route del 10.0.1.2/32");
    fixture_expect("10.0.1.2", "adjacency e1 02:00:00:00:00:09");
    fixture_do("ip route add 10.0.1.0/30 via 10.0.2.2");
    fixture_expect("10.0.1.2", A2); // and so does a longer one that covers it
    fixture_do("ip route del 10.0.1.0/30");
    fixture_expect("10.0.1.2", "adjacency e1 02:00:00:00:00:09");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(mtu_mac_and_name_may_change)
{
    routes();
    fixture_do("ip link set e1 mtu 1400; ip link set e1 address 02:11:22:33:44:55");
    fixture_do("ip link set e1 down; ip link set e1 name e9; ip link set e9 up");
    fixture_expect("10.0.1.9", "glean e1");
    fixture_do("ip neigh replace 10.0.1.2 lladdr 02:00:00:00:01:02 dev e9 nud permanent");
    fixture_do("ip route add 1.1.1.0/24 via 10.0.1.2");
    fixture_expect("1.1.1.1", A1);
    fixture_eventually(fixture_reports > 2);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(policy_rules_are_counted_and_ignored)
{
    struct rib_stats s;

    routes();
    assert_int_equal(before.ignored_rules, 0);
    fixture_do("ip rule add from 10.7.0.0/16 table 100");
    fixture_eventually((fixture_stats(&s), s.ignored_rules == 1));
    assert_int_equal(fixture_audit(), 0);
    fixture_stats(&s);
    assert_int_equal(s.ignored_rules, 1); // the audit's dump repeats it; it counts once
    fixture_do("ip rule del from 10.7.0.0/16 table 100");
    fixture_eventually((fixture_stats(&s), s.ignored_rules == 0));
}

rib_test(ipv6_disabled_on_a_link)
{
    routes();
    fixture_do("sysctl -qw net.ipv6.conf.e1.disable_ipv6=1");
    fixture_expect("2001:db8:1::1", "none");
    fixture_expect("fd01::9", "none");
    fixture_expect("1.1.1.1", A1);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(route_before_its_interface_is_ours)
{
    gateways();
    fixture_do(
        "ip link add e3 type veth peer name p3; ip addr add 10.0.3.1/24 dev e3; ip link set p3 "
        "up; ip link set e3 up");
    fixture_do("ip route add 1.3.0.0/16 via 10.0.3.2");
    fixture_expect("1.3.0.1", "unreachable"); // not ours: nothing shorter may catch it
    assert_int_equal(rib_manager_iface_del(fixture_iface[2]), 0);
    fixture_expect("10.0.2.9", "unreachable");
    assert_int_equal(rib_manager_iface_add(fixture_iface[2]), 0);
    fixture_expect("10.0.2.9", "glean e2");
    fixture_expect("10.0.2.2", A2);
}

rib_test(local_table_shadows_longer_routes_of_main)
{
    gateways();
    fixture_do("ip route add 127.1.0.0/16 via 10.0.1.2; ip route add 1.1.1.0/24 via 10.0.1.2");
    fixture_expect("1.1.1.1", A1);
    assert_string_equal(fixture_fib("127.1.0.1"), "local");
    fixture_do("ip route add local 1.1.0.0/16 dev lo table local");
    fixture_expect("1.1.1.1", "local");
    fixture_do("ip route del local 1.1.0.0/16 dev lo table local");
    fixture_expect("1.1.1.1", A1);
    assert_int_equal(fixture_audit(), 0);
}

// Many test machines have a kernel without VRF devices, so the test announces one itself.
static struct {
    uint16_t vr;
    struct netlink_event event;
    struct rib_unfollowed unfollowed;
} vrf;

static void announce_vrf(void *arg)
{
    rib_event_link(rib_vr_find(vrf.vr), &vrf.event);
    rib_unfollowed_report(rib_vr_find(vrf.vr), &vrf.unfollowed);
}

rib_test(a_table_without_its_vrf_device_is_told_once_for_all_its_interfaces)
{
    struct vr *red = vr_new("red");
    struct iface *e1 = iface_get(fixture_iface[1]);
    uint16_t home = e1->vr;

    assert_int_equal(rib_manager_iface_del(e1->id), 0);
    e1->vr = red->id;
    assert_int_equal(rib_manager_vr_add(red->id, -1, 77), 0);
    assert_int_equal(rib_manager_iface_add(e1->id), 0);
    vrf.vr = red->id;
    for (unsigned i = 0; i < 3;
         i++) { // 0: a device of another table; 1: of this table; 2: deleted
        unsigned reports;

        fixture_run(300); // what the start reports
        reports = fixture_reports;
        vrf.event = (struct netlink_event){.del = i == 2};
        vrf.event.link = (struct netlink_link){.ifindex = 990 + (i > 0),
                                               .kind = NETLINK_LINK_VRF,
                                               .vrf_table = i ? 77 : 78,
                                               .up = true};
        fixture_in_rib_manager(announce_vrf, NULL);
        if (i)
            fixture_eventually(fixture_reports > reports);
        assert_int_equal(fixture_has_vrf, i == 1); // kernel-state names the interface
        assert_int_equal(vrf.unfollowed.of[UNFOLLOWED_DEVICE].n,
                         i != 1); // or route-not-followed the table
    }
    assert_int_equal(rib_manager_iface_del(e1->id), 0);
    assert_int_equal(rib_manager_vr_del(red->id), 0);
    e1->vr = home;
    assert_int_equal(rib_manager_iface_add(e1->id), 0);
    vr_free(red);
}
