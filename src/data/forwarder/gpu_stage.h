// SPDX-License-Identifier: BSD-3-Clause
// gpu_stage.h - bursts whose lookups a GPU does
//
// A burst of a virtual router that uses the GPU (table/gpu.h) is parked before its lookup, counted
// as held. At the end of the poll the addresses of all that were parked go to the device in one
// batch of each family; bursts whose answers are there go on, in the order in which they came.
//
// Always true:
//   P1  bursts of virtual routers that use the GPU go on in the order in which they were parked;
//       one that needs no answer waits behind those that do;
//   P2  none waits longer than max-latency, as long as the forwarder polls: then the CPU looks up,
//       and the answer, when it comes, is not wanted any more;
//   P3  a forwarder with parked bursts is not quiescent for RCU (forwarder_rest), so whatever
//       control changes or deletes, it need know nothing of parked packets. After 1 ms it makes
//       them go;
//   P4  a batch is sent only while the device has what the tables are. So an answer names nothing
//       that was freed before the forwarder was quiescent last.
#ifndef FORWARDER_GPU_STAGE_H
#define FORWARDER_GPU_STAGE_H

#include "forwarder/state.h"

// f->gpu_use is not NULL. True: b is parked, or none of it is left. False: it is to be looked up by
// the CPU now, unless b->found. `redirects`: f->redirected is of b.
bool gpu_park(struct forwarder *f, struct burst *b, bool redirects);
// Once a poll, f->gpu_use is not NULL: sends, receives, lets bursts go on. How many packets went
// on, and batches and bursts wait.
unsigned gpu_serve(struct forwarder *f);
// All that are parked go on; outside of the stages.
void gpu_drain(struct forwarder *f);
// Another one is in use from now on, or none.
void gpu_change(struct forwarder *f, struct gpu_use *use);
// Before anything else after a quiescent state: the one that f has may be gone.
static inline void gpu_look(struct forwarder *f)
{
    struct gpu_use *use = gpu_now();

    if (unlikely(use != f->gpu_use))
        gpu_change(f, use);
}
// At the end of the thread: nothing is parked, and no batch is on the way any more.
void gpu_end(struct forwarder *f);

#endif
