// SPDX-License-Identifier: BSD-3-Clause
// checksum.h - the Internet checksum (RFC 1071) and its incremental update (RFC 1624)
//
// Sums 16-bit words in memory order; network order needs no byte swap (RFC 1071 §2). Any thread; no
// state.
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Adds `n` bytes at `p` to a running 32-bit sum. An odd last byte is padded with zero.
static inline uint32_t checksum_add(uint32_t sum, const void *p, size_t n)
{
    const uint8_t *b = p;
    uint64_t s = sum;

    for (; n >= 2; n -= 2, b += 2) {
        uint16_t w;
        memcpy(&w, b, 2);
        s += w;
    }
    if (n)
        s += *b; // little-endian hosts only: DPDK's x86-64 and arm64 targets
    s = (s & 0xffffffff) + (s >> 32);
    return (uint32_t)((s & 0xffffffff) + (s >> 32));
}

// Folds a running sum and complements it: the value for a checksum field.
static inline uint16_t checksum_finish(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static inline uint16_t checksum(const void *p, size_t n)
{
    return checksum_finish(checksum_add(0, p, n));
}

// Sum of the pseudo header of TCP, UDP and ICMPv6 over IPv6 (RFC 8200 §8.1); `len` in bytes.
static inline uint32_t checksum_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint32_t len,
                                        uint8_t next_header)
{
    uint8_t tail[8] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                       (uint8_t)len,         0, 0, 0, next_header};

    return checksum_add(checksum_add(checksum_add(0, src, 16), dst, 16), tail, 8);
}

#endif
