// SPDX-License-Identifier: BSD-3-Clause
// ecmp_test.c - flow hashing: fields of each mode, both directions, fragments; shares and
// polarization
#include "harness.h"

#include <stdio.h>

#include "forwarder/flow_hash.h"

static void three_ways(void)
{
    uint32_t member[3];

    rig_iface(0, 0, VR_DEFAULT);
    for (unsigned p = 1; p <= 3; p++)
        member[p - 1] = rig_adjacency(rig_iface(p, 0, VR_DEFAULT), p);
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_group(member, 3));
    rig_route(VR_DEFAULT, "::/0", rig_group(member, 3));
}

static void hash_by(enum flow_hash_mode mode, bool label, uint32_t seed)
{
    router_role(ROLE_CONTROL);
    vr_set_flow_hash(vr_get(VR_DEFAULT),
                     (struct flow_hash){.seed = seed, .mode = (uint8_t)mode, .label = label});
}

// Port by which the packet leaves.
static unsigned way(const struct ip_spec *s)
{
    struct frame f = frame_ip(s), g;

    rig_forward(0, &f);
    for (unsigned p = 1; p < RIG_PORTS; p++)
        if (rig_receive(p, &g))
            return p;
    fail_msg("the packet did not leave");
    return 0;
}

static const char *address(bool six, unsigned k)
{
    static char buf[8][40];
    static unsigned turn;
    char *b = buf[turn++ % 8];

    if (six)
        snprintf(b, 40, "2001:db8::%x:%x", k >> 8, k & 255);
    else
        snprintf(b, 40, "198.51.%u.%u", k >> 8 & 255, k & 255);
    return b;
}

// Counts the ports used by n flows that differ as `flow` makes them; asserts that all ports are
// used, or only one.
static void ways_of(struct ip_spec (*flow)(bool six, unsigned k), bool six, bool spread)
{
    unsigned n[RIG_PORTS] = {0}, used = 0;

    for (unsigned k = 1; k <= 120; k++) {
        struct ip_spec s = flow(six, k);
        n[way(&s)]++;
    }
    for (unsigned p = 1; p < RIG_PORTS; p++)
        used += n[p] > 0;
    assert_int_equal(used, spread ? 3 : 1);
}

static struct ip_spec other_ports(bool six, unsigned k)
{
    return (struct ip_spec){
        .src = address(six, 1), .dst = address(six, 2), .sport = (uint16_t)(1000 + k), .dport = 80};
}

static struct ip_spec other_source(bool six, unsigned k)
{
    return (struct ip_spec){.src = address(six, 2 + k), .dst = address(six, 1)};
}

static struct ip_spec other_label(bool six, unsigned k)
{
    return (struct ip_spec){.src = address(six, 1), .dst = address(six, 2), .flow_label = k};
}

static struct ip_spec other_protocol(bool six, unsigned k)
{
    return (struct ip_spec){
        .src = address(six, 1), .dst = address(six, 2), .proto = (uint8_t)(128 + k), .payload = 16};
}

path_test(l4_tells_flows_apart_by_ports_protocol_and_address)
{
    three_ways();
    hash_by(FLOW_HASH_L4, true, 1);
    for (unsigned six = 0; six < 2; six++) {
        ways_of(other_ports, six, true);
        ways_of(other_source, six, true);
        ways_of(other_protocol, six, true);
    }
    ways_of(other_label, true, true);
}

path_test(l3_looks_at_addresses_only)
{
    three_ways();
    hash_by(FLOW_HASH_L3, true, 1);
    for (unsigned six = 0; six < 2; six++) {
        ways_of(other_ports, six, false);
        ways_of(other_protocol, six, false);
        ways_of(other_source, six, true);
    }
    ways_of(other_label, true, true);
}

// rfc: 6437 3 MUST
path_test(the_flow_label_may_be_left_out)
{
    three_ways();
    hash_by(FLOW_HASH_L4, false, 1);
    ways_of(other_label, true, false);
    ways_of(other_ports, true, true);
    hash_by(FLOW_HASH_L3, false, 1);
    ways_of(other_label, true, false);
}

