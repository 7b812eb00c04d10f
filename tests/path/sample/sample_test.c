// SPDX-License-Identifier: BSD-3-Clause
// sample_test.c - one packet in N: number of samples, choice, and destination
#include "harness.h"

#include "core/rcu.h"
#include "table/watch.h"

#define SLOTS 4096u
#define SNAP 128u

static uint16_t in, out, other;
static unsigned watch;

static void begin_watch(uint32_t every, uint64_t seed, bool flows)
{
    router_role(ROLE_CONTROL);
    int index = watch_new(&(struct watch){.to = WATCH_TO_SLOTS,
                                          .port = PORT_NONE,
                                          .snap = SNAP,
                                          .every = every,
                                          .seed = seed,
                                          .flows = flows,
                                          .sample = IFACE_SAMPLE_SFLOW},
                          SLOTS);
    assert_true(index >= 0);
    watch = (unsigned)index;
    watch_bit_set(&port_get(0)->watch_rx, watch, true);
}

static void begin(uint32_t every, uint64_t seed)
{
    begin_watch(every, seed, false);
}

static void end(void)
{
    router_role(ROLE_CONTROL);
    watch_bit_set(&port_get(0)->watch_rx, watch, false);
    rcu_synchronize();
    watch_free(watch);
    assert_int_equal(watch_sampling, 0);
}

void rig_begin(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    other = rig_iface(0, 10, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    iface_get(in)->policy.sample = IFACE_SAMPLE_SFLOW;
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
}

static struct frame packet(const char *dst, uint16_t sport)
{
    return ip_frame(.src = "192.0.2.1", .dst = dst, .sport = sport, .payload = 200, .to_iface = in);
}

// Sends n packets, numbered by their source port, in bursts of `burst`; stores the numbers of the
// samples in `number`. Returns their number.
static unsigned samples(unsigned n, unsigned burst, uint16_t *number)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < n; i++) {
        struct frame f = packet("198.51.100.9", (uint16_t)i);
        rig_send(0, &f);
        if ((i + 1) % burst && i + 1 < n)
            continue;
        rig_poll();
        rig_discard(1);
        struct watch_slot *s;
        while (watch_take(watch, &s, 1)) {
            number[taken++] = (uint16_t)(s->data[34] << 8 | s->data[35]);
            assert_int_equal(s->kept, SNAP);
            assert_int_equal(s->len, 14 + 20 + 8 + 200);
            watch_give_back(watch, &s, 1);
        }
    }
    return taken;
}

#define PACKETS 40000u
static uint16_t a[PACKETS], b[PACKETS];

path_test(about_one_in_so_many_is_taken_at_random_distances)
{
    for (unsigned burst = 1; burst <= 61; burst += 20) {
        begin(100, 7);
        unsigned n = samples(PACKETS, burst, a), even = 0;
        // distances are uniform in 1..199: 400 samples, standard deviation 11.5
        assert_in_range(n, 400 - 46, 400 + 46);
        for (unsigned i = 1; i < n; i++) {
            assert_in_range(a[i] - a[i - 1], 1, 199);
            even += a[i] % 2 == 0;
        }
        assert_in_range(even, n / 2 - 50, n / 2 + 50); // no favorite place in a burst
        assert_int_equal(watch_sum(watch).taken, n);
        assert_int_equal(watch_sum(watch).missed, 0);
        end();
    }
}

path_test(the_same_seed_takes_the_same_packets_and_another_seed_others)
{
    begin(10, 1);
    unsigned n = samples(2000, 32, a);
    end();
    begin(10, 2);
    assert_true(samples(2000, 32, b) != n || memcmp(a, b, n * sizeof *a));
    end();
    begin(10, 1);
    assert_int_equal(samples(2000, 5, b), n); // for any burst size
    assert_memory_equal(a, b, n * sizeof *a);
    end();
}

