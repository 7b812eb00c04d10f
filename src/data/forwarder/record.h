// SPDX-License-Identifier: BSD-3-Clause
// record.h - records the effect of the stages on a packet that passes them alone
//
//     record_begin(f, trace, port, m)
//     each stage, then record_stage()        path.c, in its recorded form
//     record_end()                           after the flush
//
// The stages are not aware of it: record_stage() compares the forwarder's collections and counters
// before and after each stage, so the record shows real effects. It works only while nothing but
// that packet, and its consequences, is inside the forwarder.
#ifndef FORWARDER_RECORD_H
#define FORWARDER_RECORD_H

#include <stdint.h>

#include "forwarder/state.h"
#include "table/packet_trace.h"

void record_begin(struct forwarder *f, struct packet_trace *p, uint16_t port,
                  const struct rte_mbuf *m);
// The packet, alone in f->rx, comes in once more, by `port`.
void record_again(struct forwarder *f, uint16_t port);
// Records a finished stage. `b`: its burst; NULL: f->rx (ether_in).
void record_stage(struct forwarder *f, enum stage stage, const struct burst *b);
void record_end(struct forwarder *f);
// Records that a ring or queue refused a packet that was sent, held or punted.
void record_refused(struct forwarder *f, enum drop_reason reason);

// Passes each packet of f->rx that a trace wants through the stages alone, recorded, preceded by
// the earlier packets as a burst. Packets after the last one stay in f->rx; returns their number.
unsigned record_traced(struct forwarder *f, uint16_t port, struct plan_rx_stats *stats);

#endif
