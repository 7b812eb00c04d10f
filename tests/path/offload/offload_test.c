// SPDX-License-Identifier: BSD-3-Clause
// offload_test.c - packets whose sender left checksum and segmentation to a card
#include <stdlib.h>

#include "harness.h"

enum { TCP = 6, UDP = 17 };

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    iface_get(in)->flags |= IFACE_OFFLOAD;
    rig_routes(VR_DEFAULT, "20.0.0.0/8", "2001:db8:b::/48", rig_adjacency(out, 2));
    uint32_t local = rig_nexthop(NEXTHOP_LOCAL, in);
    rig_routes(VR_DEFAULT, "10.0.0.1/32", "2001:db8:a::1/128", local);
    rig_link_local(in, "fe80::1");
}

// RFC 1071 sum byte by byte, independent of the router's own code.
static uint32_t sum_of(uint32_t sum, const uint8_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

struct l4 {
    uint8_t *at, *field;
    unsigned n;
    uint32_t pseudo; // sum of the pseudo-header
};

static struct l4 l4_of(struct frame *f)
{
    uint8_t *ip = frame_l3(f);
    bool four = ip[0] >> 4 == 4;
    unsigned hlen = four ? (ip[0] & 15) * 4u : 40, proto = four ? ip[9] : ip[6];
    unsigned len = four ? (unsigned)(ip[2] << 8 | ip[3]) : 40u + (unsigned)(ip[4] << 8 | ip[5]);

    if (!four && proto == 60) { // destination options
        proto = ip[40];
        hlen += 8u * (ip[41] + 1u);
    }
    return (struct l4){.at = ip + hlen,
                       .n = len - hlen,
                       .field = ip + hlen + (proto == TCP ? 16 : 6),
                       .pseudo = sum_of(proto + len - hlen, ip + (four ? 12 : 8), four ? 8 : 32)};
}

static void field_set(const struct l4 *l, uint32_t value)
{
    l->field[0] = (uint8_t)(value >> 8);
    l->field[1] = (uint8_t)value;
}

static bool is_right(struct frame *f)
{
    struct l4 l = l4_of(f);

    return sum_of(l.pseudo, l.at, l.n) == 0xffff;
}

static struct frame packet(const char *src, const char *dst, uint8_t proto, unsigned n)
{
    uint8_t l4[1500] = {0};

    for (unsigned i = 0; i < n; i++)
        l4[i] = (uint8_t)rand();
    if (proto == TCP)
        l4[12] = 0x50;
    if (proto == UDP)
        l4[4] = (uint8_t)(n >> 8), l4[5] = (uint8_t)n;
    return ip_frame(.src = src, .dst = dst, .proto = proto, .l4 = l4, .l4_len = n);
}

static struct frame unfinished(const char *src, const char *dst, uint8_t proto, unsigned n)
{
    struct frame f = packet(src, dst, proto, n);
    struct l4 l = l4_of(&f);

    field_set(&l, l.pseudo);
    return f;
}

static uint64_t completed(void)
{
    return counter_sum_offload(0).completed;
}

static void passes(const struct frame *sent, struct frame *got)
{
    rig_forward(0, sent);
    assert_true(rig_receive(1, got));
}

path_test(unfinished_checksums_are_completed_in_transit)
{
    struct frame f, got;

    for (unsigned n = 20; n < 1400; n += 51) {
        uint64_t before = completed();
        f = unfinished("10.0.0.2", "20.0.0.1", TCP, n);
        passes(&f, &got);
        assert_true(is_right(&got));
        f = unfinished("10.0.0.2", "20.0.0.1", UDP, n);
        passes(&f, &got);
        assert_true(is_right(&got));
        f = unfinished("2001:db8:a::2", "2001:db8:b::1", TCP, n);
        passes(&f, &got);
        assert_true(is_right(&got));
        f = unfinished("2001:db8:a::2", "2001:db8:b::1", UDP, n);
        passes(&f, &got);
        assert_true(is_right(&got));
        assert_int_equal(completed(), before + 4);
    }
}

path_test(what_goes_up_is_completed_too)
{
    static const char *const to[] = {"10.0.0.1",      "224.0.0.9", "255.255.255.255",
                                     "2001:db8:a::1", "fe80::1",   "ff02::9"};
    uint64_t before = completed();
    uint16_t iface;

    for (unsigned i = 0; i < 6; i++) {
        struct frame f = unfinished(i < 3 ? "10.0.0.2" : "fe80::2", to[i], UDP, 100), got;
        bool up = false;
        rig_forward(0, &f);
        for (unsigned c = 0; c < PUNT_CLASS_N && !up; c++)
            up = rig_punted(c, &got, &iface);
        assert_true(up && is_right(&got));
        assert_int_equal(completed(), before + i + 1);
    }
}

// A wrong checksum other than the pseudo-header sum stays wrong, so that the receiver detects the
// damage.
path_test(right_wrong_and_absent_checksums_are_left_alone)
{
    uint64_t before = completed();
    struct frame f, got;

    for (unsigned i = 0; i < 300; i++) {
        f = packet("10.0.0.2", "20.0.0.1", i & 1 ? TCP : UDP, 20 + i);
        struct l4 l = l4_of(&f);
        field_set(&l, 0);
        field_set(&l, (i % 3 == 0   ? 0
                       : i % 3 == 1 ? ~sum_of(l.pseudo, l.at, l.n)
                                    : l.pseudo + 1) &
                          0xffff);
        passes(&f, &got);
        assert_memory_equal(l4_of(&got).at, l.at, l.n);
    }
    assert_int_equal(completed(), before);
}

// The payload makes the right checksum equal to the pseudo-header sum.
path_test(a_right_checksum_that_looks_unfinished_is_left_alone)
{
    uint64_t before = completed();
    struct frame f, got;

    f = packet("10.0.0.2", "20.0.0.1", TCP, 40);
    struct l4 l = l4_of(&f);
    field_set(&l, l.pseudo);
    l.at[38] = l.at[39] = 0;
    uint32_t missing = 0xffff - sum_of(l.pseudo, l.at, l.n);
    l.at[38] = (uint8_t)(missing >> 8);
    l.at[39] = (uint8_t)missing;
    assert_true(is_right(&f));
    passes(&f, &got);
    assert_memory_equal(l4_of(&got).at, l.at, l.n);
    assert_int_equal(completed(), before);
}

path_test(a_udp_checksum_of_0_is_sent_as_all_ones)
{
    struct frame f, got;

    f = packet("10.0.0.2", "20.0.0.1", UDP, 40);
    struct l4 l = l4_of(&f);
    field_set(&l, l.pseudo);
    l.at[38] = l.at[39] = 0;
    uint32_t missing = 0xffff - sum_of(0, l.at, l.n);
    l.at[38] = (uint8_t)(missing >> 8);
    l.at[39] = (uint8_t)missing;
    passes(&f, &got);
    assert_int_equal(l4_of(&got).field[0], 0xff);
    assert_int_equal(l4_of(&got).field[1], 0xff);
}

path_test(options_headers_and_several_buffers_are_no_obstacle)
{
    struct frame f, got;
    uint8_t l4[600] = {0};

    for (unsigned i = 0; i < sizeof l4; i++)
        l4[i] = (uint8_t)rand();
    f = ip_frame(.src = "10.0.0.2", .dst = "20.0.0.1", .proto = TCP, .l4 = l4, .l4_len = 333,
                 .options = 8);
    struct l4 l = l4_of(&f);
    field_set(&l, l.pseudo);
    passes(&f, &got);
    assert_true(is_right(&got));
    memcpy(l4, (uint8_t[8]){UDP, 0, 1, 4, 0, 0, 0, 0}, 8); // destination options, then UDP
    f = ip_frame(.src = "2001:db8:a::2", .dst = "2001:db8:b::1", .proto = 60, .l4 = l4,
                 .l4_len = 555);
    l = l4_of(&f);
    field_set(&l, l.pseudo);
    passes(&f, &got);
    assert_true(is_right(&got));
    f = unfinished("10.0.0.2", "20.0.0.1", TCP, 1001);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 151));
    rig_poll();
    assert_true(rig_receive(1, &got) && is_right(&got));
}

