// SPDX-License-Identifier: BSD-3-Clause
// watch_test.c - watches copy frames unchanged at the four points, and delay or change no frame
#include "harness.h"

#include <errno.h>

#include "core/rcu.h"
#include "table/watch.h"

#define SLOTS 64u
#define SNAP 256u

static uint16_t in, out, tagged_in;
static unsigned watch;

// A watch of everything at `points` (bits of enum watch_point).
static void begin(const struct watch *w, unsigned n_slots, unsigned points)
{
    router_role(ROLE_CONTROL);
    int index = watch_new(w, n_slots);
    assert_true(index >= 0);
    watch = (unsigned)index;
    for (unsigned p = 0; p < RIG_PORTS; p++) {
        watch_bit_set(&port_get((uint16_t)p)->watch_rx, watch, points & 1u << WATCH_RX);
        watch_bit_set(&port_get((uint16_t)p)->watch_tx, watch, points & 1u << WATCH_TX);
    }
    watch_bit_set(&watch_drop, watch, points & 1u << WATCH_DROP);
    watch_bit_set(&watch_punt, watch, points & 1u << WATCH_PUNT);
}

static void end(void)
{
    router_role(ROLE_CONTROL);
    for (unsigned p = 0; p < RIG_PORTS; p++) {
        watch_bit_set(&port_get((uint16_t)p)->watch_rx, watch, false);
        watch_bit_set(&port_get((uint16_t)p)->watch_tx, watch, false);
    }
    watch_bit_set(&watch_drop, watch, false);
    watch_bit_set(&watch_punt, watch, false);
    rcu_synchronize();
    watch_free(watch);
}

static void watch_all(unsigned points)
{
    begin(&(struct watch){.to = WATCH_TO_SLOTS, .port = PORT_NONE, .snap = SNAP}, SLOTS, points);
}

// The next copy must be f as it is at `point`.
static struct watch_tag seen(enum watch_point point, const struct frame *f)
{
    struct watch_slot *s;

    assert_int_equal(watch_take(watch, &s, 1), 1);
    struct watch_tag tag = s->tag;
    assert_int_equal(s->point, point);
    assert_int_equal(s->len, f->n);
    assert_int_equal(s->kept, f->n < SNAP ? f->n : SNAP);
    assert_memory_equal(s->data, f->b, s->kept);
    assert_true(s->tsc != 0);
    watch_give_back(watch, &s, 1);
    return tag;
}

static void nothing_more_is_seen(void)
{
    struct watch_slot *s;

    assert_int_equal(watch_take(watch, &s, 1), 0);
}

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    tagged_in = rig_iface(0, 10, VR_DEFAULT);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "198.18.0.0/16", rig_nexthop(NEXTHOP_BLACKHOLE, 0));
    rig_route(VR_DEFAULT, "10.0.0.1/32", rig_nexthop(NEXTHOP_LOCAL, in));
}

static struct frame packet(const char *dst, unsigned payload)
{
    return ip_frame(.src = "192.0.2.1", .dst = dst, .payload = payload, .to_iface = in);
}

path_test(a_forwarded_frame_is_seen_as_received_and_as_sent)
{
    watch_all(1u << WATCH_RX | 1u << WATCH_TX | 1u << WATCH_DROP | 1u << WATCH_PUNT);
    struct frame f = packet("198.51.100.9", 100), g;
    assert_true(rig_passes(0, &f, 1, &g));
    struct watch_tag tag = seen(WATCH_RX, &f);
    assert_int_equal(tag.port, iface_get(in)->port);
    assert_int_equal(tag.iface, in);
    tag = seen(WATCH_TX, &g);
    assert_int_equal(tag.port, iface_get(out)->port);
    assert_int_equal(tag.iface, out);
    nothing_more_is_seen();
    assert_int_equal(watch_sum(watch).taken, 2);
    assert_int_equal(watch_sum(watch).bytes, f.n + g.n);
    assert_int_equal(watch_sum(watch).missed, 0);
    end();
}

path_test(a_dropped_packet_is_seen_with_its_reason)
{
    watch_all(1u << WATCH_DROP);
    struct frame blackhole = packet("198.18.0.1", 20), lost = packet("203.0.113.1", 20),
                 fine = packet("198.51.100.9", 20);
    rig_send(0, &blackhole);
    rig_send(0, &fine);
    rig_forward(0, &lost);
    struct watch_tag tag = seen(WATCH_DROP, &blackhole);
    assert_int_equal(tag.why, DROP_BLACKHOLE);
    assert_int_equal(tag.iface, in);
    assert_int_equal(seen(WATCH_DROP, &lost).why, DROP_IP4_NO_ROUTE);
    nothing_more_is_seen();
    assert_int_equal(rig_discard(1), 1);
    end();
}

path_test(every_drop_is_seen_once_and_buffers_that_are_done_are_not)
{
    watch_all(1u << WATCH_DROP);
    struct frame big =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.9", .payload = 1900, .to_iface = in);
    rig_send(0, &big); // cut into two fragments: its own buffer is freed
    assert_int_equal(rig_poll_out(1), 2);
    nothing_more_is_seen();
    end();
}

