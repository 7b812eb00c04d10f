// SPDX-License-Identifier: BSD-3-Clause
// trial.h - one trial: sends at a rate, receives, and reports the result
//
// One thread polls both ports. A token clock paces: packet k of a direction is due at begin + k /
// rate, and is sent at the loop's next pass. If more than `burst` packets are due at once (the
// thread was preempted), the excess is skipped and not made up for, so the device under test never
// gets a burst larger than requested. Every packet is either sent, refused by the port (its ring
// was full: with memif and vhost that ring is the receive queue of the device under test), or
// skipped; the offered load is the sent packets. A refused packet is not sent again and takes no
// number.
//
// Latency is measured from just before a burst is written to just after the arriving burst was
// read. If the thread was preempted for more than 50 us while a packet was on its way, the packet
// counts as unseen instead: the tester must not measure itself. Jitter is the absolute difference
// to the previous packet's latency (RFC 3393, for pairs with consecutive numbers).
#ifndef BENCH_THROUGHPUT_TRIAL_H
#define BENCH_THROUGHPUT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "throughput/arrival.h"
#include "throughput/frame.h"
#include "throughput/histogram.h"

#define DIRECTIONS 2
#define TRIAL_BURST_MAX 64
#define TRIAL_SLICES_MAX 100000

struct rte_mempool;

struct trial_spec {
    double rate;            // packets/s of each direction, 0 = as fast as the ports take them
    double seconds;         // of sending at that rate
    double then_rate;       // then at this rate (RFC 2544, 26.5) …
    double then_seconds;    // … for this long, 0 = not at all
    uint64_t count;         // end after N packets, 0 = no limit
    unsigned burst;         // most packets sent at once
    unsigned slice_ms;      // interval in which losses are counted together
    unsigned wait_ms;       // without arrivals, before missing packets count as lost
    bool from[DIRECTIONS];  // which ports send
    bool live;              // one line of JSON per second
    bool histogram;         // in full in the result
    struct frame_plan plan;
};

struct direction { // packets into the device at port d, expected at the other port
    struct stream stream;
    uint64_t sent, refused, skipped;
    uint64_t due_at, interval; // in 2^-16 cycles after the start
    uint64_t received_bytes, corrupted, foreign; // bytes with FCS
    uint64_t came_at, quiet; // TSC of the last packet; longest time between two
    uint64_t latency_before, number_before, unseen;
    struct arrival arrival;
    struct slices slices;
    struct histogram latency, jitter;
};

struct trial {
    uint16_t port[DIRECTIONS];
    bool starts_anew[DIRECTIONS]; // port must be restarted after its link was lost
    struct rte_mempool *pool; // zeroed buffers to send
    uint16_t number;
    struct direction direction[DIRECTIONS];
    uint64_t begun, seconds_at,
        link_at; // TSC: of the start, the next live line, the next check of the links
    uint64_t sending, away;     // cycles: of sending; longest time between two polls
    uint64_t polled_at, back_at; // TSC of the last poll, and of the first after a pause
};

// Runs the trial and prints its result, one line of JSON. Never fails: errors show in the numbers.
void trial_run(struct trial *t, const struct trial_spec *spec);

#endif
