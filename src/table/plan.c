// SPDX-License-Identifier: BSD-3-Clause
// plan.c - the slots of the forwarders: one fixed array, mapped at start
#include "table/plan.h"

#include <errno.h>
#include <string.h>

#include "core/mem.h"

struct forwarder_slot *forwarder_slot;
uint8_t plan_idle_mode = IDLE_BALANCED;
uint8_t plan_ip4_options = IP4_OPTIONS_DROP;
uint8_t plan_port_home[PORT_MAX];

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
