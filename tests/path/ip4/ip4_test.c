// SPDX-License-Identifier: BSD-3-Clause
// ip4_test.c - IPv4 packets that may be forwarded, and their TTL
#include "harness.h"

#include <arpa/inet.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include "base/clock.h"
#include "table/plan.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "192.0.2.254/32", rig_nexthop(NEXTHOP_LOCAL, in));
}

static struct frame packet(void)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 20);
}

static struct frame between(const char *src, const char *dst)
{
    return ip_frame(.src = src, .dst = dst);
}

// rfc: 1812 5.2.2 MUST
path_test(wrong_version_or_header_length_is_dropped)
{
    uint8_t wrong[] = {0x55, 0x65, 0x05, 0x44, 0x40};

    for (unsigned i = 0; i < sizeof wrong; i++) {
        struct frame f = packet();
        f.b[14] = wrong[i];
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_IP4_VERSION, sizeof wrong);
}

// rfc: 1812 5.2.2 MUST
path_test(a_total_length_beyond_the_frame_is_dropped)
{
    struct frame f = packet();
    f.b[17]++;
    ip4_fix_checksum(&f);
    rig_send(0, &f);
    f.b[16] = f.b[17] = 0xff;
    ip4_fix_checksum(&f);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_TRUNCATED, 2);
}

// rfc: 1812 5.2.2 MUST
path_test(a_total_length_shorter_than_the_header_is_dropped)
{
    struct frame f = packet();
    f.b[17] = 19;
    ip4_fix_checksum(&f);
    rig_send(0, &f);
    struct frame g = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = 8);
    g.b[17] = 24;
    ip4_fix_checksum(&g);
    rig_forward(0, &g);
    assert_only_drop(DROP_IP4_TRUNCATED, 2);
}

// rfc: 1812 5.2.2 MUST
path_test(a_frame_that_ends_inside_the_header_is_dropped)
{
    struct frame f = packet();
    for (f.n = 14; f.n < 34; f.n++)
        rig_send(0, &f);
    struct frame g = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = 40);
    for (g.n = 34; g.n < 74; g.n++)
        rig_send(0, &g);
    rig_poll();
    assert_only_drop(DROP_IP4_TRUNCATED, 20 + 40);
}

// rfc: 1812 4.2.2.1 MUST
path_test(a_packet_with_options_is_forwarded_with_them)
{
    struct frame g,
        f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = 40, .payload = 11);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n);
    assert_true(frame_is_ip4_sound(&g));
    assert_memory_equal(g.b + 34, f.b + 34, f.n - 34);
}

// rfc: 1812 5.2.2 MUST
path_test(a_wrong_checksum_is_dropped_with_options_or_without)
{
    struct frame f = packet();
    f.b[24] ^= 0x10;
    rig_send(0, &f);
    struct frame g = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = 4);
    g.b[34] ^= 1;
    rig_forward(0, &g);
    assert_only_drop(DROP_IP4_CHECKSUM, 2);
}

