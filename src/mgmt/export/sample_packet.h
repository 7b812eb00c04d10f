// SPDX-License-Identifier: BSD-3-Clause
// sample_packet.h - reads the flow fields of a sampled frame
//
// Of a frame with labels (MPLS), the IP packet below them. Frames come from outside and may be cut:
// missing fields are 0. Any thread; no state.
#ifndef EXPORT_SAMPLE_PACKET_H
#define EXPORT_SAMPLE_PACKET_H

#include <stdint.h>

#include "base/ip.h"

struct flow_key;

#define SAMPLE_LABELS 4

// Labels, class and bottom bits of the outermost entries of a stack (RFC 3032), as received.
struct sample_stack {
    uint8_t n; // entries of the stack
    uint8_t entry[SAMPLE_LABELS][3];
};

struct sample_packet {
    struct ip_addr src, dst; // family 0 = not IP
    uint16_t sport, dport;   // host order; ICMP: 0, type << 8 | code; later fragments: 0
    uint8_t proto, tos, tcp_flags;
    uint32_t length;         // of the IP packet, from its header
    struct sample_stack labels;
};
void sample_packet_read(const uint8_t *frame, uint32_t n, struct sample_packet *p);
void sample_packet_key(const struct sample_packet *p, struct flow_key *key); // without interfaces

#endif
