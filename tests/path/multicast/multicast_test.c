// SPDX-License-Identifier: BSD-3-Clause
// multicast_test.c - receivers of copies of a multicast packet, and the copies themselves
#include "multicast_fixture.h"

void rig_begin(void)
{
    interfaces();
}

// rfc: 1812 5.2.1.3 SHOULD
// rfc: 1112 6.4 MUST
path_test(a_copy_leaves_by_each_output_to_the_groups_mac)
{
    ROUTE("192.0.2.1", "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_copy(1, sub, &f);
    assert_copy(2, two, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->packets, 1);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->bytes, f.n - 14);
}

// rfc: 2464 7 MUST
path_test(ipv6_too)
{
    ROUTE("2001:db8::1", "ff1e::abcd:1234", 0, sub, 1, two, 1);
    struct frame f = send_one(0, &stream6);
    assert_copy(1, sub, &f);
    assert_copy(2, two, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(tagged_in_padded_in_and_untagged_out)
{
    uint16_t v = rig_iface(0, 9, VR_DEFAULT);
    in = v;
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    struct ip_spec s = stream4;
    struct frame want = frame_ip(&s);
    s.vlan = 9, s.pad_to = 80;
    send_one(0, &s);
    assert_copy(1, one, &want); // without the padding
    nothing_left();
}

path_test(with_two_tags)
{
    uint16_t pair = rig_iface_pair(2, 30, 0x88a8, 40, VR_DEFAULT);
    ROUTE(NULL, "239.129.2.3", 0, one, 1, pair, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_copy(2, pair, &f);
    nothing_left();
    in = pair;
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    struct ip_spec s = stream4;
    s.vlan = 40, s.outer_tpid = 0x88a8, s.outer_tci = 30;
    send_one(2, &s);
    assert_copy(1, one, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(the_route_of_the_source_goes_before_that_of_the_group)
{
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    ROUTE("192.0.2.1", "239.129.2.3", 0, two, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(2, two, &f);
    struct ip_spec other = stream4;
    other.src = "192.0.2.2";
    f = send_one(0, &other);
    assert_copy(1, one, &f);
    nothing_left();
    router_role(ROLE_RIB_MANAGER);
    struct multicast_key k = key("192.0.2.1", "239.129.2.3");
    multicast_del(VR_DEFAULT, &k);
    f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    nothing_left();
}

path_test(without_a_route_it_is_dropped)
{
    uint16_t red = rig_vr("red");
    send_one(0, &stream4);
    assert_only_drop(DROP_IP4_MULTICAST, 1);
    route(red, NULL, "239.129.2.3", 0, (const uint16_t[]){one, 1, 0}); // of another virtual router
    ROUTE("192.0.2.9", "239.129.2.3", 0, one, 1);
    send_one(0, &stream4);
    assert_only_drop(DROP_IP4_MULTICAST, 2);
    send_one(0, &stream6);
    assert_int_equal(rig_drops(DROP_IP6_MULTICAST), 1);
    nothing_left();
}

// rfc: 7761 4.2 MUST
path_test(by_the_wrong_interface_it_is_dropped_and_counted)
{
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    send_one(2, &stream4); // which is an output
    send_one(2, &stream4);
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 2);
    assert_int_equal(counter(NULL, "239.129.2.3")->wrong, 2);
    assert_int_equal(counter(NULL, "239.129.2.3")->packets, 0);
    ROUTE(NULL, "239.129.2.3", 0, one, 1); // counters are kept
    assert_int_equal(counter(NULL, "239.129.2.3")->wrong, 2);
    nothing_left();
}

path_test(a_tree_takes_packets_by_its_outputs_and_sends_none_back)
{
    ROUTE(NULL, "239.129.2.3", MULTICAST_TREE, in, 1, one, 1, two, 1);
    struct frame f = send_one(2, &stream4);
    assert_copy(0, in, &f);
    assert_copy(1, one, &f);
    nothing_left();
    send_one(3, &stream4);
    assert_int_equal(rig_drops(DROP_IFACE_DOWN), 1);
}

path_test(never_back_by_the_input)
{
    ROUTE(NULL, "239.129.2.3", 0, in, 1);
    send_one(0, &stream4);
    assert_only_drop(DROP_MULTICAST_NO_OUTPUT, 1);
    ROUTE(NULL, "239.129.2.3", 0, in, 1, one, 1, two, 1);
    iface_get(two)->flags = 0;
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    nothing_left();
    assert_only_drop(DROP_MULTICAST_NO_OUTPUT, 1);
}

path_test(an_output_takes_what_has_more_hops_left_than_its_threshold)
{
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 16);
    struct ip_spec s = stream4;
    static const struct {
        uint8_t ttl;
        bool by_one, by_two;
    } row[] = {{1, false, false},
               {2, true, false},
               {16, true, false},
               {17, true, true},
               {255, true, true}};
    unsigned dropped = 0;
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        s.ttl = row[i].ttl;
        struct frame f = send_one(0, &s);
        if (row[i].by_one)
            assert_copy(1, one, &f);
        if (row[i].by_two)
            assert_copy(2, two, &f);
        nothing_left();
        dropped += !row[i].by_one && !row[i].by_two;
    }
    assert_only_drop(DROP_MULTICAST_TTL, dropped);
    assert_int_equal(dropped, 1);
}
