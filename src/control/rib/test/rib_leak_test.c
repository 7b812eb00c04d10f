// SPDX-License-Identifier: BSD-3-Clause
// rib_leak_test.c - routes of one virtual router by interfaces of another: tables of one namespace
//
// FRR writes such routes for `import vrf`. Red is table 77 of the namespace; e1 and e2 belong to
// the default router.

#include "rib/test/rib_fixture.h"
#include "table/iface.h"
#include "table/vr.h"
#include "tests/unit.h"

static int open_both(void **state)
{
    fixture_open_both();
    return 0;
}

static int close_both(void **state)
{
    fixture_close_both();
    return 0;
}

#define routers_test(name) unit_test_of(name, open_both, close_both)

routers_test(a_gateway_and_a_subnet_of_another_router)
{
    fixture_do("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:00:02 nud permanent dev e2");
    fixture_do("ip neigh replace 10.0.2.9 lladdr 02:00:00:00:00:09 nud permanent dev e2");
    fixture_do(
        "ip route add 10.7.0.0/16 via 10.0.2.2 dev e2 table 77; ip route add 10.0.2.0/24 dev e2 "
        "table 77");
    fixture_do(
        "ip -6 neigh replace fd02::2 lladdr 02:00:00:00:00:02 nud permanent dev e2; ip -6 route "
        "add fd07::/16 via fd02::2 dev e2 table 77");
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:02");
    fixture_expect("fd07::1", "adjacency e2 02:00:00:00:00:02");
    fixture_expect("10.0.2.9", "adjacency e2 02:00:00:00:00:09"); // a host on the leaked subnet
    fixture_expect("10.0.2.77", "glean e2");
    fixture_expect("10.0.1.2", "none");
    assert_string_equal(fixture_routes("10.7.0.0/16"), "10.0.2.2@e2 m0 active; ");
    assert_int_equal(fixture_audit(), 0);
}

routers_test(its_neighbors_are_told_of_once)
{
    struct neigh_row row[64];

    fixture_do(
        "ip neigh replace 10.0.2.9 lladdr 02:00:00:00:00:09 nud permanent dev e2; ip route add "
        "10.0.2.0/24 dev e2 table 77");
    fixture_expect("10.0.2.9", "adjacency e2 02:00:00:00:00:09");
    assert_int_equal(fixture_neighbors(row, 64), 0);
    fixture_select(vr_find("default"));
    assert_true(fixture_neighbors(row, 64) > 0);
}

routers_test(it_ends_with_the_interface_and_begins_again)
{
    fixture_do(
        "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:00:02 nud permanent dev e2; ip route add "
        "10.7.0.0/16 via 10.0.2.2 dev e2 table 77");
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:02");
    assert_int_equal(rib_manager_iface_del(fixture_iface[2]), 0);
    assert_string_equal(fixture_fib("10.7.0.1"),
                        "unreachable"); // at once: no reference is left
    assert_int_equal(rib_manager_iface_add(fixture_iface[2]), 0);
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:02");
}

routers_test(an_interface_that_moves_becomes_its_own)
{
    fixture_do(
        "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:00:02 nud permanent dev e2; ip route add "
        "10.7.0.0/16 via 10.0.2.2 dev e2 table 77");
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:02");
    assert_int_equal(rib_manager_iface_del(fixture_iface[2]), 0);
    iface_get(fixture_iface[2])->vr = fixture_red->id;
    assert_int_equal(rib_manager_iface_add(fixture_iface[2]), 0);
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:02");
    fixture_select(vr_find("default"));
    fixture_do("ip route add 10.8.0.0/16 via 10.0.2.2 dev e2");
    fixture_expect("10.8.0.1", "adjacency e2 02:00:00:00:00:02");
    fixture_select(fixture_red);
}

routers_test(a_macvlan_on_it_leads_out_by_it)
{
    if (fixture_try("ip link add m2 link e2 type macvlan mode bridge"))
        skip();
    fixture_do(
        "ip link set m2 up; ip addr add 10.9.0.1/24 dev m2; ip neigh replace 10.9.0.2 lladdr "
        "02:00:00:00:00:09 nud permanent dev m2");
    fixture_do("ip route add 10.7.0.0/16 via 10.9.0.2 dev m2 table 77");
    fixture_expect("10.7.0.1", "adjacency e2 02:00:00:00:00:09");
}
