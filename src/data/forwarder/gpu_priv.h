// SPDX-License-Identifier: BSD-3-Clause
// gpu_priv.h - shared by gpu_stage.c, gpu_list.c and gpu_batch.c: the ring of parked bursts
#ifndef FORWARDER_GPU_PRIV_H
#define FORWARDER_GPU_PRIV_H

#include <rte_cycles.h>

#include "forwarder/gpu_stage.h"

#define GPU_PROBES 8
#define GPU_OWN_EVERY 32

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

// Returns the reason why the CPU must do the work on this burst, or GPU_CAUSES for the device.
// GPU_BY_SPLIT with until_own 0: to be timed.
enum gpu_cause gpu_why_cpu(struct forwarder *f, enum gpu_work work);
// Appends b to the ring; the oldest burst continues if the ring is full.
struct gpu_parked_burst *gpu_park_last(struct forwarder *f, const struct burst *b,
                                       enum gpu_work work);
// Lets the CPU do the work, so that the burst may continue.
void gpu_answer_by_cpu(struct forwarder *f, struct gpu_parked_burst *e, enum gpu_cause why);

// --- gpu_list.c ---

// Makes the keys of its packets. Returns false if some have none, so that the CPU has to do it.
bool gpu_list_keys(const struct gpu_parked_burst *e, uint8_t *key);

// --- gpu_batch.c ---

void gpu_send(struct forwarder *f);    // all unsent bursts
void gpu_receive(struct forwarder *f); // all available answers

#endif
