// SPDX-License-Identifier: BSD-3-Clause
// gpu_stage.h - bursts whose lookups, or access lists, a GPU does
//
// A burst of a virtual router that uses the GPU (table/gpu.h) is parked before its lookup, counted
// as held; one whose interfaces have an access list that the GPU has, before that list
// (gpu_list.c): behind the list it waits for its lookup, in the same place. At the end of the poll
// what was parked goes to the device (gpu_batch.c): addresses in one batch of each family, packets
// in one of each family and list. Bursts whose answers are there go on, in the order in which they
// were parked.
//
// Always true:
//   P1  bursts of virtual routers and of lists that use the GPU go on in the order in which they
//       were parked; one that needs no answer waits behind those that do; and so does any burst
//       behind one that has packets of others in it;
//   P2  none waits longer than max-latency, as long as the forwarder polls: then the CPU does it,
//       and the answer, when it comes, is not wanted any more;
//   P3  a forwarder with parked bursts is not quiescent for RCU (forwarder_rest), so whatever
//       control changes or deletes, it need know nothing of parked packets. After 1 ms it makes
//       them go;
//   P4  a batch is sent only while the device has what the tables, or the list, are. So an answer
//       names nothing that was freed before the forwarder was quiescent last. An answer by a list
//       that has changed since then is thrown away.
#ifndef FORWARDER_GPU_STAGE_H
#define FORWARDER_GPU_STAGE_H

#include "forwarder/state.h"

// f->gpu_use is not NULL. True: b is parked, or none of it is left. False: it is to be looked up by
// the CPU now, unless b->found. `redirects`: f->redirected is of b.
bool gpu_park(struct forwarder *f, struct burst *b, bool redirects);
// As acl_in, f->gpu_use is not NULL; none of b is left if it is parked.
void gpu_acl_in(struct forwarder *f, struct burst *b);
// acl_in of a burst that has waited for it: by the rules that the GPU has found, or by the CPU.
void gpu_decide(struct forwarder *f, struct gpu_parked_burst *e);
// It waits for its lookup next, if there is one to wait for; f->n_redirected: of e.
void gpu_park_again(struct forwarder *f, struct gpu_parked_burst *e);
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