path_test(a_checksum_the_port_found_good_is_believed_one_it_found_bad_is_computed)
{
    struct frame g, f = packet();
    struct rte_mbuf *m = rig_mbuf(&f, 2048);
    m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD; // although it is right
    rig_send_mbuf(0, 0, m);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_true(frame_is_ip4_sound(&g));
    f.b[24] ^= 0x10;
    m = rig_mbuf(&f, 2048);
    m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    rig_send_mbuf(0, 0, m);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 1812 4.2.2.5 MUST
// rfc: 1624 3 MUST
path_test(the_checksum_stays_right_for_every_value)
{
    struct frame g, f = packet();
    for (unsigned id = 0; id < 65536;
         id += 7) { // steps through checksum values, including the neighbors of 0xffff
        f.b[18] = (uint8_t)(id >> 8);
        f.b[19] = (uint8_t)id;
        f.b[22] = (uint8_t)(2 + id % 254);
        ip4_fix_checksum(&f);
        rig_send(0, &f);
        rig_step(0);
        assert_true(rig_receive(1, &g));
        assert_int_equal(g.b[22], f.b[22] - 1);
        assert_true(frame_is_ip4_sound(&g));
        struct frame want = g;
        ip4_fix_checksum(&want);
        assert_memory_equal(g.b + 24, want.b + 24, 2);
    }
}

// rfc: 1812 5.3.7 SHOULD NOT
path_test(sources_that_can_not_be_are_dropped)
{
    static const char *const src[] = {"0.0.0.0",   "0.1.2.3",   "127.0.0.1", "127.255.255.255",
                                      "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"};
    for (unsigned i = 0; i < sizeof src / sizeof *src; i++) {
        struct frame f = between(src[i], "198.51.100.1");
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_IP4_MARTIAN_SRC, sizeof src / sizeof *src);
}

// rfc: 1812 5.3.7 MUST NOT
path_test(destinations_that_must_not_be_forwarded_are_dropped)
{
    static const char *const dst[] = {"0.0.0.0",   "0.1.2.3",   "127.0.0.1",
                                      "127.1.1.1", "240.0.0.1", "255.255.255.254"};
    for (unsigned i = 0; i < sizeof dst / sizeof *dst; i++) {
        struct frame f = between("192.0.2.1", dst[i]);
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_IP4_MARTIAN_DST, sizeof dst / sizeof *dst);
}

// rfc: 1812 5.3.5.1 MUST
path_test(limited_broadcast_goes_up_even_without_a_source)
{
    struct frame g, f = ip_frame(.src = "0.0.0.0", .dst = "255.255.255.255", .sport = 68,
                                 .dport = 67, .dst_mac = broadcast_mac);
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 5771 4 MUST
path_test(control_multicast_goes_up_and_other_multicast_is_dropped)
{
    static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 5};
    static const struct {
        const char *dst;
        uint8_t proto;
        enum punt_class class;
    } up[] = {
        {"224.0.0.5", 89, PUNT_ROUTING},  {"224.0.0.18", 112, PUNT_ROUTING},
        {"224.0.0.251", 17, PUNT_OTHER},  {"239.1.1.1", 2, PUNT_NEIGH},
        {"232.1.1.1", 103, PUNT_ROUTING},
    };
    struct frame g;
    for (unsigned i = 0; i < sizeof up / sizeof *up; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = up[i].dst, .proto = up[i].proto,
                                  .ttl = 1, .dst_mac = group);
        rig_forward(0, &f);
        assert_true(rig_punted(up[i].class, &g, NULL));
        assert_memory_equal(g.b, f.b, f.n);
    }
    assert_int_equal(rig_drops_all(), 0);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "239.1.1.1", .dst_mac = group);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_MULTICAST, 1);
}

// rfc: 1812 5.3.1 MUST
path_test(ttl_1_to_router_itself_is_delivered)
{
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254", .ttl = 1);
    uint16_t iface = 0;
    rig_send(0, &f);
    struct frame z = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254", .ttl_zero = true);
    rig_forward(0, &z);
    assert_true(rig_punted(PUNT_OTHER, &g, &iface));
    assert_int_equal(iface, in);
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, z.b, z.n);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 1812 5.3.1 MUST
path_test(ttl_1_and_0_are_not_forwarded_and_2_is)
{
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .ttl = 2);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.b[22], 1);
    f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .ttl = 1);
    rig_send(0, &f);
    f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .ttl_zero = true);
    assert_false(rig_passes(0, &f, 1, &g));
    assert_only_drop(DROP_IP4_TTL, 2);
}

path_test(without_a_route_a_packet_is_dropped)
{
    rig_unroute(VR_DEFAULT, "0.0.0.0/0");
    struct frame f = packet();
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_NO_ROUTE, 1);
}

path_test(good_packets_keep_their_order_around_bad_ones)
{
    for (unsigned i = 0; i < 64; i++) {
        struct frame f =
            ip_frame(.src = "192.0.2.1", .dst = i % 5 == 1 ? "127.0.0.1" : "198.51.100.1",
                     .ttl = i % 7 == 3 ? 1 : 9, .options = i % 3 ? 0 : 4,
                     .sport = (uint16_t)(i + 1));
        rig_send(0, &f);
    }
    rig_poll();
    struct frame g;
    unsigned n = 0;
    // Plain packets go first; packets with options, which are handled singly, after them.
    for (unsigned options = 0; options <= 1; options++)
        for (unsigned i = 0; i < 64; i++) {
            if (i % 5 == 1 || i % 7 == 3 || (i % 3 == 0) != options)
                continue;
            assert_true(rig_receive(1, &g));
            unsigned hlen = (g.b[14] & 15) * 4u;
            assert_int_equal(g.b[14 + hlen] << 8 | g.b[15 + hlen], i + 1);
            n++;
        }
    assert_false(rig_receive(1, &g));
    assert_int_equal(rig_drops_all(), 64 - n);
}

// --- options ---

static struct frame with_options(const void *options, unsigned n)
{
    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = n, .payload = 5);

    memcpy(f.b + 14 + 20, options, n);
    ip4_fix_checksum(&f);
    return f;
}

static void options_are(enum ip4_options mode)
{
    plan_ip4_options = (uint8_t)mode;
}

