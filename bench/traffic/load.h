// SPDX-License-Identifier: BSD-3-Clause
// load.h - the packets that the measuring programs send, and what became of them
//
// A load packet is a UDP datagram with a magic number and a sequence number.
// The sender numbers packets without gaps; the receiver counts those that came
// and those that came late (after one with a higher number). Loss is what was
// sent and never came, so a trial ends with a time of rest before it is read.
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

#define LOAD_FRAME_MIN 60 // bytes of Ethernet without the checksum ("64-byte frame")
#define LOAD_FRAME_MAX 1514

struct load_packet { // what varies and what does not
    uint8_t dst_mac[6], src_mac[6];
    ip4_t src, dst;          // dst is the first destination
    uint32_t n_destinations; // consecutive addresses, one packet each in turn
    size_t bytes;            // of the frame, LOAD_FRAME_MIN..LOAD_FRAME_MAX
};

struct load_count {
    uint64_t sent, received, reordered;
    uint64_t highest; // sequence number seen, plus one
};

// Writes the frame of packet number `seq` (l->bytes bytes).
void load_write(const struct load_packet *l, uint8_t *frame, uint64_t seq);
// Is it a load packet? Then its sequence number.
bool load_read(const uint8_t *frame, size_t bytes, uint64_t *seq);
void load_receive(struct load_count *c, uint64_t seq);

// {"sent": …, "received": …, "lost": …, …} on stdout. `send_seconds`: how long sending took;
// `target`: packets/s asked for, 0 = as fast as possible.
void load_print(const struct load_count *c, double send_seconds, double target);

// "02:…" and "192.0.2.1" of a command line; end the program with a sentence when they are wrong.
void load_parse_mac(const char *text, uint8_t mac[6]);
ip4_t load_parse_ip4(const char *text);

#endif
