// SPDX-License-Identifier: BSD-3-Clause
// vector.h - the compiler's vector intrinsics, which DPDK's headers include: compiled once per
// library instead of once per file
#include <immintrin.h>
