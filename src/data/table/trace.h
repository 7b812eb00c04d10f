// SPDX-License-Identifier: BSD-3-Clause
// trace.h - what the stages did with real packets, a bounded number of them
//
// One trace at a time: a watch at rx (table/watch.h, WATCH_TO_TRACE), which chooses the packets,
// and an array of `count` packet traces. A forwarder that receives a packet which the watch wants
// takes the next one, sends the packet through the stages alone, and marks it as written. When all
// are taken, nothing more is traced.
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
int trace_begin(unsigned watch, unsigned count); // 0; -EBUSY: there is one; -ENOMEM
void trace_end(void); // after a grace period its memory goes back; nothing when there is none
const struct packet_trace *trace_at(unsigned i);      // NULL: not written yet

// --- forwarders, RCU readers ---
// Room for a packet received by `port`; NULL: it is not wanted, or all are taken. trace_done()
// when it is written.
struct packet_trace *trace_take(uint16_t port, struct rte_mbuf *m, uint16_t iface);
void trace_done(struct packet_trace *p);

#endif