path_test(the_sample_of_flows_has_all_interfaces_and_the_same_packets)
{
    begin(10, 1);
    unsigned n = samples(2000, 32, a);
    end();
    iface_get(in)->policy.sample = 0;
    begin_watch(10, 1, true);
    assert_int_equal(watch, WATCH_FLOWS);
    assert_int_equal(samples(2000, 5, b), n);
    assert_memory_equal(a, b, n * sizeof *a);
    router_role(ROLE_CONTROL);
    watch_set_every(watch, 100);
    n = samples(PACKETS, 61, a);
    assert_in_range(n, 400 - 46, 400 + 46);
    end();
}

path_test(one_in_one_is_all)
{
    begin(1, 3);
    assert_int_equal(samples(500, 64, a), 500);
    end();
}

path_test(interfaces_without_it_give_none)
{
    iface_get(in)->policy.sample = IFACE_SAMPLE_IPFIX;
    begin(1, 3);
    assert_int_equal(samples(100, 64, a), 0);
    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.9", .vlan = 10, .to_iface = other);
    iface_get(other)->policy.sample = IFACE_SAMPLE_SFLOW;
    rig_forward(0, &f);
    struct watch_slot *s;
    assert_int_equal(watch_take(watch, &s, 1), 1);
    assert_int_equal(s->tag.iface, other);
    watch_give_back(watch, &s, 1);
    assert_int_equal(rig_discard(1), 1);
    end();
}

static struct watch_tag sample_of(const struct frame *f)
{
    struct watch_slot *s;

    rig_forward(0, f);
    assert_int_equal(watch_take(watch, &s, 1), 1);
    struct watch_tag tag = s->tag;
    watch_give_back(watch, &s, 1);
    return tag;
}

path_test(a_sample_tells_where_its_packet_goes)
{
    struct ip_addr gateway = {.family = IP4, .b = {10, 255, 1, 77}};

    uint32_t via = rig_adjacency(out, 2);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_address(via, &gateway);
    rig_route(VR_DEFAULT, "203.0.113.0/24", via);
    rig_route(VR_DEFAULT, "10.0.0.1/32", rig_nexthop(NEXTHOP_LOCAL, in));
    begin(1, 3);
    struct frame f = packet("203.0.113.5", 1), g = packet("10.99.0.1", 1);
    struct watch_tag tag = sample_of(&f);
    assert_true(tag.iface == in && tag.out == out && tag.way == NEXTHOP_ADJACENCY &&
                ip_equal(&tag.gateway, &gateway));
    tag = sample_of(&g);
    assert_true(tag.out == 0 && tag.way == NEXTHOP_NONE && tag.gateway.family == IP_NONE);
    f = packet("10.0.0.1", 1);
    tag = sample_of(&f);
    assert_int_equal(tag.way, NEXTHOP_LOCAL);
    f = frame_raw("\xff\xff\xff\xff\xff\xff\0\0\0\0\0\1\x08\x06\0", 15); // not IP
    assert_int_equal(sample_of(&f).way, NEXTHOP_NONE);
    f = frame_raw("\xff\xff\xff\xff\xff\xff\0\0\0\0\0\1\x08\x00\x45", 15); // truncated header
    assert_int_equal(sample_of(&f).way, NEXTHOP_NONE);
    rig_discard(1);
    struct frame h;
    while (rig_punted(PUNT_OTHER, &h, NULL) || rig_punted(PUNT_NEIGH, &h, NULL))
        ;
    end();
}

path_test(a_sample_of_a_group_names_the_member_that_is_taken)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);

    rig_route(VR_DEFAULT, "203.0.113.0/24",
              rig_group((uint32_t[]){rig_adjacency(out, 1), rig_adjacency(third, 2)}, 2));
    begin(1, 3);
    unsigned left_by_out = 0;
    for (uint16_t i = 0; i < 100; i++) {
        struct frame f = packet("203.0.113.5", i);
        uint16_t way = sample_of(&f).out;
        assert_true(way == out || way == third);
        assert_int_equal(rig_discard(1), way == out);
        assert_int_equal(rig_discard(2), way == third);
        left_by_out += way == out;
    }
    assert_in_range(left_by_out, 10, 90);
    end();
}
