// SPDX-License-Identifier: BSD-3-Clause
// gpu.h - what others ask about the GPU; control role
#ifndef FEATURE_GPU_H
#define FEATURE_GPU_H

#include <stdbool.h>
#include <stddef.h>

// Is a GPU configured, which is not used? name: of the one that is configured.
bool gpu_is_out(char *name, size_t n);

#endif
