// SPDX-License-Identifier: BSD-3-Clause
// see_test.c - data that packet programs see at each hook
#include "fixture.h"

#include "forwarder/packet.h"

// The only recorded packet is this IP packet, with a window of `window` bytes.
static void assert_look(struct frame *f, uint16_t iface, unsigned window)
{
    const uint8_t *ip = frame_l3(f);
    const bool six = ip[0] >> 4 == 6;
    const unsigned length = six ? 40u + load16_host(ip + 4) : load16_host(ip + 2),
                   readable = length < window ? length : window;
    const struct kamuee_packet *p = look;

    assert_int_equal(looks, 1);
    assert_int_equal(p->length, length);
    assert_int_equal(p->interface, ifindex_of(iface));
    assert_int_equal(p->ether_type, six ? 0x86dd : 0x0800);
    assert_int_equal(p->family, six ? 6 : 4);
    assert_int_equal(p->class, 0);
    assert_int_equal(p->hash, 0);
    assert_int_equal(p->changed, 0);
    assert_int_equal(p->adjust, 0);
    assert_int_equal(p->readable, readable);
    assert_memory_equal(p->data, ip, readable);
    for (unsigned i = readable; i < window; i++)
        assert_int_equal(p->data[i], 0);
    looks = 0;
}

// --- contents ------------------------------------------------------------------------------------

static void sees(enum program_hook hook, unsigned window)
{
    static const unsigned payloads[] = {0,  1,  7,  8,  15, 16, 17,  31,  35,  36,
                                        37, 63, 79, 80, 81, 99, 100, 101, 300, 1400};
    char declared[32];
    struct native n = at_hook(hook);

    snprintf(declared, sizeof declared, "window %u", window);
    n.declared = declared;
    n.net = RED;
    native_add(&n);
    does(KAMUEE_CONTINUE, NULL);
    for (unsigned i = 0; i < 2 * sizeof payloads / sizeof *payloads; i++) {
        struct frame f = packet(RED, i % 2, 0, payloads[i / 2]), g = forwarded(&f, RED, false);
        while (f.n < 64) // length of the frame, not of the packet
            f.b[f.n++] = 0xa5;
        forward(&f);
        assert_sent(1, &g);
        assert_look(&f, hook == PROGRAM_OUTPUT ? net[RED].out : net[RED].in, window);
    }
    assert_int_equal(native_status("one").count.packets, 40);
    assert_int_equal(native_status("one").count.verdict[KAMUEE_CONTINUE], 40);
    router_role(ROLE_CONTROL);
    program_manager_del("one");
}

program_path_test(it_sees_the_packet_and_nothing_behind_it)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_OUTPUT; hook++)
        for (unsigned window = 0; window <= 128; window = window ? 2 * window : 64)
            sees(hook, window);
}

// Only bytes in the first buffer are readable; it has at least the headers.
program_path_test(of_a_packet_in_pieces_it_sees_the_first)
{
    struct native n = at_hook(PROGRAM_INPUT);

    native_add(&n);
    does(KAMUEE_CONTINUE, NULL);
    for (unsigned segment = 40; segment < 200; segment += 7) {
        struct frame f = packet(DEFAULT, segment & 1, 0, 500), g = forwarded(&f, DEFAULT, false);
        rig_send_mbuf(0, 0, rig_mbuf(&f, segment));
        rig_poll();
        assert_sent(1, &g);
        unsigned readable = look[0].readable;
        assert_int_equal(looks, 1);
        assert_in_range(readable, 110, 128);
        assert_memory_equal(look[0].data, frame_l3(&f), readable);
        for (unsigned i = readable; i < 128; i++)
            assert_int_equal(look[0].data[i], 0);
        looks = 0;
    }
}

