// SPDX-License-Identifier: BSD-3-Clause
// layout.h - words and blocks in a table's memory, for all readers: kernels of the CPU and of
// devices
//
// Compiled as C and as OpenCL C, so it has no pointers, and no includes for OpenCL.
//
// A word is 32 bits:
//     0 | value                    leaf: the answer, 0 = "ask the floor"
//     1 | code (5) | offset (26)   block at arena + 8 * offset; the code says which kind
//           0..15    leaf block    8-byte run vector, then leaves of code + 1 bits
//           23..29   mixed block   the same with leaves of code - 15 bits, then 32-bit words
//           31       branch block  8-byte run vector, then 32-bit words
//           16       wide block    eight 8-byte heads, then leaves
//           30       skip          { in, out (16), bits (16), key (64) }
//
// A leaf, mixed or branch block resolves six address bits (fewer at the end of the address, or of
// its first half). Bit i of the run vector is set if child i differs from child i - 1, so child c's
// leaf is number popcount(vector << (63 - c)) - 1. The width is the smallest that holds the block's
// largest value: no table-wide leaf size exists that could overflow. In a mixed block, which only
// IPv4 uses, a leaf with its top bit set gives the position of its word in the block, in 32-bit
// units; IPv6, where most paths lead through several blocks, has words in place of leaves.
//
// A wide block resolves the last eight bits of an IPv4 address. Head i describes 32 children:
// { runs (32), leaves before them (16), width (16) }.
//
// Every load of a leaf may fetch four bytes, so the arena has a padded tail.
//
// The floor has the value of the longest route of 0..6 bits for each value of the first 6 address
// bits. Those routes are stored nowhere else, so changing one is a few stores, not a rebuild of
// everything below. 64 values fit two vector registers: a lookup is a permutation.
//
// A skip jumps over bits that all routes below share: if the first `bits` bits of the current
// 64-bit half of the address equal `key`'s, continue with `in` (at depth `bits`), else answer
// `out`. The half is the first one up to depth 63 and the second one from depth 64 on.
#ifndef POPTRIE_LAYOUT_H
#define POPTRIE_LAYOUT_H

#ifndef __OPENCL_C_VERSION__
#include <stdbool.h>
#include <stdint.h>
#endif

#define POOL_UNIT 8u // bytes; the unit of offsets
#define WORD_REF 0x80000000u
#define WORD_CODE_SHIFT 26
#define WORD_OFFSET 0x03ffffffu
#define CODE_WIDE 16u
#define CODE_MIXED 16u // + width - 1
#define CODE_SKIP 30u
#define CODE_BRANCH 31u
#define CODES_SPECIAL 0xc0010000u // bit per code: blocks without leaves of (code & 15) + 1 bits
#define MIXED_MIN_WIDTH 8u        // the place of a word, plus the top bit
#define MIXED_MAX_WIDTH 14u
#define WIDE_DEPTH 24u
#define WIDE_HEAD_BYTES 64u
#define ARENA_TAIL_BYTES 4096u // over-read by gathers

#define FLOOR_BITS 6u // only the floor has routes up to this length, the root's
#define FLOOR_ENTRIES (1u << FLOOR_BITS)

#define DIR4_BITS 18u // the directory's index: the first 18 bits
#define DIR6_BITS 24u // ... bits 3..23 of addresses under 2000::/3
#define DIR4_WORDS (1u << DIR4_BITS)
#define DIR6_WORDS (1u << (DIR6_BITS - 3))

struct skip {
    uint32_t in; // first, so that vectors gather it without an offset
    uint16_t out;
    uint16_t bits; // number of bits compared in this half of the address: 1..64
    uint64_t key;  // host order, left-aligned
};

static inline bool word_is_ref(uint32_t w)
{
    return (w & WORD_REF) != 0;
}

static inline uint32_t word_code(uint32_t w)
{
    return w >> WORD_CODE_SHIFT & 31;
}

static inline uint32_t word_width(uint32_t w) // of the leaves of a leaf or mixed block
{
    return (word_code(w) & 15) + 1;
}

static inline uint32_t word_ref(uint32_t w)
{
    return w & WORD_OFFSET;
}

#endif
