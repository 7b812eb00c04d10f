// SPDX-License-Identifier: BSD-3-Clause
// gpu_priv.h - shared by gpu_stage.c and gpu_batch.c: the ring of parked bursts
#ifndef FORWARDER_GPU_PRIV_H
#define FORWARDER_GPU_PRIV_H

#include <rte_cycles.h>

#include "forwarder/gpu_stage.h"

#define GPU_PROBES 8
#define GPU_OWN_EVERY 32
#define GPU_SAMPLE 64 // one answer in so many is verified

static inline struct gpu_count *gpu_counts(const struct forwarder *f)
{
    return &f->gpu_use->count[f->index];
}

static inline struct gpu_queue *gpu_queue_of(const struct forwarder *f)
{
    return f->gpu_use->queue[f->index];
}

static inline struct gpu_parked_burst *gpu_parked_at(struct gpu_parked *p, uint32_t k)
{
    return &p->ring[(p->head + k) % GPU_RING];
}

static inline uint64_t gpu_to_ns(const struct forwarder *f, uint64_t tsc)
{
    return (uint64_t)((double)tsc * f->gpu_use->ns_per_tsc);
}

// --- gpu_stage.c ---

// By the CPU, unless it has been done.
void gpu_look_up(const struct forwarder *f, struct burst *b);
// Lets the CPU look it up, so that the burst may continue.
void gpu_answer_by_cpu(struct forwarder *f, struct gpu_parked_burst *e, enum gpu_cause why);

// --- gpu_batch.c ---

void gpu_send(struct forwarder *f);    // all unsent bursts
void gpu_receive(struct forwarder *f); // all available answers

#endif
