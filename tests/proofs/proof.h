// SPDX-License-Identifier: BSD-3-Clause
// proof.h - what the harnesses for CBMC share
//
// A harness includes sources of the router and calls them with values of any kind: nondet_x() can
// return any x. CBMC shows that no access leaves its object, for all of these values. A packet is
// an object of exactly its own length, so any read beyond it is an error.
#ifndef PROOF_H
#define PROOF_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define assume __CPROVER_assume
#define claim(what) __CPROVER_assert(what, #what)

bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
struct rte_mbuf nondet_mbuf(void);

// A length of `least` to `most` bytes.
static inline unsigned any_length(unsigned least, unsigned most)
{
    unsigned n = nondet_u32();

    assume(n >= least && n <= most);
    return n;
}

// n bytes of any value.
static inline uint8_t *any_bytes(unsigned n)
{
    return malloc(n);
}

// Makes *m a packet whose first segment has n bytes, and perhaps more segments that no parser
// follows. Returns its first byte.
static inline uint8_t *any_packet(struct rte_mbuf *m, unsigned n)
{
    *m = nondet_mbuf();
    m->buf_addr = any_bytes(n);
    m->data_off = 0;
    m->data_len = (uint16_t)n;
    m->next = NULL;
    assume(m->nb_segs == 1 ? m->pkt_len == n : m->nb_segs > 1 && m->pkt_len > n);
    return m->buf_addr;
}

// In place of checksum_add(): reads the same bytes.
static inline uint32_t any_sum(uint32_t sum, const void *p, size_t n)
{
    claim(!n || __CPROVER_r_ok(p, n));
    return nondet_u32();
}

#endif
