// SPDX-License-Identifier: BSD-3-Clause
// lookaside.c - publishes and withdraws the device for lookups (lookaside.h)
//
// A withdrawal waits for the forwarders by a grace period. rib_manager, which is no reader, holds a
// lock while it works with the device, and so delays a withdrawal.
#include "table/lookaside.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held while rib_manager works

struct lookaside *lookaside_published;

void lookaside_publish(struct lookaside *l)
{
    pthread_mutex_lock(&lock);
    rcu_publish(&lookaside_published, l);
    pthread_mutex_unlock(&lock);
    rcu_synchronize();
}

bool lookaside_work(void)
{
    struct lookaside *l;
    bool more;

    if (!lookaside_now())
        return false;
    pthread_mutex_lock(&lock);
    l = lookaside_now();
    more = l && l->work(l);
    pthread_mutex_unlock(&lock);
    return more;
}
