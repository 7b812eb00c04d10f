// SPDX-License-Identifier: BSD-3-Clause
// multicast_up_test.c - multicast packets for the host, the kernel and routing daemons
#include "multicast_fixture.h"

#include "table/packet_trace.h"

void rig_begin(void)
{
    interfaces();
}

path_test(what_concerns_one_link_is_never_forwarded)
{
    static const char *const up[][2] = {
        {"192.0.2.1", "224.0.0.9"}, {"2001:db8::1", "ff02::9"}, {"2001:db8::1", "ff32::9"}};
    static const struct {
        const char *src, *dst;
        enum drop_reason why;
    } drop[] = {{"2001:db8::1", "ff01::9", DROP_IP6_MARTIAN_DST},
                {"2001:db8::1", "ff00::9", DROP_IP6_MARTIAN_DST},
                {"fe80::1", "ff1e::abcd:1234", DROP_IP6_LINK_LOCAL},
                {"::", "ff1e::abcd:1234", DROP_IP6_MARTIAN_SRC},
                {"169.254.1.1", "239.129.2.3", DROP_IP4_LINK_LOCAL},
                {"0.0.0.0", "239.129.2.3", DROP_IP4_MARTIAN_SRC}};
    struct frame f;

    for (unsigned i = 0; i < 3; i++)
        ROUTE(NULL, up[i][1], 0, one, 1);
    ROUTE(NULL, "ff01::9", 0, one, 1);
    ROUTE(NULL, "ff00::9", 0, one, 1);
    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1);
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    for (unsigned i = 0; i < 3; i++) {
        send_one(0, &(struct ip_spec){.src = up[i][0], .dst = up[i][1], .dst_mac = group_mac});
        assert_true(rig_punted(PUNT_OTHER, &f, NULL));
    }
    for (unsigned i = 0; i < sizeof drop / sizeof *drop; i++) {
        uint64_t before = rig_drops(drop[i].why);
        send_one(0,
                 &(struct ip_spec){.src = drop[i].src, .dst = drop[i].dst, .dst_mac = group_mac});
        assert_int_equal(rig_drops(drop[i].why), before + 1);
    }
    nothing_left();
}

path_test(mld_to_the_group_itself_goes_up)
{
    static const uint8_t report[16] = {58, 0, 5, 2, 0, 0, 1, 0, 131};
    struct frame g;

    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1);
    struct frame f = ip_frame(.src = "fe80::1", .dst = "ff1e::abcd:1234", .dst_mac = group6_mac,
                              .l4 = report, .l4_len = 16, .ttl = 1);
    f.b[20] = 0; // hop-by-hop
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
    nothing_left();
}

path_test(a_group_that_the_host_has_joined_goes_up_too)
{
    struct frame g;
    uint16_t by = 0;

    join(in, "239.129.2.3");
    struct frame f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_OTHER, &g, &by)); // no route: punts the packet itself
    assert_int_equal(by, in);
    assert_memory_equal(g.b, f.b, f.n);
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL)); // an unchanged copy
    assert_memory_equal(g.b, f.b, f.n);
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    send_one(2, &stream4); // joined on another interface only
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 1);
    assert_false(rig_punted(PUNT_OTHER, &g, NULL));
    nothing_left();
}

path_test(a_daemon_is_shown_unknown_groups)
{
    struct frame g;

    daemon_on(in);
    struct frame f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    send_one(0, &stream6);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
    send_one(2, &stream4); // no daemon there
    assert_only_drop(DROP_IP4_MULTICAST, 1);
    nothing_left();
}

path_test(a_flood_of_unknown_groups_fills_its_own_queue_only)
{
    const uint32_t queue = punt_limit_default[PUNT_MULTICAST].queue;
    struct frame g;

    daemon_on(in);
    struct frame f = frame_ip(&stream4);
    for (unsigned i = 0; i < queue + 40; i++) {
        rig_send(0, &f);
        if (i % 64 == 63)
            rig_step(0);
    }
    rig_poll();
    assert_only_drop(DROP_PUNT_RING_FULL, 40);
    send_one(0, &(struct ip_spec){
                    .src = "192.0.2.1", .dst = "224.0.0.5", .proto = 89, .dst_mac = group_mac});
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
}

path_test(the_kernel_sees_a_packet_of_its_routes_now_and_then)
{
    struct frame g;
    unsigned up = 0;

    daemon_on(in);
    daemon_on(two);
    ROUTE("192.0.2.1", "239.129.2.3", MULTICAST_KERNEL, one, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f); // it has just got one
    uint64_t was = multicast_sample_cycles;
    multicast_sample_cycles = 0;
    f = send_one(0, &stream4);
    assert_true(
        rig_punted(PUNT_MULTICAST, &g, NULL)); // instead of copies: the kernel makes them
    assert_memory_equal(g.b, f.b, f.n);
    nothing_left();
    multicast_sample_cycles = was;
    f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->packets, 3);
    for (unsigned i = 0; i < 5; i++) { // punts only the first packet from a wrong interface
        send_one(2, &stream4);
        up += rig_punted(PUNT_MULTICAST, &g, NULL);
    }
    assert_int_equal(up, 1);
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 4);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->wrong, 5);
    nothing_left();
}

path_test(a_route_with_an_output_that_is_not_ours_is_the_kernels_work)
{
    struct frame g;

    ROUTE("192.0.2.1", "239.129.2.3", MULTICAST_KERNEL | MULTICAST_SLOW, one, 1);
    for (unsigned i = 0; i < 3; i++) {
        send_one(0, &stream4);
        assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    }
    nothing_left();
}

path_test(explaining_counts_nothing_and_takes_no_turn)
{
    static struct {
        struct packet_trace p;
        uint8_t room[8192];
    } trace;
    uint64_t was = multicast_sample_cycles;

    ROUTE(NULL, "239.129.2.3", MULTICAST_KERNEL, one, 1, two, 1);
    struct frame f = frame_ip(&stream4), g;
    packet_trace_init(&trace.p, 8192, 8192);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f.b, f.n, NULL, &trace.p), 0);
    assert_int_equal(trace.p.n_frames, 2);
    multicast_sample_cycles = 0;
    packet_trace_init(&trace.p, 8192, 8192);
    assert_int_equal(forwarder_explain(0, f.b, f.n, NULL, &trace.p), 0);
    assert_int_equal(counter(NULL, "239.129.2.3")->packets, 0);
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL)); // explain does not use up the turn
    multicast_sample_cycles = was;
    router_role(ROLE_CONTROL);
    forwarder_explain_fini();
    nothing_left();
}
