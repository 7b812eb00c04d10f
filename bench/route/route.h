// SPDX-License-Identifier: BSD-3-Clause
// route.h - the netlink message that installs or removes one route
//
// Main table, protocol BGP (186): the message of a routing daemon, without the daemon.
#ifndef BENCH_ROUTE_H
#define BENCH_ROUTE_H

#include <stdint.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "base/ip.h"

#define ROUTE_PROTOCOL 186
#define ROUTE_MESSAGE_MAX 128 // bytes, generously

struct route_hop {
    struct ip_addr gateway;
    char device[16];
    uint32_t ifindex; // of `device` in the namespace where the routes go
};

// "ADDRESS%DEVICE"; 0 or -EINVAL. ifindex is left 0.
int route_parse_hop(const char *text, struct route_hop *hop);

// Writes the message at `buf`. `type` is RTM_NEWROUTE or RTM_DELROUTE (`hop` unused); NLM_F_REQUEST
// is implied.
struct nlmsghdr *route_message(void *buf, const struct prefix *p, const struct route_hop *hop,
                               uint16_t type, uint16_t flags, uint32_t sequence);

#endif