// rfc: 7126 4.3 SHOULD
// rfc: 7126 4.4 SHOULD
path_test(source_routes_are_refused_whatever_is_configured)
{
    static const uint8_t loose[8] = {1, 131, 7, 4, 10, 0, 0, 1},
                         strict[8] = {137, 7, 4, 10, 0, 0, 1, 0};
    for (unsigned mode = IP4_OPTIONS_DROP; mode <= IP4_OPTIONS_PROCESS; mode++) {
        options_are(mode);
        struct frame f = with_options(loose, 8);
        rig_send(0, &f);
        f = with_options(strict, 8);
        rig_send(0, &f);
    }
    rig_poll();
    options_are(IP4_OPTIONS_DROP);
    assert_only_drop(DROP_IP4_SOURCE_ROUTE, 6);
}

// rfc: 7126 4.5 SHOULD
// rfc: 7126 4.7 SHOULD
path_test(record_route_and_timestamp_are_dropped_ignored_or_processed)
{
    static const uint8_t route[12] = {7, 11, 4}, stamp[12] = {68, 12, 5, 0};
    struct frame g, f = with_options(route, 12), h = with_options(stamp, 12);
    rig_send(0, &f);
    rig_forward(0, &h);
    assert_only_drop(DROP_IP4_OPTION, 2);
    options_are(IP4_OPTIONS_IGNORE);
    rig_send(0, &f);
    assert_true(rig_passes(0, &h, 1, &g));
    assert_memory_equal(g.b + 34, route, 12);
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b + 34, stamp, 12);
    options_are(IP4_OPTIONS_PROCESS);
    rig_send(0, &f);
    rig_forward(0, &h);
    options_are(IP4_OPTIONS_DROP);
    assert_true(rig_receive(1, &g));
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(g.b[36], 8); // the pointer moved on
    assert_memory_equal(g.b + 37, &iface_get(out)->addr4, 4);
    assert_true(rig_receive(1, &g));
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(g.b[36], 9);
    assert_true(g.b[38] & 0x80); // not the time of day, and marked as such
    assert_only_drop(DROP_IP4_OPTION, 2);
}

// rfc: 791 3.1 MUST
path_test(a_full_record_passes_and_a_timestamp_counts_that)
{
    static const uint8_t route[8] = {7, 7, 8, 10, 0, 0, 1}, stamp[8] = {68, 8, 9, 0x20, 0, 0, 0, 1};
    options_are(IP4_OPTIONS_PROCESS);
    struct frame g, f = with_options(route, 8);
    rig_send(0, &f);
    f = with_options(stamp, 8);
    rig_forward(0, &f);
    options_are(IP4_OPTIONS_DROP);
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b + 34, route, 8);
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.b[37], 0x30); // one more without room
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 791 3.1 MUST
path_test(a_timestamp_is_given_where_our_address_is_asked_for)
{
    uint8_t ours[12] = {68, 12, 5, 3, 10, 255, 1, 0}, others[12] = {68, 12, 5, 3, 10, 255, 1, 9},
            both[12] = {68, 12, 5, 1};
    options_are(IP4_OPTIONS_PROCESS);
    struct frame g, f = with_options(ours, 12);
    rig_send(0, &f);
    f = with_options(others, 12);
    rig_send(0, &f);
    f = with_options(both, 12);
    rig_forward(0, &f);
    options_are(IP4_OPTIONS_DROP);
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.b[36], 13);
    assert_true(g.b[42] & 0x80);
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b + 34, others, 12);
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b + 38, &iface_get(out)->addr4, 4);
    assert_int_equal(g.b[36], 13);
}

static unsigned slower = 1; // divides the reported TSC rate
uint64_t __real_rte_get_tsc_hz(void);
uint64_t __wrap_rte_get_tsc_hz(void);

uint64_t __wrap_rte_get_tsc_hz(void)
{
    return __real_rte_get_tsc_hz() / slower;
}

// Holds for any TSC rate; the clock is read around each packet. The reported rate is an eighth of
// the true one, so that eight milliseconds pass per reported millisecond, and a shift that happens
// to fit the true rate gives wrong results.
path_test(timestamps_count_milliseconds)
{
    static const uint8_t ask[8] = {68, 8, 5};
    uint64_t before[2], after[2];
    uint32_t ms[2];
    options_are(IP4_OPTIONS_PROCESS);
    struct frame g, f = with_options(ask, 8);
    for (unsigned i = 0; i < 2; i++) {
        usleep(i * 200000);
        rig_send(0, &f);
        before[i] = clock_now_ns();
        slower = 8;
        rig_poll();
        slower = 1;
        after[i] = clock_now_ns();
        assert_true(rig_receive(1, &g));
        memcpy(&ms[i], g.b + 38, 4);
        ms[i] = ntohl(ms[i]);
    }
    options_are(IP4_OPTIONS_DROP);
    assert_in_range(ms[1] - ms[0], 8 * (before[1] - after[0]) / 1000000 - 1,
                    8 * (after[1] - before[0]) / 1000000 + 1);
}

