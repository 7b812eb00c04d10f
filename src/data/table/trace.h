// SPDX-License-Identifier: BSD-3-Clause
// trace.h - records of the way of a bounded number of real packets through the stages
//
// A trace is a watch at rx (table/watch.h, WATCH_TO_TRACE), which selects packets, and an array of
// `count` packet traces. A forwarder that receives a packet wanted by some traces sends it through
// the stages alone, records that in the next place of one trace, and copies it to the others. A
// trace with all places taken records nothing more.
//
// Written by control: trace_begin after the watch exists, trace_end before it is freed. Filled and
// read by every forwarder.
#ifndef TABLE_TRACE_H
#define TABLE_TRACE_H

#include <rte_mbuf.h>
#include <stdint.h>

#include "table/packet_trace.h"
#include "table/watch.h"

#define TRACE_COUNT_MAX 1000
#define TRACE_SNAP 256  // bytes kept of each frame
#define TRACE_ROOM 4096 // bytes for all frames of a packet

// --- control ---
int trace_begin(unsigned watch, unsigned count); // 0; -EBUSY: the watch has a trace; -ENOMEM
void trace_end(unsigned watch); // frees the memory after a grace period; no-op without a trace
const struct packet_trace *trace_at(unsigned watch, unsigned i); // NULL: not written yet

// --- forwarders, RCU readers ---
struct trace_places {
    unsigned n;
    struct packet_trace *of[WATCH_MAX]; // traces that want the same packet
};
// Takes places for a packet received on `port`; fill in the first, then call trace_done(). False:
// no trace wants the packet and has a free place.
bool trace_take(uint16_t port, struct rte_mbuf *m, uint16_t iface, struct trace_places *places);
void trace_done(const struct trace_places *places);

#endif
