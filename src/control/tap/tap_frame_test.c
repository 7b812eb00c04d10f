// SPDX-License-Identifier: BSD-3-Clause
// tap_frame_test.c - the kernel learns the port's knowledge of a checksum, and nothing beyond it
#include "tap/tunnel_back.h"
#include "tests/unit.h"

#include <stdint.h>
#include <string.h>

static uint8_t bytes[128];

static struct rte_mbuf frame(uint16_t type, uint8_t proto, unsigned options, uint64_t flags,
                             uint16_t n)
{
    memset(bytes, 0, sizeof bytes);
    bytes[12] = (uint8_t)(type >> 8);
    bytes[13] = (uint8_t)type;
    bytes[14] = type == 0x0800 ? (uint8_t)(0x45 + options / 4) : 0x60;
    bytes[14 + (type == 0x0800 ? 9 : 6)] = proto;
    bytes[14 + (type == 0x0800 ? 20 + options : 40) + 12] = 8 << 4; // TCP with 12 bytes of options
    return (struct rte_mbuf){
        .buf_addr = bytes, .data_len = n, .pkt_len = n, .nb_segs = 1, .ol_flags = flags};
}

unit_test(a_checksum_nobody_looked_at_is_left_to_the_kernel)
{
    const uint64_t flags[] = {0, RTE_MBUF_F_RX_L4_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_GOOD};

    for (unsigned i = 0; i < 3; i++) {
        struct rte_mbuf m = frame(0x0800, 6, 0, flags[i], 80);
        struct virtio_net_hdr h = tap_frame_header(&m), none = {0};
        assert_memory_equal(&h, &none, sizeof h);
    }
}

unit_test(a_good_checksum_need_not_be_computed_again)
{
    struct rte_mbuf m = frame(0x0800, 17, 0, RTE_MBUF_F_RX_L4_CKSUM_GOOD, 60);
    struct virtio_net_hdr h = tap_frame_header(&m);

    assert_int_equal(h.flags, VIRTIO_NET_HDR_F_DATA_VALID);
    assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_NONE);
}

unit_test(a_checksum_that_is_not_there_is_where_the_kernel_would_put_it)
{
    static const struct {
        uint16_t type;
        uint8_t proto;
        unsigned options;
        uint16_t start, offset;
    } row[] = {{0x0800, 6, 0, 34, 16},
               {0x0800, 17, 8, 42, 6},
               {0x86dd, 6, 0, 54, 16},
               {0x86dd, 17, 0, 54, 6}};

    for (unsigned i = 0; i < 4; i++) {
        struct rte_mbuf m =
            frame(row[i].type, row[i].proto, row[i].options, RTE_MBUF_F_RX_L4_CKSUM_NONE, 100);
        struct virtio_net_hdr h = tap_frame_header(&m);
        assert_int_equal(h.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
        assert_int_equal(h.csum_start, row[i].start);
        assert_int_equal(h.csum_offset, row[i].offset);
    }
}

unit_test(a_header_that_is_not_all_there_is_not_described)
{
    for (uint16_t n = 0; n < 14 + 20 + 20; n++) {
        struct rte_mbuf m = frame(0x0800, 6, 0, RTE_MBUF_F_RX_L4_CKSUM_NONE, n);
        assert_int_equal(tap_frame_header(&m).flags, 0);
    }
    struct rte_mbuf icmp = frame(0x0800, 1, 0, RTE_MBUF_F_RX_L4_CKSUM_NONE, 90),
                    arp = frame(0x0806, 6, 0, RTE_MBUF_F_RX_L4_CKSUM_NONE, 90);
    assert_int_equal(tap_frame_header(&icmp).flags, 0);
    assert_int_equal(tap_frame_header(&arp).flags, 0);
}

unit_test(segments_the_port_joined_are_told_with_their_size)
{
    struct rte_mbuf m = frame(0x86dd, 6, 0, RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_LRO, 128);

    m.tso_segsz = 1428;
    struct virtio_net_hdr h = tap_frame_header(&m);
    assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_TCPV6);
    assert_int_equal(h.gso_size, 1428);
    assert_int_equal(h.hdr_len, 14 + 40 + 32);
    assert_int_equal(h.flags, VIRTIO_NET_HDR_F_DATA_VALID);
}