path_test(fragments_and_other_interfaces_are_left_alone)
{
    uint64_t before = completed();
    struct frame f, got;

    f = unfinished("10.0.0.2", "20.0.0.1", UDP, 100);
    uint8_t *ip = frame_l3(&f);
    ip[6] = 0x20; // more fragments
    ip4_fix_checksum(&f);
    passes(&f, &got);
    assert_false(is_right(&got));
    iface_put_flags(iface_get(in), IFACE_OFFLOAD, 0);
    f = unfinished("10.0.0.2", "20.0.0.1", UDP, 100);
    passes(&f, &got);
    assert_false(is_right(&got));
    assert_int_equal(completed(), before);
}

// The driver has sent the first 2,000 bytes of a segment of 40,000.
path_test(a_segment_of_which_the_port_took_the_beginning_has_a_name)
{
    uint64_t cut = counter_sum_offload(0).cut;

    struct frame f = unfinished("10.0.0.2", "20.0.0.1", TCP, 1400);
    frame_l3(&f)[2] = 40000 >> 8, frame_l3(&f)[3] = 40000 & 255;
    ip4_fix_checksum(&f);
    rig_send(0, &f);
    f = unfinished("2001:db8:a::2", "2001:db8:b::1", TCP, 1400);
    frame_l3(&f)[4] = 40000 >> 8, frame_l3(&f)[5] = 40000 & 255;
    rig_forward(0, &f);
    assert_only_drop(DROP_OFFLOAD_CUT, 2);
    assert_int_equal(counter_sum_offload(0).cut, cut + 2);
}

path_test(a_truncated_packet_of_a_frames_length_stays_truncated)
{
    struct frame f = packet("10.0.0.2", "20.0.0.1", TCP, 200);
    frame_l3(&f)[2] = 1400 >> 8, frame_l3(&f)[3] = 1400 & 255;
    ip4_fix_checksum(&f);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_TRUNCATED, 1);
}