path_test(a_held_packet_that_is_dropped_is_seen_with_an_ethernet_header)
{
    struct watch_slot *s;

    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_nexthop(NEXTHOP_HOLD, out));
    uint32_t failed = rig_nexthop(NEXTHOP_FAILED, out);
    struct frame f = packet("203.0.113.7", 30);
    rig_forward(0, &f);
    struct rte_mbuf *m = rig_held();
    packet_meta(m)->nexthop = failed;
    watch_all(1u << WATCH_DROP);
    assert_int_equal(rig_inject(0, m), 0);
    rig_poll();
    assert_int_equal(watch_take(watch, &s, 1), 1);
    assert_int_equal(s->tag.why, DROP_NEIGH_FAILED);
    assert_int_equal(s->len, f.n);
    assert_memory_equal(s->data + 12, f.b + 12, 10); // EtherType, header up to the TTL
    assert_int_equal(s->data[14 + 8], 63);           // lowered before a packet is held
    assert_memory_equal(s->data + 14 + 12, f.b + 14 + 12, f.n - 26);
    watch_give_back(watch, &s, 1);
    end();
}

path_test(a_punted_frame_is_seen_with_its_class)
{
    struct frame g;

    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "10.0.0.1", .proto = 1, .payload = 8, .to_iface = in);
    watch_all(1u << WATCH_PUNT);
    rig_forward(0, &f);
    struct watch_tag tag = seen(WATCH_PUNT, &f);
    assert_int_equal(tag.why, PUNT_ICMP);
    assert_int_equal(tag.iface, in);
    assert_true(rig_punted(PUNT_ICMP, &g, NULL));
    end();
}

path_test(a_watch_of_an_interface_sees_only_that)
{
    begin(
        &(struct watch){.to = WATCH_TO_SLOTS, .port = PORT_NONE, .snap = SNAP, .iface = tagged_in},
        SLOTS, 1u << WATCH_RX);
    struct frame f = packet("198.51.100.9", 10);
    struct frame g =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.9", .vlan = 10, .to_iface = tagged_in);
    rig_send(0, &f);
    rig_forward(0, &g);
    assert_int_equal(seen(WATCH_RX, &g).iface, tagged_in);
    nothing_more_is_seen();
    assert_int_equal(rig_discard(1), 2);
    end();
}

path_test(a_tag_that_the_port_took_off_is_seen_where_it_was)
{
    watch_all(1u << WATCH_RX);
    struct frame f = packet("198.51.100.9", 40);
    memcpy(f.b, iface_get(tagged_in)->mac, 6);
    struct rte_mbuf *m = rig_mbuf(&f, f.n);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 10;
    rig_send_mbuf(0, 0, m);
    rig_poll();
    struct frame whole = {.n = f.n + 4};
    memcpy(whole.b, f.b, 12);
    memcpy(whole.b + 12, "\x81\x00\x00\x0a", 4);
    memcpy(whole.b + 16, f.b + 12, f.n - 12);
    assert_int_equal(seen(WATCH_RX, &whole).iface, tagged_in);
    assert_int_equal(rig_discard(1), 1);
    end();
}

// By a port that takes it, or not.
path_test(a_tag_that_the_port_took_off_is_not_seen_on_what_leaves)
{
    struct frame g, f = packet("198.51.100.9", 40);

    memcpy(f.b, iface_get(tagged_in)->mac, 6);
    watch_all(1u << WATCH_TX | 1u << WATCH_DROP);
    for (unsigned dropped = 0; dropped < 2; dropped++) {
        struct rte_mbuf *m = rig_mbuf(&f, f.n);
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = 10;
        rig_tx_block(1, dropped);
        rig_send_mbuf(0, 0, m);
        rig_poll();
        if (!dropped)
            assert_true(rig_receive(1, &g));
        seen(WATCH_TX, &g);
        if (dropped)
            assert_int_equal(seen(WATCH_DROP, &g).why, DROP_TX_FULL);
    }
    nothing_more_is_seen();
    rig_tx_block(1, false);
    end();
}

path_test(a_long_frame_is_kept_up_to_the_snap_length)
{
    watch_all(1u << WATCH_RX);
    struct frame f = packet("198.51.100.9", 1400);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 150)); // two segments within the snap length
    rig_poll();
    seen(WATCH_RX, &f);
    assert_int_equal(rig_discard(1), 1);
    end();
}

path_test(what_does_not_fit_is_counted_and_nobody_waits)
{
    struct watch_slot *s[SLOTS + 1];

    watch_all(1u << WATCH_RX);
    struct frame f = packet("198.51.100.9", 10);
    rig_send_n(0, &f, SLOTS + 36);
    assert_int_equal(rig_poll_out(1), SLOTS + 36);
    assert_int_equal(watch_sum(watch).taken, SLOTS);
    assert_int_equal(watch_sum(watch).missed, 36);
    assert_int_equal(watch_take(watch, s, SLOTS + 1), SLOTS);
    watch_give_back(watch, s, SLOTS);
    rig_forward(0, &f);
    assert_int_equal(watch_sum(watch).taken, SLOTS + 1);
    assert_int_equal(rig_discard(1), 1);
    end();
}

path_test(there_are_so_many_watches_and_no_more)
{
    router_role(ROLE_CONTROL);
    for (unsigned i = 0; i < WATCH_FLOWS; i++)
        assert_int_equal(
            watch_new(&(struct watch){.to = WATCH_TO_SLOTS, .port = PORT_NONE, .snap = 64}, 8), i);
    assert_int_equal(
        watch_new(&(struct watch){.to = WATCH_TO_SLOTS, .port = PORT_NONE, .snap = 64}, 8), -EBUSY);
    const struct watch flows = {.to = WATCH_TO_SLOTS, .snap = 64, .every = 2, .flows = true};
    assert_int_equal(watch_new(&flows, 8), WATCH_FLOWS); // it has a place of its own
    assert_int_equal(watch_new(&flows, 8), -EBUSY);
    for (unsigned i = 0; i <= WATCH_FLOWS; i++)
        watch_free(i);
}
