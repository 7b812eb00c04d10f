// SPDX-License-Identifier: BSD-3-Clause
// explain_frame.h - the frame that `explain` asks about, made of what the operator says
#ifndef FEATURE_EXPLAIN_FRAME_H
#define FEATURE_EXPLAIN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

struct packet_spec {
    uint8_t src_mac[6], dst_mac[6];
    uint16_t vlan, outer_vlan; // 0 = no tag; of the outer of two
    uint16_t outer_tpid;       // its EtherType
    struct ip_addr src, dst; // of one family
    uint8_t proto, ttl, tos;
    uint16_t sport, dport; // TCP, UDP, UDP-Lite, SCTP
    uint8_t icmp_type;
    bool df, more;         // DF: IPv4
    uint16_t offset;       // of a fragment: bytes, a multiple of 8
    uint32_t label;        // IPv6
    uint16_t size;         // bytes of the IP packet; smaller than its headers = no payload
};

#define EXPLAIN_SIZE_MAX 16000u
#define EXPLAIN_FRAME_ROOM (EXPLAIN_SIZE_MAX + 22)
// Writes the frame, padded to 60 bytes as Ethernet does, all checksums right. `frame` has room for
// EXPLAIN_FRAME_ROOM bytes. How many it has.
uint32_t explain_frame(const struct packet_spec *s, uint8_t *frame);
// "tcp" or "6"; -1 when it is none. Of `icmp` the one of the family.
int explain_protocol(const char *name, uint8_t family);

#endif