// The kernel would forward it. Nodes that should see it are its destination or have joined its
// group.
// rfc: 2113 2 MUST, only as a router that does not know the option
path_test(a_packet_with_a_router_alert_for_elsewhere_is_forwarded_and_does_not_go_up)
{
    static const uint8_t alert[4] = {148, 4, 0, 0};
    struct frame g, f = with_options(alert, 4);
    for (unsigned mode = IP4_OPTIONS_DROP; mode <= IP4_OPTIONS_PROCESS; mode++) {
        options_are((uint8_t)mode);
        assert_true(rig_passes(0, &f, 1, &g));
        assert_false(rig_punted(PUNT_OTHER, &g, NULL));
    }
    options_are(IP4_OPTIONS_DROP);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 1812 4.2.2.1 MUST
// rfc: 1812 4.3.3.5 MUST
path_test(options_that_can_not_be_read_are_told_with_the_octet_that_is_wrong)
{
    static const struct {
        uint8_t option[12];
        uint8_t mode, octet;
    } row[] = {
        {{1, 94, 1}, IP4_OPTIONS_DROP, 21},  // shorter than its own header
        {{1, 94, 12}, IP4_OPTIONS_DROP, 21}, // longer than the packet's
        {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 94}, IP4_OPTIONS_DROP, 31}, // no room for its length
        {{7, 11, 3}, IP4_OPTIONS_PROCESS, 22}, // the pointer points at itself
        {{7, 6, 4}, IP4_OPTIONS_PROCESS, 22},  // room for part of an address
        {{68, 12, 4, 0}, IP4_OPTIONS_PROCESS, 22},
        {{68, 12, 5, 2}, IP4_OPTIONS_PROCESS, 23},   // a kind nobody knows
        {{68, 8, 9, 0xf0}, IP4_OPTIONS_PROCESS, 23}, // count of entries without room would overflow
        {{68, 8, 5, 1}, IP4_OPTIONS_PROCESS, 22},    // room only for the address
    };
    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 3));
    rig_icmp_rate(1000, 100);
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct frame e, f = with_options(row[i].option, 12);
        unsigned n = f.n;
        f.n = 64; // padded
        options_are(row[i].mode);
        rig_forward(0, &f);
        options_are(IP4_OPTIONS_DROP);
        assert_true(rig_receive(0, &e));
        assert_int_equal(e.b[34], 12);
        assert_int_equal(e.b[35], 0);
        assert_int_equal(e.b[38], row[i].octet);
        assert_memory_equal(e.b + 42, f.b + 14, 32);
        assert_int_equal(e.n, 42 + n - 14);
    }
    assert_only_drop(DROP_IP4_OPTION_BAD, sizeof row / sizeof *row);
}

// An option that ends before its pointer, where the packet ends: the pointer is not read.
path_test(an_option_without_a_pointer_at_the_end_of_a_packet_is_refused)
{
    static const uint8_t option[2][2] = {{7, 2}, {68, 2}};

    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 3));
    rig_icmp_rate(1000, 100);
    options_are(IP4_OPTIONS_PROCESS);
    for (unsigned i = 0; i < 2; i++) {
        struct frame e, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .options = 40,
                                     .l4 = option, .l4_len = 0);
        memcpy(f.b + f.n - 2, option[i], 2);
        ip4_fix_checksum(&f);
        rig_forward(0, &f);
        assert_true(rig_receive(0, &e));
        assert_int_equal(e.b[38], 59); // its length
    }
    options_are(IP4_OPTIONS_DROP);
    assert_only_drop(DROP_IP4_OPTION_BAD, 2);
}

// --- addresses of a link ---

// rfc: 3927 2.7 MUST NOT
// rfc: 3927 7 MUST NOT
path_test(link_local_addresses_are_not_forwarded)
{
    struct frame f = between("169.254.1.1", "198.51.100.1");
    rig_send(0, &f);
    f = between("192.0.2.1", "169.254.255.255");
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_LINK_LOCAL, 2);
}

path_test(neighbors_of_the_link_local_block_are_forwarded)
{
    static const char *const address[] = {"169.253.255.255", "169.255.0.0", "168.254.1.1",
                                          "170.254.1.1"};
    for (unsigned i = 0; i < 4; i++) {
        struct frame f = between(address[i], "198.51.100.1");
        rig_send(0, &f);
        f = between("192.0.2.1", address[i]);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 8);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_link_local_neighbor_reaches_us)
{
    rig_route(VR_DEFAULT, "169.254.7.7/32", rig_nexthop(NEXTHOP_LOCAL, in));
    struct frame g, f = between("169.254.1.1", "169.254.7.7");
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    f = between("169.254.1.1", "192.0.2.254");
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
}
