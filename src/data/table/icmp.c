// SPDX-License-Identifier: BSD-3-Clause
// icmp.c - rate limits of ICMP errors (icmp.h)
//
// A sender gets a fifth of its interface's limit, for packet too big a half, but at least
// SENDER_LEAST. Redirects take only a token of the interface. A new limit fills all buckets. A dry
// run asks for a token without taking it.
#include "table/icmp.h"

#include "core/thread.h"
#include "table/token_bucket.h"
#include "table/limits.h"

const struct icmp_limit icmp_limit_default = {
    .per_s = 100, .burst = 50, .total_per_s = 1000, .total_burst = 500};

static struct icmp_limit limit; // writer only: control
// Of an interface, of the router, and of a sender of each kind.
static struct token_bucket_rate rate, total_rate, sender_rate[ICMP_KINDS];
static uint64_t iface_bucket[ICMP_KINDS][IFACE_MAX], sender_bucket[ICMP_KINDS][ICMP_SENDERS],
    total_bucket[ICMP_KINDS];

// A sender gets this fraction of its interface's limit; low limits are not divided.
#define SENDER_LEAST 10u
static const uint32_t sender_part[ICMP_KINDS] = {[ICMP_ERROR] = 5, [ICMP_TOO_BIG] = 2};

static uint32_t part_of(uint32_t whole, uint32_t part)
{
    return whole < SENDER_LEAST          ? whole
           : whole / part < SENDER_LEAST ? SENDER_LEAST
                                         : whole / part;
}

static void set_limit(const struct icmp_limit *to)
{
    limit = *to;
    token_bucket_rate_set(&rate, to->per_s, to->burst);
    token_bucket_rate_set(&total_rate, to->total_per_s, to->total_burst);
    for (unsigned k = 0; k < ICMP_REDIRECT; k++)
        token_bucket_rate_set(&sender_rate[k], part_of(to->per_s, sender_part[k]),
                              part_of(to->burst, sender_part[k]));
    for (unsigned k = 0; k < ICMP_KINDS; k++) {
        for (unsigned i = 0; i < IFACE_MAX; i++)
            token_bucket_fill(&iface_bucket[k][i]);
        for (unsigned i = 0; i < ICMP_SENDERS; i++)
            token_bucket_fill(&sender_bucket[k][i]);
        token_bucket_fill(&total_bucket[k]);
    }
}

void icmp_limit_init(void)
{
    set_limit(&icmp_limit_default);
}

void icmp_limit_set(const struct icmp_limit *to)
{
    thread_must_be(ROLE_CONTROL);
    set_limit(to);
}

struct icmp_limit icmp_limit_now(void)
{
    thread_must_be(ROLE_CONTROL);
    return limit;
}

static bool has_token(uint64_t *bucket, const struct token_bucket_rate *r, uint64_t now, bool dry)
{
    return dry ? token_bucket_has(bucket, r, now) : token_bucket_take(bucket, r, now);
}

bool icmp_may_send(enum icmp_kind kind, uint16_t iface, uint64_t sender, uint64_t now, bool dry)
{
    if (kind == ICMP_REDIRECT)
        return has_token(&iface_bucket[kind][iface], &rate, now, dry);
    return has_token(&sender_bucket[kind][sender % ICMP_SENDERS], &sender_rate[kind], now, dry) &&
           has_token(&iface_bucket[kind][iface], &rate, now, dry) &&
           has_token(&total_bucket[kind], &total_rate, now, dry);
}
