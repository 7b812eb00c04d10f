// SPDX-License-Identifier: BSD-3-Clause
// alike_test.c - bursts of one destination, of one next hop, and bursts with one exception: each
// packet is forwarded correctly, in order, and counted
#include "harness.h"

#include <stdio.h>

enum { FIRST, SECOND, THIRD, HOPS }; // two on port 1, one on port 2

static uint16_t in, out[3];

static void router(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    for (unsigned p = 1; p <= 2; p++)
        out[p] = rig_iface(p, 0, VR_DEFAULT);
    for (unsigned k = 0; k < HOPS; k++) {
        char prefix[40];
        uint32_t hop = rig_adjacency(out[k == THIRD ? 2 : 1], k + 1);
        snprintf(prefix, sizeof prefix, "10.%u.0.0/16", k);
        rig_route(VR_DEFAULT, prefix, hop);
        snprintf(prefix, sizeof prefix, "2001:db8:%x::/48", k);
        rig_route(VR_DEFAULT, prefix, hop);
    }
}

struct burst_like {
    enum ip_family family;
    unsigned n, odd;     // packets; index of the packet that differs, n = none
    unsigned hop;        // its next hop; FIRST: another host behind the same next hop
    bool hosts, padded;  // each to its own host; some with bytes after the packet
};

static struct frame packet(const struct burst_like *l, unsigned i)
{
    char dst[40];
    unsigned hop = i == l->odd ? l->hop : FIRST, host = l->hosts ? i + 1 : i == l->odd ? 99 : 1;

    snprintf(dst, sizeof dst, l->family == IP4 ? "10.%u.0.%u" : "2001:db8:%x::%x", hop, host);
    return ip_frame(.src = l->family == IP4 ? "192.0.2.1" : "2001:db8:ffff::1", .dst = dst,
                    .sport = (uint16_t)(1000 + i), .payload = i % 7,
                    .pad_to = l->padded && i % 3 == 1 ? 90 : 0);
}

// Checks packet i, sent as `sent`, after forwarding.
static void assert_forwarded(const struct burst_like *l, unsigned i, const struct frame *sent)
{
    unsigned hop = i == l->odd ? l->hop : FIRST,
             size = 14 + (l->family == IP4 ? 20 : 40) + 8 + i % 7;
    unsigned from = l->family == IP4 ? 12 : 8;
    struct frame got;

    assert_true(rig_receive(hop == THIRD ? 2 : 1, &got));
    assert_int_equal(got.n, size);
    assert_memory_equal(got.b, neighbor_mac(hop + 1), 6);
    assert_memory_equal(got.b + 12, sent->b + 12, 2);
    assert_int_equal(got.b[14 + (l->family == IP4 ? 8 : 7)], 63);
    assert_true(l->family == IP6 || frame_is_ip4_sound(&got));
    assert_memory_equal(got.b + 14 + from, sent->b + 14 + from, size - 14 - from);
}

static void assert_goes_its_way(const struct burst_like *l)
{
    static struct frame sent[BURST_MAX];
    uint64_t packets[3] = {0}, bytes[3] = {0};
    struct counter_iface before[3];

    for (unsigned p = 1; p <= 2; p++)
        counter_sum_iface(out[p], &before[p]);
    for (unsigned i = 0; i < l->n; i++) {
        unsigned port = i == l->odd && l->hop == THIRD ? 2 : 1;
        sent[i] = packet(l, i);
        rig_send(0, &sent[i]);
        packets[port]++;
        bytes[port] += 14 + (l->family == IP4 ? 20 : 40) + 8 + i % 7;
    }
    rig_poll();
    for (unsigned i = 0; i < l->n; i++)
        assert_forwarded(l, i, &sent[i]);
    for (unsigned p = 1; p <= 2; p++) {
        assert_int_equal(rig_counted(out[p]).tx_packets - before[p].tx_packets, packets[p]);
        assert_int_equal(rig_counted(out[p]).tx_bytes - before[p].tx_bytes, bytes[p]);
        assert_int_equal(rig_discard(p), 0);
    }
}

