// SPDX-License-Identifier: BSD-3-Clause
// token_bucket.c - rates of token buckets
#include "table/token_bucket.h"

#include <rte_cycles.h>

// Word by word: a reader that sees one old and one new word is wrong about one packet.
void token_bucket_rate_set(struct token_bucket_rate *r, uint32_t per_s, uint32_t burst)
{
    uint64_t interval = per_s && burst ? rte_get_tsc_hz() / per_s : 0;

    __atomic_store_n(&r->interval, interval, __ATOMIC_RELAXED);
    __atomic_store_n(&r->tolerance, interval * (burst ? burst - 1 : 0), __ATOMIC_RELAXED);
}
