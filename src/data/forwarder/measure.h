// SPDX-License-Identifier: BSD-3-Clause
// measure.h - what a timed burst tells: cycles of each stage, depth of its queue, latency
//
// Called by path.c, for one burst in LATENCY_TIMED only. The cycles since the stage before go to
// the stage's counter (`show thread stages`); of timed bursts, again one in so many is measured
// from its receive queue to the transmit queues (table/latency.h), when that is configured.
#ifndef FORWARDER_MEASURE_H
#define FORWARDER_MEASURE_H

#include "forwarder/state.h"
#include "table/latency.h"

// A burst of n packets, taken from q since f->lap, is to be timed.
void measure_start(struct forwarder *f, const struct plan_rx *q, unsigned n);
// n packets have passed a stage.
void measure_stage(struct forwarder *f, enum stage stage, unsigned n);
// Sends what the burst has left, n packets; for each port, how long they were here.
void measure_tx_flush(struct forwarder *f, unsigned n);

#endif
