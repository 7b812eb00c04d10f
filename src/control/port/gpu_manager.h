// SPDX-License-Identifier: BSD-3-Clause
// gpu_manager.h - opens and closes the GPU that does lookups (gpu/use.h)
//
// Called by the steps of a change; control role.
#ifndef PORT_GPU_MANAGER_H
#define PORT_GPU_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/use.h"

struct gpu_config {
    char name[16];
    int device; // GPU_EMULATED or the device number
    uint32_t max_latency_us, timeout_ms;
    bool always;
    uint16_t n_vrs;
    char vr[GPU_VRS_MAX][16];
};

// Returns 0, or -errno with a message in `err`. With `may_lack`, a GPU that cannot be opened is no
// error: the CPU does the lookups, and the state gives the reason.
int gpu_manager_start(const struct gpu_config *c, bool may_lack, char *err, size_t n);
void gpu_manager_stop(void); // packets that wait for it go on
// Closes the GPU and opens it again after a failure. Returns -ENOENT if there is none of that name;
// otherwise like gpu_manager_start.
int gpu_manager_reopen(const char *name, char *err, size_t n);
void gpu_manager_fault(enum gpu_fault fault); // only on an emulated device
void gpu_manager_max_latency(uint32_t us);    // the device stays open

enum gpu_status { GPU_STATUS_ON, GPU_STATUS_FAILED, GPU_STATUS_LACKING };
struct gpu_manager_state {
    const struct gpu_settings *settings;
    enum gpu_status status;
    const char *why;      // reason why it is not on
    struct gpu_use *use;  // NULL: lacking
    uint64_t memory, copied; // bytes: of the device; copied to it
};
bool gpu_manager_state(struct gpu_manager_state *s); // false: none is configured

#endif
