// SPDX-License-Identifier: BSD-3-Clause
// load.h - shared by programs that send numbered test frames by a packet socket
//
// The frames are the tester's (throughput/frame.h).
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "lib/bench.h"
#include "throughput/frame.h"
#include "traffic/netns.h"

extern struct stream load;
extern struct frame_plan load_plan; // frames of one size, 64 bytes

// Options: --send NS%DEV --to ROUTER-MAC --source A [--cpu N]
#define LOAD_OPTIONS                                                                               \
    OPTION_CALL("send", load_read_sender), OPTION_CALL("to", load_read_mac),                       \
        OPTION_CALL("source", load_read_source), OPTION_CALL("cpu", load_read_cpu)
void load_read_sender(const char *text);
void load_read_mac(const char *text);
void load_read_source(const char *text);
void load_read_cpu(const char *text);
bool load_is_complete(void); // all options but --cpu were given

// For programs that also receive: --receive NS%DEV --destination B
#define LOAD_RECEIVER_OPTIONS                                                                      \
    OPTION_CALL("receive", load_read_receiver), OPTION_CALL("destination", load_read_destination)
extern struct netns_place load_to;
extern struct ip_addr load_destination;
void load_read_receiver(const char *text);
void load_read_destination(const char *text);

// Sends to n consecutive addresses, one packet each in turn.
void load_set_destinations(ip4_t first, uint32_t n);
int load_open(void);     // opens the sending socket; the first frame is number 0
void load_pin(void);     // pins the calling thread by --cpu
bool load_read(const uint8_t *frame, size_t bytes, uint32_t *number); // false = not a test frame

#endif
