// SPDX-License-Identifier: BSD-3-Clause
// sflow_write.h - writes datagrams of sFlow version 5 (sflow.org/sflow_version_5.txt)
//
// Call sflow_begin, then write samples; `t` is the datagram. No I/O, no state.
#ifndef EXPORT_SFLOW_WRITE_H
#define EXPORT_SFLOW_WRITE_H

#include <stdint.h>

#include "base/ip.h"
#include "base/text.h"

#define SFLOW_DATAGRAM_MAX 1400
#define SFLOW_HEADER_MAX 128 // bytes of a packet

enum {
    SFLOW_OUT_UNKNOWN = 0,
    SFLOW_OUT_US = 0x3fffffff,
    SFLOW_OUT_DISCARDED = 0x40000000 /* | reason */
};
enum {
    SFLOW_DISCARD_NET_UNREACHABLE = 0,
    SFLOW_DISCARD_HOST_UNREACHABLE = 1,
    SFLOW_DISCARD_PROHIBITED = 13,
    SFLOW_DISCARD_UNKNOWN = 256
};

struct sflow_packet {
    uint32_t sequence, source, rate, pool, drops; // of the sampling interface
    uint32_t input, output;
    uint32_t length;      // of the frame, without FCS
    const uint8_t *frame; // start of the frame
    uint32_t kept;
    uint16_t vlan, priority; // as received
    struct ip_addr gateway;
    uint8_t src_len, dst_len; // prefix lengths of the routes to source and destination
};

struct sflow_counters {
    uint32_t sequence, source;
    uint32_t type; // ifType
    uint64_t speed_bps;
    bool admin_up, up, full_duplex, promiscuous;
    uint64_t in_bytes, out_bytes;
    uint32_t in_packets, in_discards, out_packets;
};

void sflow_begin(struct text *t, const struct ip_addr *agent, uint32_t sequence,
                 uint32_t uptime_ms); // without samples
void sflow_packet(struct text *t, const struct sflow_packet *p);
void sflow_counters(struct text *t, const struct sflow_counters *c);
unsigned sflow_samples(const struct text *t); // number of samples in the datagram
// Upper bound of the bytes of one more sample.
#define SFLOW_SAMPLE_MAX (60 + SFLOW_HEADER_MAX + 24 + 44)

#endif