static void bursts_of(enum ip_family family)
{
    static const unsigned sizes[] = {1, 2, 3, 8, 9, 63, BURST_MAX};

    router();
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned how = 0; how < 4; how++) {
            struct burst_like l = {.family = family,
                                   .n = sizes[s],
                                   .odd = sizes[s],
                                   .hosts = how & 1,
                                   .padded = how & 2};
            assert_goes_its_way(&l);
            for (l.odd = 0; l.odd < l.n; l.odd++)
                for (l.hop = FIRST; l.hop < HOPS; l.hop++)
                    assert_goes_its_way(&l);
        }
}

path_test(ipv4_packets_that_are_alike_and_one_that_is_not)
{
    bursts_of(IP4);
}

path_test(ipv6_packets_that_are_alike_and_one_that_is_not)
{
    bursts_of(IP6);
}

// Bursts with at most a few destinations, or one or two more, in any order: each packet is
// forwarded correctly.
static void assert_few(enum ip_family family, unsigned dsts, unsigned n, unsigned order)
{
    static struct frame sent[BURST_MAX];
    static unsigned hop[BURST_MAX];
    struct frame got;

    for (unsigned i = 0; i < n; i++) {
        char dst[40];
        unsigned k = order == 0 ? i % dsts : order == 1 ? i * dsts / n : (i * 7 + i / 5) % dsts;
        hop[i] = k % HOPS;
        snprintf(dst, sizeof dst, family == IP4 ? "10.%u.0.%u" : "2001:db8:%x::%x", hop[i], k + 1);
        sent[i] = ip_frame(.src = family == IP4 ? "192.0.2.1" : "2001:db8:ffff::1", .dst = dst,
                           .sport = (uint16_t)(1000 + i));
        rig_send(0, &sent[i]);
    }
    rig_poll();
    for (unsigned i = 0; i < n; i++) {
        assert_true(rig_receive(hop[i] == THIRD ? 2 : 1, &got));
        assert_memory_equal(got.b, neighbor_mac(hop[i] + 1), 6);
        assert_memory_equal(got.b + (family == IP4 ? 34 : 54),
                            sent[i].b + (family == IP4 ? 34 : 54), 2);
    }
    assert_int_equal(rig_discard(1) + rig_discard(2), 0);
}

path_test(bursts_of_few_destinations)
{
    static const unsigned sizes[] = {7, 8, 9, 63, BURST_MAX};

    router();
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned dsts = 1; dsts <= 6; dsts++)
            for (unsigned order = 0; order < 3; order++) {
                assert_few(IP4, dsts, sizes[s], order);
                assert_few(IP6, dsts, sizes[s], order);
            }
}

// The next hop of a burst of one destination may be a group: flows still spread.
path_test(flows_to_one_destination_part_in_a_group)
{
    router();
    uint32_t member[2] = {rig_adjacency(out[1], 1), rig_adjacency(out[2], 2)};
    rig_route(VR_DEFAULT, "10.9.0.0/16", rig_group(member, 2));
    for (unsigned i = 0; i < BURST_MAX; i++) {
        struct frame f =
            ip_frame(.src = "192.0.2.1", .dst = "10.9.0.1", .sport = (uint16_t)(1000 + i));
        rig_send(0, &f);
    }
    rig_poll();
    unsigned one = rig_discard(1), two = rig_discard(2);
    assert_int_equal(one + two, BURST_MAX);
    assert_true(one > 10 && two > 10);
}

// A uniform burst that may not be forwarded leaves as a whole by its exit.
path_test(packets_alike_that_have_no_route_are_all_dropped)
{
    router();
    for (unsigned i = 0; i < BURST_MAX; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "172.16.0.1");
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_IP4_NO_ROUTE, BURST_MAX);
}
