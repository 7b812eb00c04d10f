// SPDX-License-Identifier: BSD-3-Clause
// latency_test.c - packets of sampled bursts are measured from port to port, and no other packets
#include "harness.h"

#include <string.h>

#include "table/latency.h"

#define BURSTS 610u

static struct {
    unsigned pairs;
    uint64_t packets[RIG_PORTS][RIG_PORTS];
} seen;

static void note(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *sum)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        all += sum->bucket[i];
    assert_int_equal(all, sum->packets);
    assert_true(sum->max && sum->cycles >= sum->max && sum->cycles <= sum->max * sum->packets);
    seen.packets[in][out] += sum->packets;
    seen.pairs++;
}

static void look(void)
{
    memset(&seen, 0, sizeof seen);
    latency_each(note, NULL);
}

static void sample(uint32_t bursts)
{
    router_role(ROLE_CONTROL);
    assert_int_equal(latency_start(bursts), 0);
}

// Bursts of two packets each, to neighbors behind ports 1 and 2.
static void traffic(void)
{
    struct frame a = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1"),
                 b = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:2::1");

    for (unsigned i = 0; i < BURSTS; i++) {
        rig_send(0, &a);
        rig_forward(0, &b);
        assert_int_equal(rig_discard(1), 1);
        assert_int_equal(rig_discard(2), 1);
    }
}

static void routes(void)
{
    rig_iface(0, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(rig_iface(1, 0, VR_DEFAULT), 1));
    rig_route(VR_DEFAULT, "2001:db8:2::/48", rig_adjacency(rig_iface(2, 0, VR_DEFAULT), 2));
}

path_test(nothing_is_measured_unless_asked_for)
{
    routes();
    traffic();
    look();
    assert_int_equal(seen.pairs, 0);
}

path_test(one_burst_in_so_many_is_measured)
{
    routes();
    sample(1); // every timed burst
    traffic();
    sample(0);
    look();
    assert_int_equal(seen.pairs, 2);
    assert_int_equal(seen.packets[0][1], BURSTS / LATENCY_TIMED);
    assert_int_equal(seen.packets[0][2], BURSTS / LATENCY_TIMED);
    sample(5 * LATENCY_TIMED);
    traffic();
    look();
    assert_int_equal(seen.packets[0][1], BURSTS / LATENCY_TIMED + 2);
    sample(0);
    traffic();
    look();
    assert_int_equal(seen.packets[0][1], BURSTS / LATENCY_TIMED + 2);
    latency_fini();
}