// Number of flows whose return direction uses the same port.
static unsigned same_way_back(bool six, unsigned n)
{
    unsigned same = 0;

    for (unsigned k = 1; k <= n; k++) {
        struct ip_spec there = {.src = address(six, 7 * k),
                                .dst = address(six, 60000 - k),
                                .sport = (uint16_t)(1024 + 31 * k),
                                .dport = k % 2 ? 443 : 65000,
                                .proto = k % 3 ? 17 : 132,
                                .flow_label = six ? k : 0};
        struct ip_spec back = {.src = there.dst,
                               .dst = there.src,
                               .sport = there.dport,
                               .dport = there.sport,
                               .proto = there.proto,
                               .flow_label = six ? k * 77 : 0};
        same += way(&there) == way(&back);
    }
    return same;
}

path_test(symmetric_takes_both_directions_of_a_flow_by_the_same_member)
{
    three_ways();
    hash_by(FLOW_HASH_SYMMETRIC, true, 5);
    for (unsigned six = 0; six < 2; six++) {
        assert_int_equal(same_way_back(six, 300), 300);
        ways_of(other_ports, six, true);
        ways_of(other_source, six, true);
        ways_of(other_protocol, six, true);
    }
    ways_of(other_label, true, false);
    hash_by(FLOW_HASH_L4, true, 5);
    for (unsigned six = 0; six < 2; six++)
        assert_in_range(same_way_back(six, 300), 60, 140); // by chance a third
}

// An ICMP error about a packet of the flow's host, sent to it by a router on the path.
static struct ip_spec error_about(const struct ip_spec *flow, bool six, unsigned type)
{
    static uint8_t icmp[8 + 40 + 8];
    struct ip_spec quoted = *flow;

    quoted.src = flow->dst;
    quoted.dst = flow->src;
    quoted.sport = flow->dport;
    quoted.dport = flow->sport;
    quoted.flow_label = six ? 99 : 0;
    struct frame f = frame_ip(&quoted);
    memset(icmp, 0, sizeof icmp);
    icmp[0] = (uint8_t)type;
    memcpy(icmp + 8, f.b + 14, six ? 48 : 28);
    return (struct ip_spec){.src = six ? "2001:db8:ffff::1" : "203.0.113.9",
                            .dst = flow->dst,
                            .proto = six ? 58 : 1,
                            .l4 = icmp,
                            .l4_len = six ? 56 : 36,
                            .flow_label = six ? 4711 : 0};
}

// For anycast clients: an error from a router reaches the host whose packet it quotes.
// rfc: 7690 3 SHOULD
path_test(an_icmp_error_takes_the_way_of_the_flow_that_it_quotes)
{
    static const uint8_t types[2][3] = {{3, 11, 12}, {1, 2, 3}};
    unsigned by_chance = 0;

    three_ways();
    for (unsigned mode = 0; mode < FLOW_HASH_MODES; mode++)
        for (unsigned k = 1; k <= 120; k++)
            for (unsigned six = 0; six < 2; six++) {
                struct ip_spec flow = {.src = address(six, 2 + k),
                                       .dst = address(six, 1),
                                       .sport = (uint16_t)(1024 + 31 * k),
                                       .dport = 443,
                                       .proto = k % 3 ? 6 : 17};
                hash_by((enum flow_hash_mode)mode, true, 9);
                unsigned by = way(&flow);
                struct ip_spec error = error_about(&flow, six, types[six][k % 3]);
                assert_int_equal(way(&error), by);
                ((uint8_t *)error.l4)[0] = six ? 128 : 8; // an echo request is not an error
                by_chance += way(&error) == by;
            }
    assert_in_range(by_chance, 120, 480); // of 720, a third by chance, so the test is meaningful
}

