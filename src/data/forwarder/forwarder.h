// SPDX-License-Identifier: BSD-3-Clause
// forwarder.h - the thread that forwards packets, run to completion
//
// A forwarder polls the receive queues of its plan (table/plan.h) and its own
// inject ring, carries each burst of at most BURST_MAX packets through the
// stages in the order of path.c, and sends what is left. It reads the tables,
// writes its own counters and rings, and nothing else.
//
// One thread owns one forwarder. Tests step several of them from one thread:
// nothing here waits for anything.
#ifndef FORWARDER_FORWARDER_H
#define FORWARDER_FORWARDER_H

#include <stdint.h>

#include "table/packet_trace.h"

struct forwarder;

// Body of forwarder thread `(uintptr_t)arg`: polls until forwarder_slot[i].stop; sleeps as
// plan_idle_mode allows.
void forwarder_main(void *arg);

// --- the pieces of forwarder_main, for tests and benchmarks ---

// Forwarder `index` counts into the calling thread's counter block (thread_slot()). NULL with
// errno.
struct forwarder *forwarder_new(unsigned index);
void forwarder_free(struct forwarder *f);
// One poll of every receive queue of the plan and of the inject ring: the number of packets taken.
// Everything taken is sent, dropped, or in a ring when it returns.
unsigned forwarder_poll(struct forwarder *f);

// --- explain.c: what would happen to a packet (table/packet_trace.h) ---

#define EXPLAIN_FRAME_MAX 16384u
// -EINVAL: no frame, or a larger one; -ENOBUFS: no buffers now. `p`: as of packet_trace_init().
int forwarder_explain(uint16_t port, const void *frame, uint32_t n, struct packet_trace *p);
void forwarder_explain_fini(void); // control

#endif
