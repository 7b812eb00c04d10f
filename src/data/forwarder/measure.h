// SPDX-License-Identifier: BSD-3-Clause
// measure.h - measurements on a timed burst: cycles of each stage, depth of its queue, latency
//
// Called by path.c for only one burst in LATENCY_TIMED. The cycles since the previous stage go to
// the stage's counter (`show thread stages`); if configured, one timed burst in so many is also
// measured from its receive queue to the transmit queues (table/latency.h).
#ifndef FORWARDER_MEASURE_H
#define FORWARDER_MEASURE_H

#include "forwarder/state.h"
#include "table/latency.h"

// Starts timing a burst of n packets, taken from q since f->lap.
void measure_start(struct forwarder *f, const struct plan_rx *q, unsigned n);
// n packets have passed a stage.
void measure_stage(struct forwarder *f, enum stage stage, unsigned n);
// Sends the n packets left by the burst, and records their latency for each port.
void measure_tx_flush(struct forwarder *f, unsigned n);

#endif
