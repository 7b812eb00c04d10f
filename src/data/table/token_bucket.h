// SPDX-License-Identifier: BSD-3-Clause
// token_bucket.h - a token bucket in one word
//
// GCRA form (ITU-T I.371): the word is the time at which the bucket would be full again. There is a
// token while that time is at most `tolerance` ahead; taking one advances it by `interval`. No
// division, no timer.
//
// Times are ticks: TSC cycles, or fractions of them where the TSC is slow (arm64: from 25 MHz on);
// otherwise a small packet at a high rate would cost less than one tick, hence nothing.
//
// Threads may share a bucket. A refusal only reads the word, so that a flood beyond the rate writes
// nothing; a thread that loses the race for a token too often gets none.
#ifndef TABLE_TOKEN_BUCKET_H
#define TABLE_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_BUCKET_TRIES 4

struct token_bucket_rate { // ticks
    uint64_t interval; // between two tokens; 0 = never a token
    uint64_t tolerance;
};

extern unsigned token_bucket_shift; // a TSC cycle has 2^this ticks

// Ticks per second, to compute rates from. Any writer.
uint64_t token_bucket_hz(void);

static inline uint64_t token_bucket_ticks(uint64_t tsc)
{
    return tsc << __atomic_load_n(&token_bucket_shift, __ATOMIC_RELAXED);
}

// At most `burst` at once and `per_s` per second; 0 for either = none.
// Single writer.
void token_bucket_rate_set(struct token_bucket_rate *r, uint32_t per_s, uint32_t burst);

// Advances the bucket by `cost` if it would then be full again by `until`; all in ticks.
static inline bool token_bucket_take_cost(uint64_t *full_at, uint64_t cost, uint64_t until,
                                          uint64_t now)
{
    uint64_t at = __atomic_load_n(full_at, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < TOKEN_BUCKET_TRIES && at <= until; i++) {
        uint64_t next = (at > now ? at : now) + cost;
        if (__atomic_compare_exchange_n(full_at, &at, next, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

// Takes a token at TSC `now`, if there is one. The rate's writer may change it meanwhile.
static inline bool token_bucket_take(uint64_t *full_at, const struct token_bucket_rate *r,
                                     uint64_t now)
{
    uint64_t interval = __atomic_load_n(&r->interval, __ATOMIC_RELAXED);
    uint64_t until;

    now = token_bucket_ticks(now);
    until = now + __atomic_load_n(&r->tolerance, __ATOMIC_RELAXED);
    return interval && token_bucket_take_cost(full_at, interval, until, now);
}

// Is there a token at TSC `now`? Takes none.
static inline bool token_bucket_has(const uint64_t *full_at, const struct token_bucket_rate *r,
                                    uint64_t now)
{
    uint64_t until =
        token_bucket_ticks(now) + __atomic_load_n(&r->tolerance, __ATOMIC_RELAXED);

    return __atomic_load_n(&r->interval, __ATOMIC_RELAXED) &&
           __atomic_load_n(full_at, __ATOMIC_RELAXED) <= until;
}

// Fills a bucket after its writer has changed the rate.
static inline void token_bucket_fill(uint64_t *full_at)
{
    __atomic_store_n(full_at, 0, __ATOMIC_RELAXED);
}

#endif
