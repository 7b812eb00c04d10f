// SPDX-License-Identifier: BSD-3-Clause
// lag_test.c - link aggregation: reception by members, spreading of flows, removal of members,
// slow-protocol frames
#include "harness.h"

#include <rte_mbuf.h>
#include <stdio.h>

#include "table/port.h"

#define LAG LAG_FIRST
#define MEMBERS 3u // ports 1, 2, 3; traffic arrives on port 0

static uint16_t in, lag0;

static uint16_t lag_iface(uint16_t vlan)
{
    char name[16];

    router_role(ROLE_CONTROL);
    snprintf(name, sizeof name, "lag0.%u", vlan);
    struct iface *i = iface_new(name);
    assert_non_null(i);
    memcpy(i->mac, (uint8_t[6]){0x02, 0xbb, 0, 0, 0, 1}, 6);
    i->port = LAG;
    i->vlan = vlan;
    i->tpid_be = vlan ? rte_cpu_to_be_16(0x8100) : 0;
    i->mtu = 1500;
    i->kind = vlan ? IFACE_VPORT : IFACE_PORT;
    i->flags |= IFACE_UP;
    assert_int_equal(port_lead(port_get(LAG), 0, vlan, i->id), 0);
    return i->id;
}

static void members_set(unsigned set) // bit p: port p is a member
{
    uint8_t member[MEMBERS];
    unsigned n = 0;

    router_role(ROLE_CONTROL);
    for (uint8_t p = 1; p <= MEMBERS; p++) {
        port_get(p)->used = port_get(p)->started = true;
        port_get(p)->lag = LAG;
        port_collect(port_get(p), set >> p & 1);
        if (set >> p & 1)
            member[n++] = p;
    }
    lag_share(lag_get(LAG), member, n);
}

// Plans of forwarders 0 and 1; all ports are sent by forwarder 0's queue, or each forwarder has its
// own.
static void plans_set(bool one_owner)
{
    struct plan_rx q[RIG_PORTS];

    for (uint16_t p = 0; p < RIG_PORTS; p++)
        q[p] = (struct plan_rx){p, 0};
    for (unsigned f = 0; f < RIG_FORWARDERS; f++) {
        struct plan *plan = rig_plan_new(f, q, f ? 0 : RIG_PORTS);
        if (f && !one_owner)
            plan->rx[plan->n_rx++] = (struct plan_rx){0, 1};
        if (one_owner && f) {
            plan->rx[plan->n_rx++] = (struct plan_rx){0, 1};
            memset(plan->tx_owner, 0, RIG_PORTS);
        }
        plan->tx_owner[LAG] = PLAN_TX_LAG;
        rig_plan_set(f, plan);
    }
}

static void lag_up(unsigned set)
{
    router_role(ROLE_CONTROL);
    memset(lag_get(LAG), 0, sizeof *lag_get(LAG));
    memset(lag_get(LAG)->bucket, LAG_NO_MEMBER, LAG_BUCKETS);
    lag_get(LAG)->lacp = true;
    memcpy(lag_get(LAG)->system, (uint8_t[6]){0x02, 0xbb, 0, 0, 0, 1}, 6);
    port_get(LAG)->used = port_get(LAG)->started = true;
    in = rig_iface(0, 0, VR_DEFAULT);
    lag0 = lag_iface(0);
    members_set(set);
    plans_set(false);
    rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", rig_adjacency(lag0, 1));
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(in, 2));
}

static struct frame flow(unsigned k, bool six)
{
    return ip_frame(.src = six ? "2001:db8:9::1" : "192.0.2.1",
                    .dst = six ? "2001:db8:1::1" : "198.51.100.1", .sport = (uint16_t)(1000 + k),
                    .dport = 80, .to_iface = in);
}

static unsigned left_by(void) // port of the only sent frame
{
    struct frame g;
    unsigned by = 0, n = 0;

    for (unsigned p = 1; p <= MEMBERS; p++)
        while (rig_receive(p, &g))
            by = p, n++;
    assert_int_equal(n, 1);
    return by;
}

static unsigned way(unsigned k, bool six)
{
    struct frame f = flow(k, six);

    rig_forward(0, &f);
    return left_by();
}

#define FLOWS 240u

