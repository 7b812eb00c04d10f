// SPDX-License-Identifier: BSD-3-Clause
// lists.h - images of access lists in a device's memory (list_image.h), one for each version
//
//     writer of the lists (one thread)              forwarders
//     gpu_list_want(l, id)                          gpu_list_is_wanted(l, id)
//     gpu_list_put(l, id, image, list, version)     gpu_list_version(l, id)
//     gpu_lists_poll(l)         // it has arrived   gpu_queue_... (queue.h)
//     gpu_list_stale(l, id)     // before a change
//
// Invariants:
//   L1  a version other than 0 is that of the current list, and its image is on the device: the
//       writer calls gpu_list_stale before it changes anything that readers see;
//   L2  a list uses two memories in turn. One is rewritten only when all batches that were sent
//       before its image was replaced are back.
//
// The mirror (mirror.h) owns the state and the device, and knows the senders of batches. Device
// memory is returned when the device is closed; an image that needs more room gets 50% spare.
#ifndef GPU_LISTS_H
#define GPU_LISTS_H

#include "gpu/list_image.h"
#include "gpu/mirror.h"

#define GPU_LIST_IDS 1024u

struct gpu_lists;

// --- the writer's thread ---

struct gpu_lists *gpu_lists_new(struct gpu_mirror *m); // NULL: no memory
void gpu_lists_free(struct gpu_lists *l);              // call when no queue is left
int gpu_list_want(struct gpu_lists *l, uint32_t id, bool wanted); // or -ENOMEM
void gpu_list_stale(struct gpu_lists *l, uint32_t id);
// Copies the image of the list's `version` (not 0) to the device. `a` is the list with this
// version, used to check samples until it is stale. 0; -EAGAIN: a copy or batches are in progress;
// -ENOMEM: the device has no room; -ENODEV: it has failed.
int gpu_list_put(struct gpu_lists *l, uint32_t id, const struct gpu_list_image *image,
                 const struct acl *a, uint32_t version);
bool gpu_list_may_put(const struct gpu_lists *l, uint32_t id); // else -EAGAIN
bool gpu_lists_poll(struct gpu_lists *l); // true: a copy is in progress
struct gpu_mirror *gpu_lists_mirror(const struct gpu_lists *l);
uint64_t gpu_lists_bytes(const struct gpu_lists *l);        // on the device
uint64_t gpu_lists_copied_bytes(const struct gpu_lists *l); // since the start

// --- any thread ---

bool gpu_list_is_wanted(const struct gpu_lists *l, uint32_t id);
uint32_t gpu_list_version(const struct gpu_lists *l, uint32_t id); // 0: it is not on the device

// --- for queue.c ---

uint64_t gpu_list_at(const struct gpu_lists *l, uint32_t id);        // address of its image
const struct acl *gpu_list_acl(const struct gpu_lists *l, uint32_t id);

#endif
