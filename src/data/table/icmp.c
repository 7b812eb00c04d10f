// SPDX-License-Identifier: BSD-3-Clause
// icmp.c - how many ICMP errors the router sends
#include "table/icmp.h"

#include "core/thread.h"
#include "table/token_bucket.h"
#include "table/limits.h"

const struct icmp_limit icmp_limit_default = {
    .per_s = 100, .burst = 50, .total_per_s = 1000, .total_burst = 500};

static struct icmp_limit limit; // writer's own: control
static struct token_bucket_rate rate, total_rate;
static uint64_t bucket[IFACE_MAX], redirect_bucket[IFACE_MAX], total_bucket;

static void set_limit(const struct icmp_limit *to)
{
    limit = *to;
    token_bucket_rate_set(&rate, to->per_s, to->burst);
    token_bucket_rate_set(&total_rate, to->total_per_s, to->total_burst);
    for (unsigned i = 0; i < IFACE_MAX; i++) {
        token_bucket_fill(&bucket[i]);
        token_bucket_fill(&redirect_bucket[i]);
    }
    token_bucket_fill(&total_bucket);
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

bool icmp_may_send(uint16_t iface, uint64_t now)
{
    return token_bucket_take(&bucket[iface], &rate, now) &&
           token_bucket_take(&total_bucket, &total_rate, now);
}

bool icmp_could_send(uint16_t iface, uint64_t now)
{
    return token_bucket_has(&bucket[iface], &rate, now) &&
           token_bucket_has(&total_bucket, &total_rate, now);
}

bool icmp_may_redirect(uint16_t iface, uint64_t now, bool dry)
{
    return dry ? token_bucket_has(&redirect_bucket[iface], &rate, now)
               : token_bucket_take(&redirect_bucket[iface], &rate, now);
}
