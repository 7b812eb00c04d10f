// SPDX-License-Identifier: BSD-3-Clause
// counters_test.c - packets and bytes of next hops are counted while that is on, and only then
#include "harness.h"

#include "table/nexthop_count.h"

static uint32_t member[2], alone;

static void routes(void)
{
    rig_iface(0, 0, VR_DEFAULT);
    for (unsigned i = 0; i < 2; i++)
        member[i] = rig_adjacency(rig_iface(i + 1, 0, VR_DEFAULT), i + 1);
    alone = rig_adjacency(rig_iface(3, 40, VR_DEFAULT), 3); // tagged: four bytes more
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_group(member, 2));
    rig_route(VR_DEFAULT, "2001:db8:2::/48", alone);
}

static void count(bool on)
{
    rig_role(ROLE_CONTROL);
    assert_int_equal(nexthop_count_set(on), 0);
    assert_int_equal(nexthop_count_is_on(), on);
}

static void traffic(void)
{
    for (unsigned i = 0; i < 100; i++) {
        struct frame a = frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "198.51.100.1", .sport = (uint16_t)(1 + i), .payload = 100}),
                     b = frame_ip(&(struct ip_spec){.src = "2001:db8::1", .dst = "2001:db8:2::1", .payload = 200});
        rig_send(0, &a);
        rig_send(0, &b);
        rig_poll();
    }
    assert_int_equal(rig_discard(1) + rig_discard(2), 100);
    assert_int_equal(rig_discard(3), 100);
}

static void every_next_hop_is_counted_while_it_is_on(void **state)
{
    routes();
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 0);
    count(true);
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 100);
    assert_int_equal(nexthop_count_sum(alone).bytes, 100 * (14 + 4 + 40 + 8 + 200));
    assert_int_equal(nexthop_count_sum(member[0]).packets + nexthop_count_sum(member[1]).packets, 100);
    assert_int_equal(nexthop_count_sum(member[0]).bytes, nexthop_count_sum(member[0]).packets * (14 + 20 + 8 + 100));
    assert_true(nexthop_count_sum(member[0]).packets > 20 && nexthop_count_sum(member[1]).packets > 20);
    count(false);
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 100);
    nexthop_count_clear(alone);
    assert_int_equal(nexthop_count_sum(alone).packets, 0);
    rig_role(ROLE_CONTROL);
    nexthop_count_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {path_test(every_next_hop_is_counted_while_it_is_on)};

    return path_run(tests);
}
