// SPDX-License-Identifier: BSD-3-Clause
// lookaside.c - see lookaside.h
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
