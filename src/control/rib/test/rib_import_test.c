// SPDX-License-Identifier: BSD-3-Clause
// rib_import_test.c - routes of one virtual router that another one imports, on a real kernel
//
// Red is table 77 of the namespace; e1 and e2 belong to the default router, from which red imports.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "base/ip.h"
#include "rib/test/rib_fixture.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "tests/unit.h"

#define NEIGHBOR2 "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:00:02 nud permanent dev e2; "
#define NEIGHBOR1 "ip neigh replace 10.0.1.2 lladdr 02:00:00:00:00:01 nud permanent dev e1; "
#define BY1 "adjacency e1 02:00:00:00:00:01"
#define BY2 "adjacency e2 02:00:00:00:00:02"

static int open_both(void **state)
{
    fixture_open_both();
    fixture_do(NEIGHBOR1 NEIGHBOR2 "ip route add 10.7.0.0/16 via 10.0.2.2; "
               "ip route add 172.16.0.0/12 dev e1 table 77");
    return 0;
}

static int close_both(void **state)
{
    fixture_close_both();
    return 0;
}

static int change(const char *vr, const char *source, const char *prefix, uint8_t ge, uint8_t le,
                  bool on)
{
    struct rib_import_rule r = {.ge = ge, .le = le};

    snprintf(r.source, sizeof r.source, "%s", source);
    assert_int_equal(prefix_parse(prefix, &r.prefix, false), 0);
    r.ge = ge ? ge : r.prefix.len;
    r.le = le ? le : r.prefix.len;
    return rib_manager_import(vr, &r, on);
}

static void import(const char *prefix, uint8_t ge, uint8_t le)
{
    assert_int_equal(change("red", "default", prefix, ge, le, true), 0);
}

static void end_import(const char *prefix, uint8_t ge, uint8_t le)
{
    assert_int_equal(change("red", "default", prefix, ge, le, false), 0);
}

#define routers_test(name) unit_test_of(name, open_both, close_both)

routers_test(a_route_is_imported_with_its_next_hop)
{
    struct rib_row row[8];

    fixture_do("ip route add 10.8.0.0/16 via 10.0.2.2");
    import("10.7.0.0/16", 0, 0);
    fixture_expect("10.7.0.1", BY2);
    assert_string_equal(fixture_fib("10.8.0.1"), "none");
    assert_string_equal(fixture_fib("10.0.2.2"), "none");
    assert_string_equal(fixture_routes("10.7.0.0/16"), "10.0.2.2@e2 m0 active; ");
    struct rib_query q = {
        .vr = fixture_red->id, .family = IP4, .match = RIB_ALL, .protocol = -1, .type = -1};
    unsigned imported = 0;
    for (unsigned i = 0, n = fixture_rows(&q, row, 8); i < n && i < 8; i++)
        imported += row[i].imported && row[i].source_vr == VR_DEFAULT;
    assert_int_equal(imported, 1);
    assert_int_equal(fixture_audit(), 0);
    end_import("10.7.0.0/16", 0, 0);
    fixture_expect("10.7.0.1", "none");
}

routers_test(a_link_comes_with_its_hosts_and_without_its_own_addresses)
{
    import("10.0.2.0/24", 0, 0);
    import("fd02::/64", 0, 0);
    fixture_expect("10.0.2.2", BY2);
    fixture_expect("10.0.2.77", "glean e2");
    assert_string_equal(fixture_fib("10.0.2.1"), "glean e2");
    fixture_expect("fd02::77", "glean e2");
    fixture_do("ip neigh replace 10.0.2.9 lladdr 02:00:00:00:00:09 nud permanent dev e2");
    fixture_expect("10.0.2.9", "adjacency e2 02:00:00:00:00:09");
    fixture_do("ip neigh del 10.0.2.9 dev e2");
    fixture_expect("10.0.2.9", "glean e2");
    assert_int_equal(fixture_audit(), 0);
    end_import("10.0.2.0/24", 0, 0);
    fixture_expect("10.0.2.2", "none");
    assert_string_equal(fixture_fib("10.0.2.77"), "none");
}

routers_test(changes_of_the_source_follow)
{
    import("10.7.0.0/16", 0, 0);
    fixture_expect("10.7.0.1", BY2);
    fixture_do("ip route replace 10.7.0.0/16 via 10.0.1.2");
    fixture_expect("10.7.0.1", BY1);
    fixture_do("ip route replace 10.7.0.0/16 nexthop via 10.0.1.2 nexthop via 10.0.2.2");
    fixture_expect("10.7.0.1", "group e1 e2");
    fixture_do("ip route replace blackhole 10.7.0.0/16");
    fixture_expect("10.7.0.1", "blackhole");
    fixture_do("ip route del 10.7.0.0/16");
    fixture_expect("10.7.0.1", "none");
    fixture_do("ip route add 10.7.0.0/16 via 10.0.2.2");
    fixture_expect("10.7.0.1", BY2);
    fixture_do("ip link set e2 down");
    fixture_expect("10.7.0.1", "none");
    assert_int_equal(fixture_audit(), 0);
}

