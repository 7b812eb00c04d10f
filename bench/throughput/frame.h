// SPDX-License-Identifier: BSD-3-Clause
// frame.h - the tester's test frames: writing and recognizing them
//
// A UDP datagram to the discard port (RFC 863) whose payload begins with a mark of 18 bytes, which
// just fits a 64-byte IPv4 frame:
//
//     magic 4 · trial 2 · number 4 · time stamp 8      host order: it returns to the same machine
//
// The rest is zero. The UDP checksum is always present and verified, so a changed byte anywhere
// after the Ethernet header is detected; the IPv4 header checksum is verified too. The IPv6 header
// is 20 bytes longer: a 64-byte frame becomes one of 84 (as in RFC 8219). A `size` includes the
// frame check sequence (4 bytes, never in memory), `bytes` do not.
#ifndef BENCH_THROUGHPUT_FRAME_H
#define BENCH_THROUGHPUT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

#define FRAME_FCS 4
#define FRAME_SIZE_MIN 64   // IPv4
#define FRAME_SIZE_MIN6 84  // IPv6
#define FRAME_SIZE_MAX 9618 // kamueed's largest MTU, 9600, and Ethernet
#define FRAME_HEAD 80       // most bytes of headers and mark
#define FRAME_SIZES_MAX 1024
#define FRAME_MIX 100

struct mark {
    uint32_t magic;
    uint16_t trial; // one of 32,768; direction in the lowest bit
    uint32_t number;
    uint64_t tsc;
} __attribute__((packed));

struct head { // complete except for destination, lengths, mark and checksums
    uint8_t byte[FRAME_HEAD];
    uint32_t ip_sum, udp_sum; // of the complete part
};

#define QUEUES_MAX 16

// Frames of one direction. Sizes, families and destinations each cycle independently. A destination
// always belongs to the same of `queues`, as with a NIC; the next frames use destinations of
// `queue`.
struct stream {
    uint8_t dst_mac[6], src_mac[6];
    struct ip_addr src[2]; // IPv4, IPv6
    ip4_t *dst4;
    uint8_t (*dst6)[16];
    uint32_t n_dst4, n_dst6;

    struct head head4, head6; // set by stream_begin
    uint16_t trial;
    uint32_t at_size, at_mix, at_dst4[QUEUES_MAX], at_dst6[QUEUES_MAX];
    uint32_t queue, queues; // 0 = one queue
};

struct frame_plan { // of a trial
    uint16_t bytes[FRAME_SIZES_MAX]; // used in turn
    uint32_t n_sizes;
    uint32_t percent6; // percentage of IPv6 frames
};

// Reads addresses, one per line, IPv4 and IPv6 mixed; 0 or -errno.
int stream_read_destinations(struct stream *s, const char *file);
// Sets MACs and sources, and restarts all cycles.
void stream_begin(struct stream *s, uint16_t trial);
// Writes the next frame and returns its length. The buffer must be zero after FRAME_HEAD bytes.
uint16_t stream_write(struct stream *s, const struct frame_plan *plan, uint8_t *frame,
                      uint64_t number, uint64_t tsc);

enum frame_is { FRAME_FOREIGN, FRAME_CORRUPT, FRAME_GOOD };
enum frame_is frame_read(const uint8_t *frame, size_t bytes, struct mark *mark);

#endif
