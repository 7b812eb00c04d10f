// SPDX-License-Identifier: BSD-3-Clause
// vector.h - the compiler's vector intrinsics, which DPDK's headers include: compiled once for each
// library instead of once for each file
#include <immintrin.h>