path_test(flows_are_spread_evenly_and_each_keeps_its_member)
{
    lag_up(14);
    for (unsigned six = 0; six < 2; six++) {
        unsigned n[RIG_PORTS] = {0};
        for (unsigned k = 0; k < FLOWS; k++) {
            unsigned by = way(k, six);
            assert_int_equal(way(k, six), by);
            n[by]++;
        }
        for (unsigned p = 1; p <= MEMBERS; p++)
            assert_in_range(n[p], FLOWS / MEMBERS / 2, FLOWS / MEMBERS * 3 / 2);
    }
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_burst_of_many_flows_leaves_whole_and_counts_for_the_lag)
{
    unsigned n = 0;

    lag_up(14);
    for (unsigned k = 0; k < 500; k++) {
        struct frame f = flow(k, k & 1);
        rig_send(0, &f);
    }
    rig_poll();
    for (unsigned p = 1; p <= MEMBERS; p++)
        n += rig_discard(p);
    assert_int_equal(n, 500);
    assert_int_equal(rig_counted(lag0).tx_packets, 500);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(only_flows_of_a_member_that_goes_move)
{
    unsigned before[FLOWS], moved = 0;

    lag_up(14);
    for (unsigned k = 0; k < FLOWS; k++)
        before[k] = way(k, false);
    members_set(10); // without port 2
    for (unsigned k = 0; k < FLOWS; k++) {
        unsigned now = way(k, false);
        assert_int_not_equal(now, 2);
        assert_true(before[k] == 2 || now == before[k]);
        moved += now != before[k];
    }
    assert_true(moved > 0);
    members_set(14);
    unsigned back = 0;
    for (unsigned k = 0; k < FLOWS; k++)
        back += way(k, false) == 2;
    assert_in_range(back, FLOWS / MEMBERS / 2, FLOWS / MEMBERS * 3 / 2);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(without_a_member_packets_are_dropped_by_name_and_not_counted_as_sent)
{
    lag_up(0);
    struct frame f = flow(1, false);
    rig_forward(0, &f);
    assert_only_drop(DROP_LAG_NO_MEMBER, 1);
    assert_int_equal(rig_counted(lag0).tx_packets, 0);
    assert_int_equal(rig_counted(lag0).tx_bytes, 0);
}

path_test(what_a_member_cannot_send_is_not_counted_as_sent)
{
    lag_up(2);
    rig_tx_block(1, true);
    struct frame f = flow(1, false);
    rig_forward(0, &f);
    rig_tx_block(1, false);
    assert_only_drop(DROP_TX_FULL, 1);
    assert_int_equal(rig_counted(lag0).tx_packets, 0);
    assert_int_equal(rig_counted(0).tx_packets, 0);
}

path_test(another_forwarder_sends_when_the_queue_is_its)
{
    lag_up(14);
    plans_set(true);
    for (unsigned k = 0; k < 60; k++) {
        struct frame f = flow(k, false);
        rig_send_queue(0, 1, &f);
    }
    rig_poll();
    unsigned n = 0;
    for (unsigned p = 1; p <= MEMBERS; p++)
        n += rig_discard(p);
    assert_int_equal(n, 60);
    assert_int_equal(rig_drops_all(), 0);
}

static struct frame to_lag(uint16_t vlan)
{
    return ip_frame(.src = "192.0.2.9", .dst = "203.0.113.1", .vlan = vlan, .to_iface = lag0);
}

path_test(frames_of_every_member_come_in_by_the_lags_interface)
{
    struct frame f, g;

    lag_up(14);
    for (unsigned p = 1; p <= MEMBERS; p++) {
        f = to_lag(0);
        assert_true(rig_passes(p, &f, 0, &g));
    }
    assert_int_equal(rig_counted(lag0).rx_packets, MEMBERS);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_member_not_in_use_takes_nothing)
{
    lag_up(2);
    struct frame f = to_lag(0);
    rig_send(2, &f);
    f = to_lag(7);
    rig_forward(3, &f);
    assert_only_drop(DROP_LAG_INACTIVE, 2);
}

path_test(vlans_of_the_lag_are_vlans_of_its_members_whenever_they_come_and_go)
{
    struct frame f, g;

    lag_up(6); // ports 1 and 2
    uint16_t vlan7 = lag_iface(7);
    members_set(14);
    for (unsigned p = 1; p <= MEMBERS; p++) {
        f = to_lag(7);
        assert_true(rig_passes(p, &f, 0, &g));
    }
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(vlan7, 1));
    f = flow(1, false);
    rig_forward(0, &f);
    unsigned by = left_by();
    assert_in_range(by, 1, MEMBERS);
    router_role(ROLE_CONTROL);
    port_lead(port_get(LAG), 0, 7, 0);
    f = to_lag(7);
    rig_forward(3, &f);
    assert_only_drop(DROP_VLAN_UNKNOWN, 1);
}

path_test(what_is_not_ip_leaves_by_one_member_too)
{
    uint8_t arp[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0xbb, 0, 0, 0, 1, 0x08, 0x06};
    uint8_t cut[16] = {0x02, 0, 0, 0, 0, 9, 0x02, 0xbb, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0};

    lag_up(14);
    struct frame f = frame_raw(arp, sizeof arp);
    rig_inject_frame(0, lag0, &f);
    rig_poll();
    left_by();
    f = frame_raw(cut, sizeof cut);
    rig_inject_frame(0, lag0, &f);
    rig_poll();
    left_by();
}

path_test(a_tag_of_the_kernel_does_not_hide_the_flow)
{
    static const uint8_t tag[][4] = {{0x81, 0, 0xa0, 0}, {0x81, 0, 0x01, 0x2c}};
    unsigned used = 0;

    lag_up(14);
    for (unsigned k = 0; k < 24; k++) {
        struct frame f = flow(k, k & 1);
        rig_inject_frame(0, lag0, &f);
        rig_poll();
        unsigned by = left_by();
        used |= 1u << by;
        memmove(f.b + 16, f.b + 12, f.n - 12);
        f.n += 4;
        for (unsigned t = 0; t < 2; t++) {
            memcpy(f.b + 12, tag[t], 4);
            rig_inject_frame(0, lag0, &f);
            rig_poll();
            assert_int_equal(left_by(), by);
        }
    }
    assert_int_equal(used, 14);
}

// --- slow protocols ---

static struct frame lacpdu(void)
{
    uint8_t b[124] = {0x01, 0x80, 0xc2, 0, 0,  2,    0x02, 0,    0,    0, 0, 9, 0x88,
                      0x09, 1,    1,    1, 20, 0x80, 0,    0x02, 0xcc, 0, 0, 0, 1};

    b[14 + 22] = 2, b[14 + 23] = 20;
    b[14 + 42] = 3, b[14 + 43] = 16;
    return frame_raw(b, sizeof b);
}

path_test(a_lacpdu_goes_to_control_whatever_the_state_of_member_and_interface)
{
    struct frame f = lacpdu();
    void *m = NULL;

    lag_up(0);
    iface_put_flags(iface_get(lag0), IFACE_UP, 0);
    rig_forward(2, &f);
    assert_int_equal(rte_ring_dequeue(exchange_punt[PUNT_ROUTING], &m), 0);
    assert_int_equal(packet_meta(m)->member, 1 + 2);
    assert_int_equal(packet_meta(m)->iface, lag0);
    router_role(ROLE_TAP_MANAGER);
    counter_mine()->punt++;
    counter_mine()->iface[packet_meta(m)->iface].punt_packets++;
    rte_pktmbuf_free(m);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_later_version_with_unknown_types_is_taken)
{
    struct frame f = lacpdu();
    uint16_t iface;

    lag_up(14);
    f.b[15] = 2;
    f.b[16] = 99;
    rig_forward(1, &f);
    assert_true(rig_punted(PUNT_ROUTING, &f, &iface));
    assert_int_equal(iface, lag0);
}

path_test(each_fault_of_a_slow_protocol_frame_has_a_name)
{
    static const struct {
        unsigned at;
        uint8_t value;
        unsigned n;
        enum drop_reason why;
    } fault[] = {
        {0, 0x02, 124, DROP_SLOW_DESTINATION},
        {5, 0x03, 124, DROP_SLOW_DESTINATION},
        {0, 0x01, 123, DROP_SLOW_TRUNCATED},
        {0, 0x01, 60, DROP_SLOW_TRUNCATED},
        {0, 0x01, 14, DROP_SLOW_TRUNCATED},
        {14, 0, 124, DROP_SLOW_SUBTYPE},
        {14, 3, 124, DROP_SLOW_SUBTYPE},
        {14, 10, 60, DROP_SLOW_SUBTYPE},
        {17, 19, 124, DROP_LACP_LENGTH},
        {37, 0, 124, DROP_LACP_LENGTH},
        {57, 20, 124, DROP_LACP_LENGTH},
        {73, 1, 124, DROP_LACP_LENGTH},
        {14, 2, 124, DROP_LACP_LENGTH}, // value 20 in a field that must be 16
        {21, 0xbb, 124, DROP_LACP_LOOPED},
    };
    uint64_t drops = 0;

    lag_up(14);
    for (unsigned i = 0; i < sizeof fault / sizeof *fault; i++) {
        struct frame f = lacpdu();
        uint64_t before = rig_drops(fault[i].why);
        f.b[fault[i].at] = fault[i].value;
        f.n = fault[i].n;
        rig_forward(1, &f);
        assert_int_equal(rig_drops(fault[i].why), before + 1);
        assert_int_equal(rig_drops_all(), ++drops);
    }
    struct frame f = lacpdu();
    memmove(f.b + 16, f.b + 12, f.n - 12);
    memcpy(f.b + 12, (uint8_t[]){0x81, 0, 0, 7}, 4);
    f.n += 4;
    rig_forward(1, &f);
    assert_int_equal(rig_drops(DROP_SLOW_TAGGED), 1);
    lag_get(LAG)->lacp = false;
    f = lacpdu();
    rig_forward(1, &f);
    assert_int_equal(rig_drops(DROP_LACP_NOT_CONFIGURED), 1);
}

path_test(a_marker_goes_to_control)
{
    struct frame f = lacpdu();

    lag_up(14);
    f.b[14] = 2;
    f.b[17] = 16;
    rig_forward(1, &f);
    assert_true(rig_punted(PUNT_ROUTING, &f, NULL));
}

path_test(a_port_that_is_no_member_punts_slow_protocols_to_its_tap)
{
    struct frame f = lacpdu();
    void *m = NULL;

    lag_up(14);
    rig_forward(0, &f);
    assert_int_equal(rte_ring_dequeue(exchange_punt[PUNT_ROUTING], &m), 0);
    assert_int_equal(packet_meta(m)->member, 0);
    assert_int_equal(packet_meta(m)->iface, in);
    router_role(ROLE_TAP_MANAGER);
    counter_mine()->punt++;
    counter_mine()->iface[packet_meta(m)->iface].punt_packets++;
    rte_pktmbuf_free(m);
}
