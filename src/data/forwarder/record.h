// SPDX-License-Identifier: BSD-3-Clause
// record.h - recording what the stages do with a packet that takes them alone
//
//     record_begin(f, trace, port, m)
//     each stage, then record_stage()        path.c, in its recorded form
//     record_end()                           after the flush
//
// The stages know nothing of it: record_stage() compares what the forwarder has collected and
// counted before and after each of them, so the record says what was done. It works only while
// nothing but that packet, and what it causes, is inside the forwarder.
#ifndef FORWARDER_RECORD_H
#define FORWARDER_RECORD_H

#include <stdint.h>

#include "forwarder/state.h"
#include "table/packet_trace.h"

void record_begin(struct forwarder *f, struct packet_trace *p, uint16_t port,
                  const struct rte_mbuf *m);
// The packet, alone in f->rx, comes in once more, by `port`.
void record_again(struct forwarder *f, uint16_t port);
// Records a stage that is done. `b`: its burst; NULL: f->rx (ether_in).
void record_stage(struct forwarder *f, enum stage stage, const struct burst *b);
void record_end(struct forwarder *f);
// Records that a ring or queue refused what was sent, held or punted.
void record_refused(struct forwarder *f, enum drop_reason reason);

// Sends each packet of f->rx that a trace wants through the stages alone, recorded, and before it,
// as a burst, those that came before it. Those behind the last one stay in f->rx: how many.
unsigned record_traced(struct forwarder *f, uint16_t port, struct plan_rx_stats *stats);

#endif
