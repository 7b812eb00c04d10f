// SPDX-License-Identifier: BSD-3-Clause
// gpu.h - state of the GPU for other features; control role
#ifndef FEATURE_GPU_H
#define FEATURE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether a GPU is configured but not used; `name` gets its name.
bool gpu_is_out(char *name, size_t n);
// Name and present activity of the GPU that may do lookups of the virtual router; NULL if none.
const char *gpu_of_vr(uint16_t vr, const char **activity);

#endif
