// SPDX-License-Identifier: BSD-3-Clause
// queue.h - one forwarder's batches of addresses: to the device, and back in order
//
//     if (gpu_queue_begin(q, &batch))            // room for keys, in memory that both see
//         ... keys, which, n, family, user ...
//         gpu_queue_send(q, &batch, now);
//     while (gpu_queue_receive(q, &batch, now))  // in the order of sending
//         ... batch.value[0..n) ...
//
// Always true:
//   Q1  every batch that was sent is received, once, in order;
//   Q2  with values that its tables had since the last commit that had passed when it was sent;
//   Q3  at the latest when gpu_queue_receive is called `timeout_ns` after it was sent.
//
// A batch that the device does not answer, or of which a sample is wrong, is looked up on the CPU,
// as are all behind it, and the device is out of use for all queues (gpu_mirror_state). Then
// gpu_queue_begin returns false, and the caller looks up as if there were no device.
//
// One thread, but new and free, which are the writer's. Nothing here waits, allocates or locks; an
// emulated device's launches do.
#ifndef GPU_QUEUE_H
#define GPU_QUEUE_H

#include "gpu/mirror.h"

struct gpu_queue;

struct gpu_queue_settings {
    uint32_t batch;      // addresses, 1..GPU_BATCH_MAX
    bool persistent;     // the device serves the mailbox; else each batch is a launch
    uint64_t timeout_ns; // of a batch
    uint32_t sample;     // each n-th address is looked up on the CPU, too; 0: none
};

struct gpu_batch {
    uint8_t *key;    // network order: 4 bytes each (IPv4), or 16
    uint16_t *which; // table each, as gpu_mirror_add says
    uint32_t n, family;
    void *user;
    // received:
    const uint16_t *value; // until the next gpu_queue_begin
    uint64_t age_ns;
    bool by_cpu;
};

struct gpu_queue_stats {
    uint64_t batches, addresses; // received
    uint64_t cpu_batches;        // of them, looked up on the CPU
    uint64_t sampled, wrong;     // addresses
    uint64_t age_max_ns;
};

// NULL with errno: EINVAL, ENOMEM, ENOSPC (too many queues), ENODEV.
struct gpu_queue *gpu_queue_new(struct gpu_mirror *m, const struct gpu_queue_settings *settings);
void gpu_queue_free(struct gpu_queue *q);

// False: GPU_SLOTS batches are on the way, or the tables are not on the device, or it has failed.
bool gpu_queue_begin(struct gpu_queue *q, struct gpu_batch *b);
void gpu_queue_send(struct gpu_queue *q, const struct gpu_batch *b, uint64_t now_ns);
bool gpu_queue_receive(struct gpu_queue *q, struct gpu_batch *b, uint64_t now_ns);
unsigned gpu_queue_waiting(const struct gpu_queue *q); // batches on the way
const struct gpu_queue_stats *gpu_queue_stats(const struct gpu_queue *q);

#endif
