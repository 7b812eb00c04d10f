// SPDX-License-Identifier: BSD-3-Clause
// tunnel_back_test.c - an inner frame becomes the outer packet that brought it
#include <stdint.h>

#include <string.h>

#include "base/checksum.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/iface.h"
#include "tap/tunnel_back.h"
#include "tests/unit.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
static uint8_t bytes[128];

static struct rte_mbuf frame(uint16_t type, uint16_t n)
{
    memset(bytes, 0, sizeof bytes);
    bytes[12] = (uint8_t)(type >> 8);
    bytes[13] = (uint8_t)type;
    return (struct rte_mbuf){.buf_addr = bytes, .data_len = n, .pkt_len = n, .nb_segs = 1};
}

static const struct tunnel *tunnel_of(uint8_t kind, uint8_t family, bool keyed)
{
    struct tunnel_settings s = {.id = {.kind = kind, .family = family, .key = keyed ? 7 : 0},
                                .keyed = keyed,
                                .by_linux = true};
    uint16_t taken;

    memset(s.id.local, 1, family == IP4 ? 4 : 16);
    memset(s.id.remote, 2, family == IP4 ? 4 : 16);
    return tunnel_get(tunnel_new(&s, &taken));
}

static int close_table(void **state)
{
    rcu_barrier();
    tunnel_table_fini();
    return 0;
}

#define back_test(name) unit_test_of(name, NULL, close_table)

back_test(it_goes_from_the_remote_to_the_local_end)
{
    struct rte_mbuf m = frame(0x0800, 14 + 20);
    struct tunnel_back b;
    const uint8_t *ip = b.bytes + 14;

    assert_true(tunnel_back_make(&b, tunnel_of(TUNNEL_GRE, IP4, true), &m, mac));
    assert_int_equal(b.size, 14 + 20 + 8);
    assert_int_equal(b.skip, 14);
    assert_memory_equal(b.bytes, mac, 6);
    assert_memory_equal(b.bytes + 12, "\x08\x00\x45", 3);
    assert_memory_equal(ip + 2, "\0\x30", 2); // 48 bytes
    assert_memory_equal(ip + 8, "\x40\x2f", 2);
    assert_memory_equal(ip + 12, "\2\2\2\2\1\1\1\1", 8);
    assert_int_equal(checksum_finish(checksum_add(0, ip, 20)), 0);
    assert_memory_equal(ip + 20, "\x20\0\x08\0\0\0\0\7", 8);
    assert_int_equal(b.header.flags, 0);
}

back_test(ip_in_ip_has_the_protocol_of_what_it_carries)
{
    struct tunnel_back b;
    const struct tunnel *t = tunnel_of(TUNNEL_IPIP, IP6, false);
    struct rte_mbuf m = frame(0x0800, 14 + 20);

    assert_true(tunnel_back_make(&b, t, &m, mac));
    assert_memory_equal(b.bytes + 14 + 4, "\0\x14\x04\x40\2\2", 6);
    m = frame(0x86dd, 14 + 40);
    assert_true(tunnel_back_make(&b, t, &m, mac));
    assert_memory_equal(b.bytes + 14 + 4, "\0\x28\x29\x40\2\2", 6);
    m = frame(0x0806, 14 + 28);
    assert_false(tunnel_back_make(&b, t, &m, mac));
}

back_test(a_redirect_does_not_reach_a_device_that_forwards_nothing)
{
    const struct tunnel *t = tunnel_of(TUNNEL_GRE, IP4, false);
    struct rte_mbuf m = frame(0x0800, 14 + 20 + 8);
    uint8_t *ip = rte_pktmbuf_mtod_offset(&m, uint8_t *, 14);
    struct tunnel_back b;

    ip[0] = 0x45;
    ip[9] = 1;
    ip[20] = 8;
    assert_true(tunnel_back_make(&b, t, &m, mac));
    ip[20] = 5;
    assert_false(tunnel_back_make(&b, t, &m, mac));
    ip[9] = 17;
    assert_true(tunnel_back_make(&b, t, &m, mac));
    ip[9] = 1;
    ip[0] = 0x4f; // beyond the end of the packet
    assert_true(tunnel_back_make(&b, t, &m, mac));
}

back_test(vxlan_carries_the_frame_and_the_kernel_adds_the_sum)
{
    struct rte_mbuf m = frame(0x0806, 42);
    struct tunnel_back b;

    assert_true(tunnel_back_make(&b, tunnel_of(TUNNEL_VXLAN, IP6, false), &m, mac));
    assert_int_equal(b.skip, 0);
    assert_int_equal(b.size, 14 + 40 + 16);
    assert_int_equal(b.header.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    assert_int_equal(b.header.csum_start, 14 + 40);
    uint8_t *udp = b.bytes + 14 + 40;
    assert_memory_equal(udp + 2, "\x12\xb5\0\x3a", 4); // 4789, 58 bytes
    // Only the sum of the pseudo header: the rest of the datagram must still be added.
    uint16_t have, want = (uint16_t)~checksum_finish(checksum_pseudo6(udp - 32, udp - 16, 58, 17));
    memcpy(&have, udp + 6, sizeof have);
    assert_int_equal(have, want);
}

back_test(it_goes_by_the_way_to_the_remote_end)
{
    struct iface *i = iface_get(1), *by = iface_get(2);
    struct tunnel *t = (struct tunnel *)(uintptr_t)tunnel_of(TUNNEL_GRE, IP4, false);
    uint16_t number = (uint16_t)(t - tunnel_get(0));

    i->id = 1;
    by->id = 2;
    by->kind = IFACE_PORT;
    i->kind = IFACE_TUNNEL;
    i->port = tunnel_port(number);
    i->vlan = tunnel_vlan(number);
    assert_int_equal(tunnel_back_iface(by->id), by->id);
    assert_int_equal(tunnel_back_iface(i->id), 0);
    tunnel_set_out(t, by->id);
    assert_int_equal(tunnel_back_iface(i->id), by->id);
    tunnel_set_out(t, i->id); // a loop must end, too
    assert_int_equal(tunnel_back_iface(i->id), 0);
    t->by_linux = false;
    assert_int_equal(tunnel_back_iface(i->id), i->id);
}

int main(void)
{
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    int r = iface_table_init() ? 1 : unit_tests_run(NULL, NULL);
    iface_table_fini();
    rcu_fini();
    return r;
}
