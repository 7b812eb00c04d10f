// SPDX-License-Identifier: BSD-3-Clause
// queue.h - one forwarder's batches of addresses: to the device, and back in order
//
//     batch = {.kind}
//     if (gpu_queue_begin(q, &batch))            // room for keys, in memory that both can access
//         ... keys, which, n, user ...
//         gpu_queue_send(q, &batch, now);
//     while (gpu_queue_receive(q, &batch, now))  // in the order of sending
//         ... batch.value[0..n) ...
//
// Invariants:
//   Q1  every batch that was sent is received, once, in order;
//   Q2  with the values that its tables had when it was sent;
//   Q3  at the latest when gpu_queue_receive is called `timeout_ns` after it was sent.
//
// If the device does not answer a batch, this batch and all later ones are received without values,
// and the device is disabled for all queues (gpu_mirror_state). Then gpu_queue_begin returns false.
//
// One thread, except new and free, which the writer calls. Nothing here waits, allocates or locks.
#ifndef GPU_QUEUE_H
#define GPU_QUEUE_H

#include "gpu/mirror.h"

struct gpu_queue;

struct gpu_queue_settings {
    uint32_t batch;      // keys, 1..GPU_BATCH_MAX
    uint64_t timeout_ns; // of a batch
};

struct gpu_batch {
    enum gpu_kind kind;
    uint64_t version; // of the tables, set by begin
    uint8_t *key;     // see gpu_key_bytes
    uint16_t *which;  // number of each one's table, from gpu_mirror_add
    uint32_t n;
    void *user;
    // set by receive, valid until the next gpu_queue_begin:
    const uint16_t *value; // NULL: the device has failed
    uint64_t age_ns;
};

// NULL with errno: EINVAL, ENOMEM, ENOSPC (too many queues), ENODEV.
struct gpu_queue *gpu_queue_new(struct gpu_mirror *m, const struct gpu_queue_settings *settings);
void gpu_queue_free(struct gpu_queue *q);

// False: GPU_SLOTS batches are in progress, or the device lacks a change of the tables, or has
// failed.
bool gpu_queue_begin(struct gpu_queue *q, struct gpu_batch *b);
// False: the tables have changed since gpu_queue_begin; nothing was sent.
bool gpu_queue_send(struct gpu_queue *q, const struct gpu_batch *b, uint64_t now_ns);
bool gpu_queue_receive(struct gpu_queue *q, struct gpu_batch *b, uint64_t now_ns);
unsigned gpu_queue_waiting(const struct gpu_queue *q); // batches in progress

#endif
