// SPDX-License-Identifier: BSD-3-Clause
// multicast_fixture.c - see multicast_fixture.h
#include "multicast_fixture.h"

#include <arpa/inet.h>

uint16_t in, one, two, sub;

const uint8_t group_mac[6] = {0x01, 0, 0x5e, 1, 2, 3}; // of 239.129.2.3, without its top 9 bits
const uint8_t group6_mac[6] = {0x33, 0x33, 0xab, 0xcd, 0x12, 0x34};
const struct ip_spec stream4 = {
    .src = "192.0.2.1", .dst = "239.129.2.3", .dst_mac = group_mac, .ttl = 20};
const struct ip_spec stream6 = {
    .src = "2001:db8::1", .dst = "ff1e::abcd:1234", .dst_mac = group6_mac, .ttl = 20};

void interfaces(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    one = rig_iface(1, 0, VR_DEFAULT);
    sub = rig_iface(1, 7, VR_DEFAULT);
    two = rig_iface(2, 0, VR_DEFAULT);
}

struct multicast_key key(const char *source, const char *group)
{
    struct multicast_key k = {.family = strchr(group, ':') ? IP6 : IP4};

    assert_int_equal(inet_pton(k.family == IP4 ? AF_INET : AF_INET6, group, k.group), 1);
    if (source)
        assert_int_equal(inet_pton(k.family == IP4 ? AF_INET : AF_INET6, source, k.source), 1);
    return k;
}

void route(uint16_t vr, const char *source, const char *group, unsigned flags, const uint16_t *out)
{
    struct multicast_entry e = {.key = key(source, group), .in = in, .flags = (uint8_t)flags};

    for (; *out; out += 2)
        e.out[e.n_out++] = (struct multicast_out){.iface = out[0], .ttl = (uint8_t)out[1]};
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(vr, &e), 0);
}

const struct multicast_counter *counter(const char *source, const char *group)
{
    struct multicast_key k = key(source, group);

    return multicast_find(multicast_table[VR_DEFAULT][k.family == IP6], &k)->counter;
}

void join(uint16_t iface, const char *group)
{
    struct multicast_entry e = {.key = key(NULL, group), .flags = MULTICAST_JOIN};

    e.key.iface = iface;
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(VR_DEFAULT, &e), 0);
}

void daemon_on(uint16_t iface)
{
    router_role(ROLE_RIB_MANAGER);
    multicast_daemon_set(iface, IP4, true);
    multicast_daemon_set(iface, IP6, true);
}

struct frame send_one(unsigned port, const struct ip_spec *s)
{
    struct frame f = frame_ip(s);

    rig_forward(port, &f);
    return f;
}

void assert_copy(unsigned port, uint16_t iface, const struct frame *sent)
{
    const struct iface *i = iface_get(iface);
    unsigned head = i->outer_vlan ? 22 : i->vlan ? 18 : 14;
    struct frame want = *sent, got;

    assert_true(rig_receive(port, &got));
    bool four = want.b[12] == 0x08;
    want.b[14 + (four ? 8 : 7)]--;
    if (four)
        ip4_fix_checksum(&want);
    memcpy(want.b + 6, i->mac, 6);
    assert_int_equal(got.n, want.n + head - 14);
    assert_memory_equal(got.b, want.b, 12);
    if (i->outer_vlan)
        assert_memory_equal(got.b + 12, ((uint8_t[]){0x88, 0xa8, 0, (uint8_t)i->outer_vlan}), 4);
    if (i->vlan)
        assert_memory_equal(got.b + head - 6, ((uint8_t[]){0x81, 0, 0, (uint8_t)i->vlan}), 4);
    assert_memory_equal(got.b + head - 2, want.b + 12, want.n - 12);
    if (four)
        assert_true(frame_is_ip4_sound(&got));
}

void nothing_left(void)
{
    for (unsigned p = 0; p < RIG_PORTS; p++)
        assert_int_equal(rig_discard(p), 0);
}
