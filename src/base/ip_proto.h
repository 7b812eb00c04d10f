// SPDX-License-Identifier: BSD-3-Clause
// ip_proto.h - lengths of IP headers and protocol numbers (IANA)
#ifndef BASE_IP_PROTO_H
#define BASE_IP_PROTO_H

#define IP4_HDR 20u
#define IP6_HDR 40u
enum {
    PROTO_HOPOPTS = 0,
    PROTO_ICMP = 1,
    PROTO_IGMP = 2,
    PROTO_IP4 = 4,
    PROTO_TCP = 6,
    PROTO_UDP = 17,
    PROTO_IP6 = 41,
    PROTO_ROUTING = 43,
    PROTO_FRAGMENT = 44,
    PROTO_RSVP = 46,
    PROTO_GRE = 47,
    PROTO_ICMP6 = 58,
    PROTO_DSTOPTS = 60,
    PROTO_EIGRP = 88,
    PROTO_OSPF = 89,
    PROTO_PIM = 103,
    PROTO_VRRP = 112,
    PROTO_SCTP = 132,
    PROTO_UDPLITE = 136
};

#endif