program_path_test(a_frame_of_its_ether_type_begins_behind_it)
{
    struct native n = at_hook(PROGRAM_ETHER_TYPE);

    n.net = BLUE;
    n.ether_type = 0x88b5;
    native_add(&n);
    does(KAMUEE_DROP, NULL);
    for (unsigned payload = 20; payload < 200; payload += 9) {
        struct frame f = typed(BLUE, 0x88b5, 3, payload);
        const unsigned length = f.n - 18, readable = length < 128 ? length : 128;
        looks = 0;
        forward(&f);
        assert_int_equal(looks, 1);
        assert_int_equal(look[0].ether_type, 0x88b5);
        assert_int_equal(look[0].family, 0);
        assert_int_equal(look[0].length, length);
        assert_int_equal(look[0].readable, readable);
        assert_int_equal(look[0].interface, ifindex_of(net[BLUE].in));
        assert_int_equal(number_of(&look[0]), 3);
        assert_memory_equal(look[0].data, f.b + 18, readable);
        for (unsigned i = readable; i < 128; i++)
            assert_int_equal(look[0].data[i], 0);
    }
    assert_only_drop(DROP_PROGRAM_DROP, 20);
}

program_path_test(frames_of_others_are_none_of_its_business)
{
    struct native n = at_hook(PROGRAM_ETHER_TYPE);
    struct frame f = typed(RED, 0x88b5, 0, 50), g = typed(BLUE, 0x88b6, 0, 50);

    n.net = BLUE;
    n.ether_type = 0x88b5;
    native_add(&n);
    does(KAMUEE_PUNT, NULL);
    forward(&f);
    forward(&g);
    assert_int_equal(looks, 0);
    assert_only_drop(DROP_ETHER_TYPE_UNKNOWN, 2);
}

program_path_test(the_flow_hash_is_there_where_it_is_declared)
{
    struct native n = at_hook(PROGRAM_ETHER);
    uint32_t hash[2][2];

    n.declared = "hash";
    native_add(&n);
    does(KAMUEE_CONTINUE, NULL);
    for (unsigned six = 0; six < 2; six++) {
        for (unsigned flow = 0; flow < 2; flow++) {
            struct frame f = packet(DEFAULT, six, flow, 10), again = packet(DEFAULT, six, flow, 90);
            looks = 0;
            forward(&f);
            forward(&again);
            hash[six][flow] = look[0].hash;
            assert_int_equal(look[0].hash, look[1].hash);
        }
        assert_int_not_equal(hash[six][0], hash[six][1]);
    }
    assert_int_equal(rig_discard(1), 8);
}

program_path_test(time_goes_on_from_burst_to_burst)
{
    struct native n = at_hook(PROGRAM_ETHER);
    struct frame f = packet(DEFAULT, false, 0, 10);

    native_add(&n);
    does(KAMUEE_CONTINUE, NULL);
    uint64_t before = rte_rdtsc();
    for (unsigned i = 0; i < 10; i++)
        forward(&f);
    uint64_t passed_ns =
        (uint64_t)((unsigned __int128)(rte_rdtsc() - before) * program_ns_per_cycle >> 32);
    for (unsigned i = 1; i < 10; i++)
        assert_true(look[i].time > look[i - 1].time);
    assert_true(look[9].time - look[0].time <= passed_ns);
    assert_int_equal(rig_discard(1), 10);
}

// --- packets for the router itself ---------------------------------------------------------------

program_path_test(packets_for_the_router_pass_it_too)
{
    struct frame f = ip_frame(.src = "10.0.0.1", .dst = "20.0.0.99"),
                 group = ip_frame(.src = "10.0.0.1", .dst = "224.0.0.5", .dst_mac = broadcast_mac,
                                  .proto = 89),
                 up;

    rig_route(VR_DEFAULT, "20.0.0.99/32", rig_nexthop(NEXTHOP_LOCAL, net[DEFAULT].in));
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++) {
        struct native n = at_hook(hook);
        native_add(&n);
        does(KAMUEE_CONTINUE, NULL);
        forward(&f);
        assert_look(&f, net[DEFAULT].in, 128);
        forward(&group);
        assert_look(&group, net[DEFAULT].in, 128);
        assert_true(punted(&up));
        assert_true(punted(&up));
        assert_false(punted(&up));
        does(KAMUEE_DROP, NULL);
        forward(&f);
        forward(&group);
        assert_false(punted(&up));
        router_role(ROLE_CONTROL);
        program_manager_del("one");
    }
    assert_only_drop(DROP_PROGRAM_DROP, 4);
}
