// SPDX-License-Identifier: BSD-3-Clause
// gpu_stage.h - bursts whose lookups a GPU does
//
// A burst of a virtual router that uses the GPU (table/gpu.h) is parked before its lookup, counted
// as held. At the end of the poll parked bursts go to the device (gpu_batch.c), in one batch per
// family. Answered bursts continue, in the order in which they were parked.
//
// Invariants:
//   P1  bursts of virtual routers that use the GPU continue in the order in which they were parked;
//       a burst that needs no answer waits behind bursts that do; and so does any burst behind one
//       that also has packets of others;
//   P2  no burst waits longer than max-latency, as long as the forwarder polls: then the CPU looks
//       it up, and a late answer is ignored;
//   P3  a forwarder with parked bursts is not quiescent for RCU (forwarder_rest), so control may
//       change or delete anything without regard to parked packets. After 1 ms the forwarder makes
//       them continue;
//   P4  a batch is sent only while the device has the current tables. So an answer names nothing
//       that was freed before the forwarder was last quiescent.
#ifndef FORWARDER_GPU_STAGE_H
#define FORWARDER_GPU_STAGE_H

#include "forwarder/state.h"

// f->gpu_use is not NULL. True: b is parked, or empty now. False: the CPU has to look it up now,
// unless b->found. `redirects`: f->redirected belongs to b.
bool gpu_park(struct forwarder *f, struct burst *b, bool redirects);
// Once per poll, f->gpu_use is not NULL: sends, receives, lets bursts continue. Returns the number
// of packets that continued, plus waiting batches and bursts.
unsigned gpu_serve(struct forwarder *f);
// Makes all parked bursts continue; not to be called within a stage.
void gpu_drain(struct forwarder *f);
// Switches to another GPU in use, or none.
void gpu_change(struct forwarder *f, struct gpu_use *use);
// First thing after a quiescent state: f's GPU may be gone.
static inline void gpu_look(struct forwarder *f)
{
    struct gpu_use *use = gpu_now();

    if (unlikely(use != f->gpu_use))
        gpu_change(f, use);
}
// At thread end: leaves nothing parked and no batch in flight.
void gpu_end(struct forwarder *f);

#endif