path_test(a_cut_or_strange_quotation_is_hashed_like_any_packet)
{
    struct ip_spec flow = {.src = address(false, 2), .dst = address(false, 1), .sport = 5};

    three_ways();
    hash_by(FLOW_HASH_L4, true, 1);
    for (unsigned six = 0; six < 2; six++)
        for (unsigned n = 0; n <= 56; n++) {
            flow.src = address(six, 2);
            flow.dst = address(six, 1);
            struct ip_spec error = error_about(&flow, six, six ? 2 : 3);
            error.l4_len = n;
            way(&error);
            ((uint8_t *)error.l4)[8] = 0xff; // not an IP packet
            way(&error);
        }
}

path_test(fragments_stay_together_in_every_mode)
{
    three_ways();
    for (unsigned mode = 0; mode < FLOW_HASH_MODES; mode++) {
        hash_by(mode, true, 3);
        for (unsigned k = 1; k < 40; k++) {
            struct ip_spec first = {.src = address(false, k),
                                    .dst = address(false, 3),
                                    .fragment = 0x2000,
                                    .dport = (uint16_t)(k * 77)},
                           last = {
                               .src = address(false, k), .dst = address(false, 3), .fragment = 185};
            assert_int_equal(way(&first), way(&last));
            // Fragment header: next header UDP, offset 0 with more fragments, or offset 181 as the
            // last.
            uint8_t f6[16] = {17, 0, 0, 1, 0, 0, 0, 9, 3, (uint8_t)k, 0, 80},
                    l6[16] = {17, 0, 5, 0xa8, 0, 0, 0, 9, 1, 2, 3, 4};
            struct ip_spec first6 = {.src = address(true, k),
                                     .dst = address(true, 3),
                                     .proto = 44,
                                     .l4 = f6,
                                     .l4_len = 16,
                                     .flow_label = k},
                           last6 = {.src = address(true, k),
                                    .dst = address(true, 3),
                                    .proto = 44,
                                    .l4 = l6,
                                    .l4_len = 16,
                                    .flow_label = k};
            assert_int_equal(way(&first6), way(&last6));
        }
    }
}

path_test(packets_of_each_member_are_counted_where_a_group_chooses)
{
    uint32_t member[3];
    unsigned n[RIG_PORTS] = {0};

    rig_iface(0, 0, VR_DEFAULT);
    for (unsigned p = 1; p <= 3; p++)
        member[p - 1] = rig_adjacency(rig_iface(p, 0, VR_DEFAULT), p);
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_group(member, 3));
    rig_route(VR_DEFAULT, "::/0", rig_group(member, 3));
    rig_route(VR_DEFAULT, "203.0.113.0/24", member[0]);
    for (unsigned k = 0; k < 200; k++) {
        struct ip_spec s = other_ports(k % 2, k);
        n[way(&s)]++;
    }
    way(&(struct ip_spec){.src = "192.0.2.1", .dst = "203.0.113.1"}); // without a group
    for (unsigned p = 1; p <= 3; p++)
        assert_int_equal(nexthop_chosen_packets(member[p - 1]), n[p]);
}

// --- shares, by the functions alone, with many flows ---

enum { FLOWS = 64000 };

// Flow k of realistic traffic: clients in a few subnets with ascending ports, and a few servers.
static uint32_t realistic(bool six, unsigned k, struct flow_hash how)
{
    unsigned client = k / 20 % 3200, port = 32768 + k % 20 * 2 + k / 64000, server = k % 5;
    uint8_t ip[60] = {0};

    ip[six ? 40 : 20] = (uint8_t)(port >> 8);
    ip[six ? 41 : 21] = (uint8_t)port;
    ip[six ? 42 : 22] = 443 >> 8;
    ip[six ? 43 : 23] = 443 & 255;
    if (six) {
        memcpy(ip, (uint8_t[8]){0x60, 0, 0, 0, 0, 20, 6, 64}, 8);
        memcpy(ip + 8,
               (uint8_t[16]){0x20, 1, 0xd, 0xb8, 0, 1, 0,
                             (uint8_t)(client >> 8), [15] = (uint8_t)client},
               16);
        memcpy(ip + 24, (uint8_t[16]){0x20, 1, 0xd, 0xb8, 0, 2, [15] = (uint8_t)server}, 16);
        return flow_hash6(ip, 60, 60, how);
    }
    memcpy(ip,
           (uint8_t[16]){0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 1, (uint8_t)(client >> 8),
                         (uint8_t)client},
           16);
    memcpy(ip + 16, (uint8_t[4]){198, 51, 100, (uint8_t)server}, 4);
    return flow_hash4(ip, 40, 40, how);
}

