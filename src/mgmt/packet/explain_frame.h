// SPDX-License-Identifier: BSD-3-Clause
// explain_frame.h - builds the frame for `explain` from the operator's input
#ifndef PACKET_EXPLAIN_FRAME_H
#define PACKET_EXPLAIN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

struct packet_spec {
    uint8_t src_mac[6], dst_mac[6];
    uint16_t vlan, outer_vlan; // 0 = no tag; outer_vlan of two tags
    uint16_t outer_tpid;       // EtherType of the outer tag
    struct ip_addr src, dst; // of one family
    uint8_t proto, ttl, tos;
    uint16_t sport, dport; // TCP, UDP, UDP-Lite, SCTP
    uint8_t icmp_type, icmp_code;
    uint8_t tcp_flags; // 0: SYN
    bool df, more;         // DF: IPv4
    uint16_t offset;       // of a fragment, in bytes; a multiple of 8
    uint32_t label;        // IPv6
    uint16_t size;         // bytes of the IP packet; smaller than its headers = no payload
};

#define EXPLAIN_SIZE_MAX 16000u
#define EXPLAIN_FRAME_ROOM (EXPLAIN_SIZE_MAX + 22)
// Writes the frame with correct checksums, padded to 60 bytes as on Ethernet, into
// EXPLAIN_FRAME_ROOM bytes at `frame`. Returns its length.
uint32_t explain_frame(const struct packet_spec *s, uint8_t *frame);
// Protocol number of "tcp" or "6"; "icmp" is that of the family; -1 if unknown.
int explain_protocol(const char *name, uint8_t family);

#endif
