// SPDX-License-Identifier: BSD-3-Clause
// multicast_fixture.h - interfaces, routes and streams for path tests of multicast
//
//     interfaces();
//     ROUTE("192.0.2.1", "239.129.2.3", 0, one, 1, sub, 1);
//     struct frame f = send_one(0, &stream4);
//     assert_copy(1, one, &f);
//     nothing_left();
#ifndef MULTICAST_FIXTURE_H
#define MULTICAST_FIXTURE_H

#include "harness.h"
#include "table/multicast.h"

extern uint16_t in, one, two, sub; // interfaces of port 0, 1, 2, and VLAN 7 of port 1
void interfaces(void);

extern const uint8_t group_mac[6], group6_mac[6];
extern const struct ip_spec stream4,
    stream6; // from 192.0.2.1 to 239.129.2.3, from 2001:db8::1 to ff1e::abcd:1234; TTL 20

struct multicast_key key(const char *source, const char *group); // source NULL = any
// out: pairs of interface and threshold, ended by interface 0. Packets arrive on `in`.
void route(uint16_t vr, const char *source, const char *group, unsigned flags, const uint16_t *out);
#define ROUTE(source, group, flags, ...)                                                           \
    route(VR_DEFAULT, source, group, flags, (const uint16_t[]){__VA_ARGS__, 0})
const struct multicast_counter *counter(const char *source, const char *group);
void join(uint16_t iface, const char *group); // the host itself
void daemon_on(uint16_t iface);               // a routing daemon of both families

struct frame send_one(unsigned port, const struct ip_spec *s); // returns the sent frame
// The port's next frame is the sent one as it must leave by the interface: complete, with the TTL
// one lower.
void assert_copy(unsigned port, uint16_t iface, const struct frame *sent);
void nothing_left(void); // no port has a frame

#endif
