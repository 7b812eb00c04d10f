// SPDX-License-Identifier: BSD-3-Clause
// plan.c - the slots of the forwarders: one fixed array, mapped at start (plan.h)
//
// A slot and its counters stay when its forwarder ends or gives a queue away. So the statistics of
// a receive queue are the sum over all slots.
#include "table/plan.h"

#include <errno.h>
#include <string.h>

#include "core/mem.h"
#include "table/sum.h"

struct forwarder_slot *forwarder_slot;
uint8_t plan_begin = PLAN_BEGIN_OVER;
uint32_t plan_kept;
uint8_t plan_idle_mode = IDLE_BALANCED;
uint8_t plan_ip4_options = IP4_OPTIONS_DROP;
uint8_t plan_port_home[PORT_MAX];

struct plan_rx_stats plan_rx_sum(uint16_t port, uint16_t queue)
{
    struct plan_rx_stats sum = {0};

    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        const struct plan_rx_stats *s = &forwarder_slot[f].rx_stats[port][queue];
        uint32_t depth = __atomic_load_n(&s->depth, __ATOMIC_RELAXED),
                 most = __atomic_load_n(&s->depth_max, __ATOMIC_RELAXED);

        sum_add(&sum, s, offsetof(struct plan_rx_stats, depth));
        sum.depth = depth > sum.depth ? depth : sum.depth;
        sum.depth_max = most > sum.depth_max ? most : sum.depth_max;
    }
    return sum;
}

int plan_init(void)
{
    forwarder_slot = mem_map("forwarders", FORWARDER_MAX * sizeof *forwarder_slot);
    memset(plan_port_home, PLAN_TX_NONE, sizeof plan_port_home);
    if (!forwarder_slot)
        return -errno;
    int r = 0;
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        int failed = waker_init(&forwarder_slot[f].waker);
        r = r ? r : failed;
    }
    if (r)
        plan_fini();
    return r;
}

void plan_fini(void)
{
    if (!forwarder_slot)
        return;
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        waker_fini(&forwarder_slot[f].waker);
    mem_unmap(forwarder_slot, FORWARDER_MAX * sizeof *forwarder_slot);
    forwarder_slot = NULL;
}
