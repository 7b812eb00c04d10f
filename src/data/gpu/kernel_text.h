// SPDX-License-Identifier: BSD-3-Clause
// kernel_text.h - kernel.cl as PTX, compiled by clang when Kamuee is built (embed.py)
#ifndef GPU_KERNEL_TEXT_H
#define GPU_KERNEL_TEXT_H

extern const char *const gpu_kernel_text; // NULL: no suitable clang

#endif
