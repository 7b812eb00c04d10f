// SPDX-License-Identifier: BSD-3-Clause
// token_bucket.c - rates of token buckets, and the length of a tick (token_bucket.h)
//
// A tick is a TSC cycle, divided by a power of two until there are at least TICKS_HZ_MIN in a
// second. A rate is two words, the interval per token and the tolerance of a burst.
#include "table/token_bucket.h"

#include <rte_cycles.h>

// Ticks are finer than this: at 400 Gbit/s, the smallest packet costs some 10 of them. 64 bits hold
// 34 years of ticks.
#define TICKS_HZ_MIN (1ull << 33)

unsigned token_bucket_shift;

uint64_t token_bucket_hz(void)
{
    uint64_t tsc_hz = rte_get_tsc_hz();
    unsigned shift = 0;

    while (tsc_hz && tsc_hz << shift < TICKS_HZ_MIN)
        shift++;
    __atomic_store_n(&token_bucket_shift, shift, __ATOMIC_RELAXED);
    return tsc_hz << shift;
}

// Word by word: a reader that sees one old and one new word misjudges one packet.
void token_bucket_rate_set(struct token_bucket_rate *r, uint32_t per_s, uint32_t burst)
{
    uint64_t interval = per_s && burst ? token_bucket_hz() / per_s : 0;

    __atomic_store_n(&r->interval, interval, __ATOMIC_RELAXED);
    __atomic_store_n(&r->tolerance, interval * (burst ? burst - 1 : 0), __ATOMIC_RELAXED);
}
