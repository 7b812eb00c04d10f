// SPDX-License-Identifier: BSD-3-Clause
// mirror.h - copies of Poptrie tables in a device's memory, kept up to date
//
// Writer's thread:                              Forwarders:
//     gpu_mirror_add(m, table)                      gpu_queue_... (queue.h)
//     poptrie_add / del ...
//     e = poptrie_epoch(table)
//     gpu_mirror_commit(m, &ticket)
//     ... gpu_mirror_poll(m) >= ticket, and a grace period of the CPU's readers ...
//     poptrie_reclaim(table, e)
//
// The bytes are the same as the table's. A commit copies new blocks first and then the words that
// lead to them, so a lookup at any time finds the old or the new answer. This needs two rules:
//
//   G1  a block is reused only when the ticket of a commit after its removal has passed: the
//       device's words no longer lead to it, and all batches sent before are back;
//   G2  memory that a commit replaces (it has become too small) is freed then, too, and no batch
//       uses it any more.
//
// A device that fails is disabled for all queues at once (gpu_mirror_fail): all tickets pass, and
// nothing is copied any more. Device memory is freed with the device, which is closed last.
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
    GPU_GONE,  // a table has been replaced; a mirror keeps its tables for life
};

// --- the writer's thread ---

struct gpu_mirror *gpu_mirror_new(struct gpu_device *d); // NULL: no memory
void gpu_mirror_unwatch(struct gpu_mirror *m);           // its tables may go; only free may follow
void gpu_mirror_free(struct gpu_mirror *m);              // call when no queue is left
// Returns the table's number in batches, or -ENOSPC, -ENOMEM. The table is on the device after the
// next commit, and must live as long as the mirror. All tables of its group are watched.
int gpu_mirror_add(struct gpu_mirror *m, struct poptrie *t);
// 0 and the ticket; -EAGAIN: an earlier commit has not passed, the changes wait for the next one;
// -ENOMEM: the device has no room, batches continue with the old tables; -ENODEV: it has failed.
int gpu_mirror_commit(struct gpu_mirror *m, uint64_t *ticket);
// The last ticket that has passed. Never waits.
uint64_t gpu_mirror_poll(struct gpu_mirror *m);
uint64_t gpu_mirror_copied_bytes(const struct gpu_mirror *m); // to the device, since the start
uint64_t gpu_mirror_bytes(const struct gpu_mirror *m);        // device memory used by the copies
bool gpu_mirror_has(const struct gpu_mirror *m, const struct poptrie *t);
// The ticket of the commit that brings all changes so far to the device: an earlier one, or the
// next.
uint64_t gpu_mirror_ticket(const struct gpu_mirror *m);

// --- any thread ---

enum gpu_state gpu_mirror_state(const struct gpu_mirror *m);
void gpu_mirror_fail(struct gpu_mirror *m, enum gpu_state why); // the first reason stays
const char *gpu_mirror_why(const struct gpu_mirror *m);         // a sentence; "" while it is on

// --- for queue.c ---

struct gpu_reader { // numbers of batches that a queue has sent and received; the forwarder writes
    uint64_t sent, received;
};
#define GPU_READERS_MAX 64u
int gpu_mirror_join(struct gpu_mirror *m, const struct gpu_reader *r); // or -ENOSPC
void gpu_mirror_leave(struct gpu_mirror *m, const struct gpu_reader *r);
// Number of batches that each reader has sent, 0 for one that joins later; have these been
// received?
void gpu_mirror_sent(const struct gpu_mirror *m, uint64_t sent[GPU_READERS_MAX]);
bool gpu_mirror_are_back(const struct gpu_mirror *m, const uint64_t sent[GPU_READERS_MAX]);
struct gpu_device *gpu_mirror_device(const struct gpu_mirror *m);
uint64_t gpu_mirror_tables(const struct gpu_mirror *m); // address on the device; 0: none yet
const struct poptrie *gpu_mirror_table(const struct gpu_mirror *m, unsigned number);
// Version of the tables, if the device has the current one; 0: they have changed.
uint64_t gpu_mirror_version(const struct gpu_mirror *m);
bool gpu_mirror_version_is(const struct gpu_mirror *m, uint64_t version); // still unchanged?

#endif
