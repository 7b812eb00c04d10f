// SPDX-License-Identifier: BSD-3-Clause
// icmp.c - how many ICMP errors the router sends
#include "table/icmp.h"

#include "core/thread.h"
#include "table/token_bucket.h"
#include "table/limits.h"

const struct icmp_limit icmp_limit_default = {
    .per_s = 100, .burst = 50, .total_per_s = 1000, .total_burst = 500};

static struct icmp_limit limit; // writer's own: control
static struct bucket_rate rate, total_rate;
static uint64_t bucket[IFACE_MAX], redirect_bucket[IFACE_MAX], total_bucket;

static void set(const struct icmp_limit *to)
{
    limit = *to;
    bucket_rate_set(&rate, to->per_s, to->burst);
    bucket_rate_set(&total_rate, to->total_per_s, to->total_burst);
    for (unsigned i = 0; i < IFACE_MAX; i++) {
        bucket_fill(&bucket[i]);
        bucket_fill(&redirect_bucket[i]);
    }
    bucket_fill(&total_bucket);
}

void icmp_limit_init(void)
{
    set(&icmp_limit_default);
}

void icmp_limit_set(const struct icmp_limit *to)
{
    thread_must_be(ROLE_CONTROL);
    set(to);
}

struct icmp_limit icmp_limit_now(void)
{
    thread_must_be(ROLE_CONTROL);
    return limit;
}

bool icmp_may_send(uint16_t iface, uint64_t now)
{
    return bucket_take(&bucket[iface], &rate, now) && bucket_take(&total_bucket, &total_rate, now);
}

bool icmp_could_send(uint16_t iface, uint64_t now)
{
    return bucket_has(&bucket[iface], &rate, now) && bucket_has(&total_bucket, &total_rate, now);
}

bool icmp_may_redirect(uint16_t iface, uint64_t now, bool dry)
{
    return dry ? bucket_has(&redirect_bucket[iface], &rate, now)
               : bucket_take(&redirect_bucket[iface], &rate, now);
}
