// SPDX-License-Identifier: BSD-3-Clause
// punt.c - punt classes and their limits; see punt.h
#include "table/punt.h"

#include "core/thread.h"

const char *const punt_class_name[PUNT_CLASS_N] = {
    [PUNT_BFD] = "bfd", [PUNT_ROUTING] = "routing", [PUNT_NEIGH] = "neighbor",
    [PUNT_ICMP] = "icmp", [PUNT_OTHER] = "other", [PUNT_MULTICAST] = "multicast",
};

const struct punt_limit punt_limit_default[PUNT_CLASS_N] = {
    [PUNT_BFD] = {.per_s = 20000, .burst = 2000, .queue = 256},
    [PUNT_ROUTING] = {.per_s = 50000, .burst = 5000, .queue = 1024},
    [PUNT_NEIGH] = {.per_s = 4000, .burst = 1000, .queue = 512},
    [PUNT_ICMP] = {.per_s = 2000, .burst = 1000, .queue = 256},
    [PUNT_OTHER] = {.per_s = 20000, .burst = 4000, .queue = 512},
    [PUNT_MULTICAST] = {.per_s = 2000, .burst = 500, .queue = 256},
};

struct punt_policy punt_policy[PUNT_CLASS_N];

static void set_policy(struct punt_policy *p, const struct punt_limit *to)
{
    token_bucket_rate_set(&p->rate, to->per_s, to->burst);
    __atomic_store_n(&p->limit.per_s, to->per_s, __ATOMIC_RELAXED);
    __atomic_store_n(&p->limit.burst, to->burst, __ATOMIC_RELAXED);
    __atomic_store_n(&p->limit.queue, to->queue, __ATOMIC_RELAXED);
}

void punt_policy_init(void)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        set_policy(&punt_policy[c], &punt_limit_default[c]);
}

void punt_policy_set(enum punt_class class, const struct punt_limit *to)
{
    thread_must_be(ROLE_CONTROL);
    set_policy(&punt_policy[class], to);
}
