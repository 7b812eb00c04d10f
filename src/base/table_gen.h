// SPDX-License-Identifier: BSD-3-Clause
// table_gen.h - generates a routing table shaped like the Internet's
//
// For tests and benchmarks. Prefix lengths follow the histogram of a full table of 901,899 IPv4 and
// 160,147 IPv6 routes. Addresses cluster as in that table, by a random cascade: at every bit one
// half of the remaining space is more popular, chosen by the seed and the bits before. The same
// seed gives the same table on every machine. Any thread; no state.
#ifndef BASE_TABLE_GEN_H
#define BASE_TABLE_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

// Writes up to n different prefixes of `family` (4 or 6) to out, in random order, host bits zero.
// Returns their number: less than n if the space is too small, 0 if memory is short.
size_t table_gen(struct prefix *out, size_t n, uint64_t seed, unsigned family);

#endif
