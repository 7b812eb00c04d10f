// SPDX-License-Identifier: BSD-3-Clause
// trace.h - what the stages did with real packets, a bounded number of them
//
// A trace is a watch at rx (table/watch.h, WATCH_TO_TRACE), which chooses the packets, and an array
// of `count` packet traces. A forwarder that receives a packet which some traces want sends it
// through the stages alone, records that in the next place of one, and copies it to the others.
// When all places of a trace are taken, it traces nothing more.
//
// Written by control: trace_begin after the watch is there, trace_end before it goes. Filled and
// read by every forwarder.
#ifndef TABLE_TRACE_H
#define TABLE_TRACE_H

#include <rte_mbuf.h>
#include <stdint.h>

#include "table/packet_trace.h"
#include "table/watch.h"

#define TRACE_COUNT_MAX 1000
#define TRACE_SNAP 256  // bytes kept of each frame
#define TRACE_ROOM 4096 // of all frames of a packet

// --- control ---
int trace_begin(unsigned watch, unsigned count); // 0; -EBUSY: the watch has one; -ENOMEM
void trace_end(unsigned watch); // after a grace period its memory is freed; nothing without one
const struct packet_trace *trace_at(unsigned watch, unsigned i); // NULL: not written yet

// --- forwarders, RCU readers ---
struct trace_places {
    unsigned n;
    struct packet_trace *of[WATCH_MAX]; // of traces that want the same packet
};
// Takes places for a packet received by `port`; the first is to be written, then trace_done().
// False: no trace wants the packet, or has a place.
bool trace_take(uint16_t port, struct rte_mbuf *m, uint16_t iface, struct trace_places *places);
void trace_done(const struct trace_places *places);

#endif
