// SPDX-License-Identifier: BSD-3-Clause
// forwarder.h - the thread that forwards packets, run to completion
//
// A forwarder polls the receive queues of its plan (table/plan.h) and its own inject ring, passes
// each burst through the stages in the order of path.c, and sends the survivors. It reads the
// tables and writes only its own counters and rings. One thread owns one forwarder; it never waits,
// so tests step several from one thread.
#ifndef FORWARDER_FORWARDER_H
#define FORWARDER_FORWARDER_H

#include <stdint.h>

#include "table/packet_trace.h"

struct forwarder;

// Main function of forwarder thread `(uintptr_t)arg`: polls until forwarder_slot[i].stop; sleeps as
// plan_idle_mode allows.
void forwarder_main(void *arg);

// --- parts of forwarder_main, for tests and benchmarks ---

// Makes forwarder `index`, which counts into the calling thread's counter block. NULL with errno.
struct forwarder *forwarder_new(unsigned index);
void forwarder_free(struct forwarder *f);
// Polls every receive queue of the plan and the inject ring once. Returns the number of packets
// taken. When it returns, all of them have been sent, dropped, or put into a ring, or wait for
// their lookup (table/lookaside.h).
unsigned forwarder_poll(struct forwarder *f);
// After a poll: reports quiescence to RCU, unless packets wait for their lookup, for up to 1 ms.
void forwarder_rest(struct forwarder *f);

// --- explain.c: predicts what happens to a packet (table/packet_trace.h) ---

#define EXPLAIN_FRAME_MAX 16384u
// -EINVAL: frame empty or too large; -ENOBUFS: no buffers now. `p`: see packet_trace_init(). `t`:
// NULL, or a trial (table/trial.h): the packet also meets full token buckets.
int forwarder_explain(uint16_t port, const void *frame, uint32_t n, const struct trial *t,
                      struct packet_trace *p);
void forwarder_explain_fini(void); // control

#endif
