// SPDX-License-Identifier: BSD-3-Clause
// acl_gpu.h - access lists that a GPU classifies by: who makes their images, and when
//
// Control names lists for a GPU in use (table/gpu.h). acl_manager makes an image of each list after
// its last change, and has it copied (gpu/lists.h); until then, and for lists that do not suit a
// device, the CPU classifies. A list that changes all the time costs acl_manager a tenth of its
// time at most.
#ifndef TABLE_ACL_GPU_H
#define TABLE_ACL_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "table/acl.h"

#define ACL_GPU_MAX 64u // lists that a GPU may have

struct gpu_lists;

enum acl_gpu_status {
    ACL_GPU_WAITS,  // its image is being made or copied
    ACL_GPU_ON,     // the device has it as it is now
    ACL_GPU_REFUSED // it stays on the CPU
};

struct acl_gpu_state { // of one list
    char name[ACL_NAME_SIZE];
    enum acl_gpu_status status;
    uint32_t rules, tuples; // of the last image
    uint64_t bytes;
    char why[200]; // REFUSED
};

// --- control ---
// One GPU at a time. Lists that do not exist yet are waited for.
void acl_gpu_begin(struct gpu_lists *l, const char (*name)[ACL_NAME_SIZE], unsigned n);
void acl_gpu_end(struct gpu_lists *l); // no image of them is made or copied any more
bool acl_gpu_state(unsigned i, struct acl_gpu_state *s); // false: there are fewer

// --- acl_manager ---
bool acl_gpu_work(void); // true: again soon
// Before readers can see a change of the list.
void acl_gpu_stale(uint16_t id);

#endif
