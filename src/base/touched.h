// SPDX-License-Identifier: BSD-3-Clause
// touched.h - tracks the written pages of a mapping
//
// The kernel backs a mapping page by page, on the first write. Writers set one bit for each small
// page, which stays set until the memory is returned; the sum of the bits is the memory that a
// table uses. (mincore() would also count pages that were only read: the kernel's zero page.)
//
// The owner provides TOUCHED_WORDS(bytes of the mapping) words of bits. One thread.
#ifndef BASE_TOUCHED_H
#define BASE_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#define TOUCHED_PAGE 4096u
#define TOUCHED_WORDS(bytes) (((bytes) / TOUCHED_PAGE + 63) / 64)

// Marks the page at offset `at` as written.
static inline void touched_mark(uint64_t *bits, size_t at)
{
    bits[at / TOUCHED_PAGE / 64] |= (uint64_t)1 << at / TOUCHED_PAGE % 64;
}

static inline size_t touched_bytes(const uint64_t *bits, size_t words)
{
    size_t pages = 0;

    for (size_t i = 0; i < words; i++)
        pages += (size_t)__builtin_popcountll(bits[i]);
    return pages * TOUCHED_PAGE;
}

// The same with larger pages: `each` words of bits make one huge page, which counts as a whole.
static inline size_t touched_pieces(const uint64_t *bits, size_t words, size_t each)
{
    size_t pages = 0;

    for (size_t i = 0; i < words; i += each) {
        size_t n = words - i < each ? words - i : each;

        pages += touched_bytes(bits + i, n) ? n * 64 : 0;
    }
    return pages * TOUCHED_PAGE;
}

#endif
