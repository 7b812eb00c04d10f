// SPDX-License-Identifier: BSD-3-Clause
// drr.h - deficit round robin and nothing else: the least cost of choosing a packet
//
// Virtual routers take turns of a quantum of bytes (Shreedhar and Varghese, 1995); within a virtual
// router, the lowest class with packets goes first. No rates, limits, statistics or drops. A
// reference for queue_bench, not a queue manager.
#ifndef BENCH_QUEUE_DRR_H
#define BENCH_QUEUE_DRR_H

#include <stdint.h>

#define DRR_CLASSES 8u

struct drr;

struct drr *drr_make(unsigned vrs, unsigned packets_max, uint32_t quantum); // or the program ends
void drr_free(struct drr *d);
void drr_weight(struct drr *d, unsigned vr, unsigned weight); // quanta per turn; default 1
// The caller ensures that at most packets_max packets wait.
void drr_put(struct drr *d, void *packet, uint32_t len, unsigned vr, unsigned class);
unsigned drr_take(struct drr *d, void **packet, unsigned n);

#endif
