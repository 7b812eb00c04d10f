// SPDX-License-Identifier: BSD-3-Clause
// queue.h - one forwarder's batches of addresses or packets: to the device, and back in order
//
//     batch = {.kind}                            // of packets: list and version, too
//     if (gpu_queue_begin(q, &batch))            // room for keys, in memory that both see
//         ... keys, which, n, user ...
//         gpu_queue_send(q, &batch, now);
//     while (gpu_queue_receive(q, &batch, now))  // in the order of sending
//         ... batch.value[0..n), or batch.rule[0..n) ...
//
// Always true:
//   Q1  every batch that was sent is received, once, in order;
//   Q2  with values that its tables had since the last commit that had passed when it was sent; or
//       with rules of the version of its list;
//   Q3  at the latest when gpu_queue_receive is called `timeout_ns` after it was sent.
//
// A batch that the device does not answer, or of which a sample is wrong, is looked up on the CPU,
// as are all behind it (of an access list: by the caller, as the list may be gone), and the device
// is out of use for all queues (gpu_mirror_state). Then gpu_queue_begin returns false, and the
// caller looks up as if there were no device.
//
// One thread, but new and free, which are the writer's. Nothing here waits, allocates or locks; an
// emulated device's launches do.
#ifndef GPU_QUEUE_H
#define GPU_QUEUE_H

#include "gpu/lists.h"
#include "gpu/mirror.h"

struct gpu_queue;

struct gpu_queue_settings {
    uint32_t batch;      // keys, 1..GPU_BATCH_MAX
    bool persistent;     // the device serves the mailbox; else each batch is a launch
    uint64_t timeout_ns; // of a batch
    uint32_t sample;     // each n-th key is looked up on the CPU, too; 0: none
    const struct gpu_lists *lists; // NULL: none
};

struct gpu_batch {
    enum gpu_kind kind;
    uint32_t list, version; // of packets: lists.h
    uint8_t *key;           // as gpu_key_bytes says
    uint16_t *which;        // of addresses: table each, as gpu_mirror_add says
    uint32_t n;
    void *user;
    // received, until the next gpu_queue_begin:
    const uint16_t *value; // of addresses
    const uint32_t *rule;  // of packets: its slot, or ACL_MISS; NULL if by_cpu
    uint64_t age_ns;
    bool by_cpu;
};

struct gpu_queue_stats {
    uint64_t batches, keys;      // received
    uint64_t cpu_batches;        // of them, looked up on the CPU
    uint64_t sampled, wrong;     // keys
    uint64_t age_max_ns;
};

// NULL with errno: EINVAL, ENOMEM, ENOSPC (too many queues), ENODEV.
struct gpu_queue *gpu_queue_new(struct gpu_mirror *m, const struct gpu_queue_settings *settings);
void gpu_queue_free(struct gpu_queue *q);

// False: GPU_SLOTS batches are on the way, or the tables, or this version of the list, are not on
// the device, or it has failed.
bool gpu_queue_begin(struct gpu_queue *q, struct gpu_batch *b);
void gpu_queue_send(struct gpu_queue *q, const struct gpu_batch *b, uint64_t now_ns);
bool gpu_queue_receive(struct gpu_queue *q, struct gpu_batch *b, uint64_t now_ns);
unsigned gpu_queue_waiting(const struct gpu_queue *q); // batches on the way
const struct gpu_queue_stats *gpu_queue_stats(const struct gpu_queue *q);

#endif
