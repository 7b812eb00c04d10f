// SPDX-License-Identifier: BSD-3-Clause
// gpu.h - what others ask about the GPU; control role
#ifndef FEATURE_GPU_H
#define FEATURE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Is a GPU configured, which is not used? name: of the one that is configured.
bool gpu_is_out(char *name, size_t n);
// The GPU to which lookups of the virtual router may go, and what it does now; NULL: none.
const char *gpu_of_vr(uint16_t vr, const char **activity);
// The same for packets of an access list.
const char *gpu_of_list(uint16_t list, const char **activity);

#endif
