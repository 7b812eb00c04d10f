// SPDX-License-Identifier: BSD-3-Clause
// mirror_test.c - copies leave by another port; the originals are unaffected
#include "harness.h"

#include "core/rcu.h"
#include "table/watch.h"

static uint16_t in, out, mirror_to;
static unsigned watch;

static void begin(unsigned points)
{
    rig_in_and_out(&in, &out);
    mirror_to = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
    for (unsigned p = 0; p < 3; p++)
        port_get(iface_get(in)->port + (uint16_t)p)->mtu = 1500;
    router_role(ROLE_CONTROL);
    struct watch w = {
        .to = WATCH_TO_PORT, .to_port = iface_get(mirror_to)->port, .port = PORT_NONE};
    int index = watch_new(&w, 0);
    assert_true(index >= 0);
    watch = (unsigned)index;
    watch_bit_set(&port_get(iface_get(in)->port)->watch_rx, watch, points & 1u << WATCH_RX);
    watch_bit_set(&port_get(iface_get(out)->port)->watch_tx, watch, points & 1u << WATCH_TX);
}

static void end(void)
{
    router_role(ROLE_CONTROL);
    watch_bit_set(&port_get(iface_get(in)->port)->watch_rx, watch, false);
    watch_bit_set(&port_get(iface_get(out)->port)->watch_tx, watch, false);
    rcu_synchronize();
    watch_free(watch);
}

static struct frame packet(const char *dst, unsigned payload)
{
    return ip_frame(.src = "192.0.2.1", .dst = dst, .payload = payload, .to_iface = in);
}

static void assert_same(const struct frame *a, const struct frame *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->b, b->b, a->n);
}

path_test(what_is_received_leaves_by_the_other_port_as_it_came)
{
    begin(1u << WATCH_RX);
    struct frame forwarded = packet("198.51.100.9", 100), lost = packet("203.0.113.1", 33), g;
    rig_send(0, &forwarded);
    assert_true(rig_passes(0, &lost, 2, &g));
    assert_same(&g, &forwarded);
    assert_true(rig_receive(2, &g));
    assert_same(&g, &lost); // dropped but mirrored
    assert_false(rig_receive(2, &g));
    assert_int_equal(rig_discard(1), 1);
    assert_only_drop(DROP_IP4_NO_ROUTE, 1);
    struct ledger l;
    ledger_read(&l, 2);
    assert_int_equal(l.inject, 2);
    assert_int_equal(l.tx, 3);
    assert_int_equal(rig_counted(mirror_to).tx_packets, 2);
    assert_int_equal(rig_counted(mirror_to).inject_packets, 2);
    assert_int_equal(rig_counted(mirror_to).tx_bytes, forwarded.n + lost.n);
    end();
}

path_test(what_is_sent_is_mirrored_as_it_is_sent)
{
    struct frame original, copy;

    begin(1u << WATCH_TX);
    struct frame f = packet("198.51.100.9", 100);
    assert_true(rig_passes(0, &f, 1, &original));
    assert_true(rig_receive(2, &copy));
    assert_same(&copy, &original);
    assert_int_equal(watch_sum(watch).taken, 1);
    end();
}

path_test(a_port_that_takes_nothing_costs_copies_and_no_packet)
{
    begin(1u << WATCH_RX);
    struct frame f = packet("198.51.100.9", 100);
    rig_tx_block(2, true);
    rig_send_n(0, &f, 100);
    assert_int_equal(rig_poll_out(1), 100);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(watch_sum(watch).missed, 100);
    assert_int_equal(watch_sum(watch).taken, 0);
    rig_tx_block(2, false);
    end();
}

path_test(a_frame_too_large_for_the_other_port_is_missed)
{
    begin(1u << WATCH_RX);
    port_get(iface_get(mirror_to)->port)->mtu = 500;
    struct frame f = packet("198.51.100.9", 900), small = packet("198.51.100.9", 100);
    rig_send(0, &f);
    rig_forward(0, &small);
    assert_int_equal(rig_discard(1), 2);
    assert_int_equal(rig_discard(2), 1);
    assert_int_equal(watch_sum(watch).missed, 1);
    end();
}

path_test(copies_for_another_forwarders_queue_go_by_its_ring)
{
    struct frame g;

    begin(1u << WATCH_RX);
    uint16_t to = iface_get(mirror_to)->port;
    struct plan_rx q[] = {{iface_get(in)->port, 0}};
    struct plan *mine = rig_plan_new(0, q, 1);
    mine->tx_owner[to] = 1;
    rig_plan_set(0, mine);
    rig_plan_set(1, rig_plan_new(1, NULL, 0));
    struct frame f = packet("198.51.100.9", 100);
    rig_send(0, &f);
    rig_step(0);
    rig_check_conservation(); // the copy is held
    assert_false(rig_receive(2, &g));
    rig_step(1);
    assert_true(rig_receive(2, &g));
    assert_same(&g, &f);
    assert_int_equal(rig_discard(1), 1);
    end();
}

path_test(a_port_that_is_gone_gets_nothing)
{
    begin(1u << WATCH_RX);
    watch_table[watch].to_port = WATCH_GONE;
    struct frame f = packet("198.51.100.9", 100);
    rig_forward(0, &f);
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(watch_sum(watch).missed, 1);
    end();
}

path_test(a_tag_that_the_port_took_off_is_mirrored_where_it_was)
{
    struct frame g;

    begin(1u << WATCH_RX);
    uint16_t tagged = rig_iface(0, 10, VR_DEFAULT);
    struct frame f = packet("198.51.100.9", 40);
    memcpy(f.b, iface_get(tagged)->mac, 6);
    struct rte_mbuf *m = rig_mbuf(&f, f.n);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 10;
    rig_send_mbuf(0, 0, m);
    rig_poll();
    assert_true(rig_receive(2, &g));
    assert_int_equal(g.n, f.n + 4);
    assert_memory_equal(g.b, f.b, 12);
    assert_memory_equal(g.b + 12, "\x81\x00\x00\x0a", 4);
    assert_memory_equal(g.b + 16, f.b + 12, f.n - 12);
    assert_int_equal(rig_discard(1), 1);
    end();
}
