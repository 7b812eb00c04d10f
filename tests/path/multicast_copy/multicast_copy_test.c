// SPDX-License-Identifier: BSD-3-Clause
// multicast_copy_test.c - copies by size, buffers and ports: too big, fragmented, in segments, too
// many
#include "multicast_fixture.h"

#include <rte_mbuf.h>

void rig_begin(void)
{
    interfaces();
}

// rfc: 1812 4.3.2.7 MUST NOT
path_test(too_big_with_df_is_dropped_in_silence_and_without_is_cut)
{
    struct frame g;

    rig_icmp_rate(1000, 1000);
    iface_get(two)->mtu = 600;
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    struct ip_spec s = stream4;
    s.payload = 1000, s.fragment = 0x4000;
    struct frame f = send_one(0, &s);
    assert_copy(1, one, &f);
    nothing_left();
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
    s.fragment = 0;
    f = send_one(0, &s);
    assert_copy(1, one, &f);
    unsigned bytes = 0, n = 0;
    while (rig_receive(2, &g)) {
        assert_memory_equal(g.b, group_mac, 6);
        assert_true(frame_is_ip4_sound(&g));
        assert_true(g.n <= 614);
        assert_int_equal(g.b[22], 19);
        bytes += g.n - 34;
        n++;
    }
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 1008);
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
    ROUTE(NULL, "239.129.2.3", 0, two, 1);
    s.fragment = 0x4000;
    send_one(0, &s);
    assert_only_drop(DROP_IP4_TOO_BIG, 2);
    nothing_left();
}

// rfc: 4443 2.4 MUST
path_test(ipv6_too_big_is_told_once_by_the_smallest_mtu)
{
    struct frame g;

    rig_icmp_rate(1000, 1000);
    rig_route(VR_DEFAULT, "2001:db8::/64", rig_adjacency(in, 1));
    iface_get(two)->mtu = 1300;
    iface_get(sub)->mtu = 1280;
    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1, two, 1, sub, 1);
    struct ip_spec s = stream6;
    s.payload = 1400;
    struct frame f = send_one(0, &s);
    assert_copy(1, one, &f);
    assert_true(rig_receive(0, &g));
    assert_int_equal(g.b[20], 58);
    assert_memory_equal(g.b + 54, ((uint8_t[]){2, 0}), 2);
    assert_memory_equal(g.b + 58, ((uint8_t[]){0, 0, 5, 0}), 4); // 1280
    assert_memory_equal(g.b + 62, f.b + 14, 100);                // as it came
    nothing_left();
    assert_only_drop(DROP_IP6_TOO_BIG, 2);
}

// Ports with fast free take whole buffers of one pool, with one owner.
path_test(copies_suit_ports_that_free_without_looking)
{
    struct rte_mbuf *m;

    port_get(iface_get(one)->port)->fast_free = true;
    port_get(iface_get(two)->port)->fast_free = true;
    exchange_mix(); // the packet itself is in another pool here
    ROUTE(NULL, "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    struct frame f = frame_ip(&stream4);
    rig_send(0, &f);
    rig_step(0);
    for (unsigned p = 1; p <= 2; p++)
        for (unsigned n = p == 1 ? 2 : 1; n; n--) {
            m = rig_receive_mbuf(p);
            assert_non_null(m);
            assert_ptr_equal(m->pool, exchange_pool);
            assert_int_equal(m->nb_segs, 1);
            assert_int_equal(rte_mbuf_refcnt_read(m), 1);
            assert_true(RTE_MBUF_DIRECT(m));
            rte_pktmbuf_free(m);
        }
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(without_buffers_copies_are_dropped_by_name_and_the_last_output_is_served)
{
    static struct rte_mbuf *all[4096];
    unsigned n = 0;

    ROUTE(NULL, "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    while ((all[n] = rte_pktmbuf_alloc(exchange_pool)))
        n++;
    struct frame f = send_one(0, &stream4);
    assert_copy(2, two, &f);
    nothing_left();
    assert_only_drop(DROP_TX_NO_BUFFER, 2);
    rte_pktmbuf_free_bulk(all, n);
}

path_test(a_packet_in_segments_and_one_with_options_are_copied_whole)
{
    for (uint16_t i = 0; i < 3; i++)
        iface_get(i == 0 ? in : i == 1 ? one : two)->mtu = 9000;
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    struct ip_spec s = stream4;
    s.payload = 8000;
    struct frame f = frame_ip(&s);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 1000));
    rig_poll();
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    s.payload = 10, s.options = 8;
    f = send_one(0, &s);
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    nothing_left();
}

path_test(a_burst_to_many_outputs_leaves_none_behind)
{
    uint16_t out[2 * MULTICAST_OUT_MAX + 1] = {0};
    unsigned n = 0;

    for (unsigned k = 0; k < MULTICAST_OUT_MAX; k++) {
        out[2 * k] = rig_iface(1 + k % 2, (uint16_t)(100 + k), VR_DEFAULT);
        out[2 * k + 1] = 1;
    }
    route(VR_DEFAULT, NULL, "239.129.2.3", 0, out);
    struct frame f = frame_ip(&stream4);
    rig_send_n(0, &f, 64);
    rig_step(0);
    rig_poll();
    n = rig_discard(1) + rig_discard(2);
    // The rings of the ports take fewer: the rest has the port's drop reason.
    assert_int_equal(n + rig_drops(DROP_TX_FULL), 64 * MULTICAST_OUT_MAX);
    assert_int_equal(rig_drops(DROP_TX_FULL), rig_drops_all());
}
