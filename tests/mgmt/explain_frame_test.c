// SPDX-License-Identifier: BSD-3-Clause
// explain_frame_test.c - frames built from a specification: lengths, fields and checksums
#include <stdint.h>
#include <string.h>

#include "base/checksum.h"
#include "packet/explain_frame.h"
#include "tests/unit.h"

static uint8_t frame[EXPLAIN_FRAME_ROOM];

static struct packet_spec spec_of(const char *src, const char *dst)
{
    struct packet_spec s = {
        .src_mac = {2, 1}, .dst_mac = {2, 2}, .ttl = 9, .proto = 17, .sport = 5, .dport = 6};

    assert_int_equal(ip_parse(src, &s.src), 0);
    assert_int_equal(ip_parse(dst, &s.dst), 0);
    return s;
}

static unsigned u16(unsigned at)
{
    return (unsigned)frame[at] << 8 | frame[at + 1];
}

unit_test(a_frame_is_what_was_said)
{
    struct packet_spec s = spec_of("10.0.0.1", "10.0.0.2");

    s.vlan = 40;
    s.tos = 0xb8;
    s.df = s.more = true;
    s.size = 100;
    assert_int_equal(explain_frame(&s, frame), 118);
    assert_memory_equal(
        frame, "\2\2\0\0\0\0\2\1\0\0\0\0\x81\0\0\x28\x08\0\x45\xb8\0\x64\0\0\x60\0\x09\x11", 28);
    assert_memory_equal(frame + 30, "\x0a\0\0\1\x0a\0\0\2\0\5\0\6\0\x50", 14);
    assert_int_equal(checksum(frame + 18, 20), 0);
    s.outer_vlan = 7;
    s.outer_tpid = 0x88a8;
    assert_int_equal(explain_frame(&s, frame), 122);
    assert_memory_equal(frame + 12, "\x88\xa8\0\7\x81\0\0\x28\x08\0\x45", 11);
    s.outer_vlan = 0;
    s.offset = 1480;
    explain_frame(&s, frame);
    assert_int_equal(u16(24), 0x4000 | 0x2000 | 1480 / 8);
    assert_int_equal(u16(38), 0); // a later fragment has no header
}

unit_test(headers_alone_are_padded_as_ethernet_does)
{
    struct packet_spec s = spec_of("10.0.0.1", "10.0.0.2");

    for (unsigned proto = 0; proto < 256; proto++) {
        s.proto = (uint8_t)proto;
        assert_int_equal(explain_frame(&s, frame), 60);
        assert_true(u16(16) >= 20 && u16(16) <= 46);
    }
}

// Checks the checksum over pseudo header and IP payload.
static void adds_up(uint8_t family, uint8_t proto, unsigned at, unsigned len)
{
    uint8_t tail[4] = {0, proto, (uint8_t)(len >> 8), (uint8_t)len};
    uint32_t sum = family == IP4 ? checksum_add(checksum_add(0, frame + 26, 8), tail, 4)
                                 : checksum_pseudo6(frame + 22, frame + 38, len, proto);

    if (proto == 1)
        sum = 0;
    assert_int_equal(checksum_finish(checksum_add(sum, frame + at, len)), 0);
}

unit_test(checksums_add_up)
{
    static const uint8_t protos[] = {1, 6, 17, 58};
    struct packet_spec s4 = spec_of("10.0.0.1", "10.0.0.2"),
                       s6 = spec_of("2001:db8::1", "2001:db8::2");

    for (unsigned size = 60; size < 200; size += 7)
        for (unsigned i = 0; i < sizeof protos; i++) {
            s4.proto = s6.proto = protos[i];
            s4.size = s6.size = (uint16_t)size;
            explain_frame(&s4, frame);
            adds_up(IP4, protos[i], 34, size - 20);
            explain_frame(&s6, frame);
            if (protos[i] != 1)
                adds_up(IP6, protos[i], 54, size - 40);
        }
}

unit_test(an_ipv6_fragment_has_its_header)
{
    struct packet_spec s = spec_of("2001:db8::1", "2001:db8::2");

    s.label = 0x12345;
    s.offset = 16;
    s.more = true;
    assert_int_equal(explain_frame(&s, frame), 62);
    assert_memory_equal(frame + 12, "\x86\xdd\x60\x01\x23\x45\0\x08\x2c\x09", 10);
    assert_memory_equal(frame + 54, "\x11\0\0\x11\0\0\0\0", 8);
    s.offset = 0;
    assert_int_equal(explain_frame(&s, frame), 70);
    assert_int_equal(u16(56), 1);
    assert_int_equal(u16(62), 5);
}

unit_test(protocols_have_names)
{
    assert_int_equal(explain_protocol("icmp", IP4), 1);
    assert_int_equal(explain_protocol("icmp", IP6), 58);
    assert_int_equal(explain_protocol("tcp", IP6), 6);
    assert_int_equal(explain_protocol("255", IP4), 255);
    assert_int_equal(explain_protocol("256", IP4), -1);
    assert_int_equal(explain_protocol("ipx", IP4), -1);
}
