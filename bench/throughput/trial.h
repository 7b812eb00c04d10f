// SPDX-License-Identifier: BSD-3-Clause
// trial.h - one trial: send at a rate, receive, say what became of it
//
// One thread polls both ports. A token clock paces: packet k of a direction is due at begin + k /
// rate, and is sent when the loop next comes by. If more than `burst` packets are due at once (the
// thread was away), those beyond are skipped, not made up for, so the device under test never sees
// a burst larger than asked. Every packet is either sent, refused by the port (its ring was full:
// with memif and vhost that ring is the receive queue of the device under test), or skipped; the
// offered load is what was sent. A refused packet is not sent again and takes no number.
//
// Latency is from just before a burst is written to just after the burst in
// which it came was read. Of a packet that was under way while the thread was away for more than 50
// us nothing is known, and it is counted as unseen instead: the tester must not measure itself.
// Jitter is the difference to the packet before it, in absolute value (RFC 3393, for pairs with
// consecutive numbers).
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
    double then_rate;       // then at this one (RFC 2544, 26.5) …
    double then_seconds;    // … for this long, 0 = not at all
    uint64_t count;         // end after so many packets, 0 = no limit
    unsigned burst;         // packets sent at once, at most
    unsigned slice_ms;      // part of the time in which losses are counted together
    unsigned wait_ms;       // without a packet, before what is missing is lost
    bool from[DIRECTIONS];  // which ports send
    bool live;              // a line of JSON every second
    bool histogram;         // all of it in the result
    struct frame_plan plan;
};

struct direction { // packets that go into the device at port d and are expected at the other one
    struct stream stream;
    uint64_t sent, refused, skipped;
    uint64_t due_at, interval; // in 2^-16 cycles after the beginning
    uint64_t received_bytes, corrupted, foreign; // bytes with FCS
    uint64_t came_at, quiet; // TSC of the last packet; longest time between two
    uint64_t latency_before, number_before, unseen;
    struct arrival arrival;
    struct slices slices;
    struct histogram latency, jitter;
};

struct trial {
    uint16_t port[DIRECTIONS];
    bool starts_anew[DIRECTIONS]; // a port that is started again when its link is lost
    struct rte_mempool *pool; // zeroed buffers to send
    uint16_t number;
    struct direction direction[DIRECTIONS];
    uint64_t begun, seconds_at,
        link_at; // TSC: of the beginning, the next live line, the next look at the links
    uint64_t sending, away;     // cycles: of sending; longest time between two polls
    uint64_t polled_at, back_at; // TSC of the last poll, and of the first after an absence
};

// Runs the trial and prints its result, one line of JSON. Never fails: what goes wrong is in the
// numbers.
void trial_run(struct trial *t, const struct trial_spec *spec);

#endif
