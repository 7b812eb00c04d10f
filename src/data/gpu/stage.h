// SPDX-License-Identifier: BSD-3-Clause
// stage.h - bursts whose lookups a GPU does, behind the hook of the forwarders (table/lookaside.h)
//
// A burst of a virtual router that uses the GPU (use.h) is parked before its lookup, counted as
// held. At the end of the poll parked bursts go to the device (batch.c), in one batch per family.
// Answered bursts continue, in the order in which they were parked.
//
// Invariants:
//   P1  bursts of virtual routers that use the GPU continue in the order in which they were parked;
//       a burst that needs no answer waits behind bursts that do; and so does any burst behind one
//       that also has packets of others;
//   P2  no burst waits longer than max-latency, as long as the forwarder polls: then the CPU looks
//       it up, and a late answer is ignored;
//   P3  a forwarder with parked bursts is not quiescent for RCU, so control may change or delete
//       anything without regard to parked packets. After 1 ms the forwarder makes them continue;
//   P4  a batch is sent only while the device has the current tables. So an answer names nothing
//       that was freed before the forwarder was last quiescent.
#ifndef GPU_STAGE_H
#define GPU_STAGE_H

#include <rte_cycles.h>

#include "forwarder/state.h"
#include "gpu/use.h"

#define GPU_PROBES 8
#define GPU_OWN_EVERY 32
#define GPU_SAMPLE 64 // one answer in so many is verified

struct gpu_window { // measurements of this window
    uint64_t cpu_cycles, cpu_packets, gpu_cycles, gpu_packets, answers, late;
    uint32_t until_own, probes;
    enum gpu_verdict verdict; // of the previous window
};

struct gpu_parked_burst {
    uint64_t since; // TSC when it was parked
    uint64_t batch; // serial; 0: not sent
    uint16_t at;    // index of its first packet there
    bool answered;  // by the device or not: only waits for earlier bursts
    bool foreign;   // some of its packets only wait for earlier bursts
    struct burst b;
};

#define GPU_RING (GPU_PARKED_MAX + 1) // one continues while the others wait
struct gpu_parked { // bursts of one forwarder that wait, oldest first
    struct gpu_use *use;
    struct forwarder *f;
    struct gpu_count *count;
    struct gpu_queue *queue;
    uint32_t head, n;
    uint32_t foreign;      // number of foreign bursts: all others wait behind these
    uint32_t until_sample; // packets whose answers are not verified
    uint64_t serial;       // of the last batch sent
    uint64_t rested;       // TSC of the last quiescent state
    uint64_t window_begun; // TSC
    struct gpu_window window;
    struct gpu_parked_burst ring[GPU_RING];
};

static inline struct gpu_parked_burst *gpu_parked_at(struct gpu_parked *p, uint32_t k)
{
    return &p->ring[(p->head + k) % GPU_RING];
}

// --- stage.c ---

extern const struct lookaside gpu_lookaside; // all but `work`
// Lets the CPU look it up, unless that has been done, so that the burst may continue.
void gpu_answer_by_cpu(struct gpu_parked *p, struct gpu_parked_burst *e, enum gpu_cause why);

// --- batch.c ---

void gpu_send(struct gpu_parked *p);    // all unsent bursts
void gpu_receive(struct gpu_parked *p); // all available answers

#endif
