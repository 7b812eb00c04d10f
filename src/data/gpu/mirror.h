// SPDX-License-Identifier: BSD-3-Clause
// mirror.h - copies of Poptrie tables in a device's memory, kept up to date
//
// Writer's thread:                              Forwarders:
//     gpu_mirror_add(m, table)                      gpu_queue_... (queue.h)
//     poptrie_add / del ..., poptrie_epoch(table)
//     while (gpu_mirror_work(m)) ... later again ...
//
// The bytes are the same as the table's. poptrie_epoch, which ends a batch of changes, has them
// copied (poptrie/image.h).
//
//   G1  no batch begins while the device lacks a change, and nothing is copied while a batch is in
//       progress. So a batch sees tables that do not change, and the writer of the tables may reuse
//       memory as if there were no device.
//
// A device that fails is disabled for all queues at once (gpu_mirror_fail): nothing is copied any
// more. A table that is freed counts as a failure. Device memory is freed with the device, which is
// closed last.
#ifndef GPU_MIRROR_H
#define GPU_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/device.h"

struct poptrie;
struct gpu_mirror;

enum gpu_state {
    GPU_ON,
    GPU_LOST,  // the device reports an error
    GPU_LATE,  // a batch was not answered in time
    GPU_WRONG, // an answer differed from the table
    GPU_FULL,  // the device has no room for the tables
    GPU_GONE,  // a table has been freed
};

// --- the writer's thread ---

struct gpu_mirror *gpu_mirror_new(struct gpu_device *d); // NULL: no memory
void gpu_mirror_unwatch(struct gpu_mirror *m);           // only free may follow
void gpu_mirror_free(struct gpu_mirror *m);              // call when no queue is left
// Returns the table's number in batches, or -ENOSPC, -ENOMEM. All tables of its group are watched.
int gpu_mirror_add(struct gpu_mirror *m, struct poptrie *t);
// Copies changes, if possible now, and finds out whether copies have arrived. Never waits. True:
// the device lacks a change, call it again.
bool gpu_mirror_work(struct gpu_mirror *m);

// --- any thread ---

uint64_t gpu_mirror_copied_bytes(const struct gpu_mirror *m); // to the device, since the start
uint64_t gpu_mirror_bytes(const struct gpu_mirror *m);        // device memory used by the copies
enum gpu_state gpu_mirror_state(const struct gpu_mirror *m);
void gpu_mirror_fail(struct gpu_mirror *m, enum gpu_state why); // the first reason stays
const char *gpu_mirror_why(const struct gpu_mirror *m);         // a sentence; "" while it is on
// Version of the tables, if the device has the current one; 0: they have changed.
uint64_t gpu_mirror_version(const struct gpu_mirror *m);
bool gpu_mirror_version_is(const struct gpu_mirror *m, uint64_t version); // still unchanged?

// --- for queue.c ---

struct gpu_reader { // numbers of batches that a queue has sent and received; the forwarder writes
    uint64_t sent, received;
};
#define GPU_READERS_MAX 64u
int gpu_mirror_join(struct gpu_mirror *m, const struct gpu_reader *r); // or -ENOSPC
void gpu_mirror_leave(struct gpu_mirror *m, const struct gpu_reader *r);
struct gpu_device *gpu_mirror_device(const struct gpu_mirror *m);
uint64_t gpu_mirror_tables(const struct gpu_mirror *m); // address on the device

#endif
