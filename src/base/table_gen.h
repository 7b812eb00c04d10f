// SPDX-License-Identifier: BSD-3-Clause
// table_gen.h - a made-up routing table that is shaped like the Internet's
//
// For tests and benchmarks. Prefix lengths follow the histogram of a full table of 901,899 IPv4 and
// 160,147 IPv6 routes; addresses cluster as there, by a random cascade: at every bit, one half of
// the remaining space is more popular, and which one depends on the seed and on the bits before it.
// The same seed gives the same table on every machine. Any thread; no state.
#ifndef BASE_TABLE_GEN_H
#define BASE_TABLE_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

// Writes up to n different prefixes of `family` (4 or 6) to out, in random order, host bits zero.
// Returns how many: fewer than n only if n is too large for the space, or 0 without memory.
size_t table_gen(struct prefix *out, size_t n, uint64_t seed, unsigned family);

#endif