routers_test(lengths_choose_among_the_prefixes_below)
{
    fixture_do("ip route add 10.0.0.0/8 via 10.0.1.2; ip route add 10.7.1.0/24 via 10.0.1.2; ip "
               "route add 10.7.1.128/25 via 10.0.2.2");
    import("10.0.0.0/8", 16, 24);
    fixture_expect("10.7.1.200", BY1);
    fixture_expect("10.7.0.1", BY2);
    assert_string_equal(fixture_fib("10.200.0.1"), "none"); // the /8
    end_import("10.0.0.0/8", 16, 24);
    import("10.0.0.0/8", 25, 32);
    fixture_expect("10.7.1.200", BY2);
    fixture_expect("10.7.1.1", "none");
}

routers_test(a_route_of_its_own_wins)
{
    import("10.7.0.0/16", 0, 0);
    fixture_expect("10.7.0.1", BY2);
    fixture_do("ip route add 10.7.0.0/16 via 10.0.1.2 dev e1 table 77");
    fixture_expect("10.7.0.1", BY1);
    fixture_do("ip route del 10.7.0.0/16 table 77");
    fixture_expect("10.7.0.1", BY2);
}

routers_test(what_is_imported_is_not_imported_again)
{
    fixture_do("ip route add 10.9.0.0/16 via 10.0.1.2 dev e1 table 77");
    import("10.0.0.0/8", 9, 24);
    assert_int_equal(change("default", "red", "10.0.0.0/8", 9, 24, true), 0);
    fixture_expect("10.7.0.1", BY2);
    fixture_select(vr_find("default"));
    fixture_expect("10.9.0.1", BY1);
    fixture_do("ip route del 10.7.0.0/16; ip route del 10.9.0.0/16 table 77");
    fixture_expect("10.7.0.1", "none"); // red imports it from us
    fixture_expect("10.9.0.1", "none");
    fixture_select(fixture_red);
    fixture_expect("10.7.0.1", "none");
    fixture_expect("10.9.0.1", "none");
    assert_int_equal(change("default", "red", "10.0.0.0/8", 9, 24, false), 0);
}

routers_test(the_mtu_of_a_route_comes_with_it)
{
    struct rib_row row[2];

    fixture_do("ip route replace 10.7.0.0/16 via 10.0.2.2 mtu 1280");
    import("10.7.0.0/16", 0, 0);
    fixture_expect("10.7.0.1", BY2);
    struct rib_query q = {
        .vr = fixture_red->id, .family = IP4, .match = RIB_EXACT, .protocol = -1, .type = -1};
    assert_int_equal(prefix_parse("10.7.0.0/16", &q.prefix, false), 0);
    assert_int_equal(fixture_rows(&q, row, 2), 1);
    assert_int_equal(row[0].mtu, 1280);
    uint32_t leaf =
        fib_find(fixture_red->fib4, &(struct ip_addr){.family = IP4, .b = {10, 7, 0, 1}});
    assert_int_equal(nexthop_route_mtu(leaf), 1280);
}

routers_test(imports_name_virtual_routers_that_exist)
{
    assert_int_equal(change("red", "green", "10.0.0.0/8", 0, 0, true), -ENOENT);
    assert_int_equal(change("red", "red", "10.0.0.0/8", 0, 0, true), -ENOENT);
    assert_int_equal(change("red", "default", "10.0.0.0/8", 0, 0, false), -ENOENT);
}

// After many changes at once, the importer's FIB equals the source's.
routers_test(a_storm_of_changes_ends_in_the_same_routes)
{
    import("20.0.0.0/8", 9, 24);
    for (unsigned k = 0; k < 20; k++)
        fixture_do("for i in $(seq 1 50); do echo route replace 20.%u.$i.0/24 via 10.0.%u.2; "
                   "done | ip -batch -; "
                   "for i in $(seq 1 3 50); do echo route del 20.%u.$i.0/24; done | ip -batch -",
                   k, 1 + k % 2, k);
    fixture_expect("20.19.50.1", BY2);
    fixture_expect("20.19.49.1", "none");
    for (unsigned k = 0; k < 20; k++)
        for (unsigned i = 1; i <= 50; i++) {
            char a[32];
            snprintf(a, sizeof a, "20.%u.%u.1", k, i);
            assert_string_equal(fixture_fib(a), i % 3 == 1 ? "none" : k % 2 ? BY2 : BY1);
        }
    assert_int_equal(fixture_audit(), 0);
}