static uint32_t group_of(uint32_t *member, unsigned n)
{
    uint16_t out = rig_iface(1, 0, VR_DEFAULT);

    for (unsigned i = 0; i < n; i++)
        member[i] = rig_adjacency(out, i + 1);
    return rig_group(member, n);
}

static unsigned index_of(uint32_t group, uint32_t hash, const uint32_t *member)
{
    uint32_t m = nexthop_member(nexthop_get(group), hash);
    unsigned i = 0;

    while (member[i] != m)
        i++;
    return i;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

// Largest deviation from equal shares, as a fraction.
static double worst(const unsigned *count, unsigned n)
{
    double sum = 0, w = 0;

    for (unsigned i = 0; i < n; i++)
        sum += count[i];
    for (unsigned i = 0; i < n; i++)
        w = larger(w, count[i] * n > sum ? count[i] * n / sum - 1 : 1 - count[i] * n / sum);
    return w;
}

path_test(every_member_gets_its_share_of_realistic_flows)
{
    static const unsigned sizes[] = {2, 4, 8, 16};

    for (unsigned k = 0; k < 4; k++) {
        uint32_t member[16], group = group_of(member, sizes[k]);
        for (unsigned six = 0; six < 2; six++)
            for (unsigned mode = FLOW_HASH_L4; mode < FLOW_HASH_MODES; mode++)
                for (uint32_t seed = 1; seed <= 5; seed++) {
                    unsigned count[16] = {0};
                    for (unsigned i = 0; i < FLOWS; i++)
                        count[index_of(
                            group,
                            realistic(six, i, (struct flow_hash){seed, (uint8_t)mode, true, 0}),
                            member)]++;
                    // 4000 flows per member: one standard deviation is 1.6 %.
                    if (worst(count, sizes[k]) > 0.07)
                        fail_msg("%u members, %s, mode %u, seed %u: %.1f %% off", sizes[k],
                                 six ? "IPv6" : "IPv4", mode, seed, 100 * worst(count, sizes[k]));
                }
    }
}

// Two routers in a row with four paths each: the second router's deviation from equal shares for
// flows of one member of the first.
static double second_router(bool six, uint32_t seed1, uint32_t seed2, unsigned mode, uint32_t group,
                            const uint32_t *member)
{
    unsigned count[4][4] = {0};
    double w = 0;

    for (unsigned i = 0; i < FLOWS; i++) {
        uint32_t h1 = realistic(six, i, (struct flow_hash){seed1, (uint8_t)mode, true, 0}),
                 h2 = realistic(six, i, (struct flow_hash){seed2, (uint8_t)mode, true, 0});
        count[index_of(group, h1, member)][index_of(group, h2, member)]++;
    }
    for (unsigned k = 0; k < 4; k++)
        w = larger(w, worst(count[k], 4));
    return w;
}

path_test(two_routers_in_a_row_with_different_seeds_do_not_split_alike)
{
    uint32_t member[4], group = group_of(member, 4);

    for (unsigned six = 0; six < 2; six++)
        for (unsigned mode = FLOW_HASH_L4; mode < FLOW_HASH_MODES; mode++) {
            for (uint32_t seed = 1; seed < 8; seed++) { // seeds as people choose them: 1, 2, 3 …
                double w = second_router(six, seed, seed + 1, mode, group, member);
                if (w > 0.12) // 4000 flows in each of 16
                    fail_msg("%s, mode %u, seeds %u and %u: %.1f %% off", six ? "IPv6" : "IPv4",
                             mode, seed, seed + 1, 100 * w);
            }
            assert_true(second_router(six, 9, 9, mode, group, member) >
                        2.9); // same seed: all on one of four
        }
}
