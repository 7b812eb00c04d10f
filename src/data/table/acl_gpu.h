// SPDX-License-Identifier: BSD-3-Clause
// acl_gpu.h - images of access lists for classification on a GPU
//
// Control names the lists of a GPU in use (table/gpu.h). After the last change of a list,
// acl_manager makes an image and has it copied (gpu/lists.h); until then, and for lists that do not
// suit a device, the CPU classifies. A list that changes all the time costs acl_manager at most a
// tenth of its time.
#ifndef TABLE_ACL_GPU_H
#define TABLE_ACL_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "table/acl.h"

#define ACL_GPU_MAX 64u // lists of one GPU

struct gpu_lists;

enum acl_gpu_status {
    ACL_GPU_WAITS,  // image being built or copied
    ACL_GPU_ON,     // the device has the current list
    ACL_GPU_REFUSED // stays on the CPU
};

struct acl_gpu_state { // of one list
    char name[ACL_NAME_SIZE];
    enum acl_gpu_status status;
    uint32_t rules, tuples; // of the last image
    uint64_t bytes;
    char why[200]; // if REFUSED
};

// --- control ---
// One GPU at a time. Lists may come into existence later.
void acl_gpu_begin(struct gpu_lists *l, const char (*name)[ACL_NAME_SIZE], unsigned n);
void acl_gpu_end(struct gpu_lists *l); // makes and copies no images from now on
bool acl_gpu_state(unsigned i, struct acl_gpu_state *s); // false: i is beyond the last list

// --- acl_manager ---
bool acl_gpu_work(void); // true: call again soon
// Call before readers can see a change of the list.
void acl_gpu_stale(uint16_t id);

#endif
