// SPDX-License-Identifier: BSD-3-Clause
// acl_meter.c - allocates the meters of the police action (acl_meter.h)
//
// A rate is stored as ticks per byte in fixed point, so a forwarder only multiplies. A freed meter
// is reused after a grace period, until which a burst may still charge it.
#include "table/acl_meter.h"

#include "base/log.h"
#include "core/thread.h"
#include "table/grace.h"

struct acl_meter acl_meter_table[ACL_METER_MAX];

enum state { FREE, USED, WAITING };

uint16_t acl_meter_new(uint64_t kbps, uint64_t burst_bytes)
{
    thread_must_be(ROLE_ACL_MANAGER);
    for (uint16_t id = 1; id < ACL_METER_MAX && kbps && burst_bytes; id++) {
        struct acl_meter *m = &acl_meter_table[id];
        if (m->state == USED || (m->state == WAITING && !grace_over(m->ticket)))
            continue;
        double per_byte = (double)token_bucket_hz() * 8 / ((double)kbps * 1000);
        *m = (struct acl_meter){.per_byte = (uint64_t)(per_byte * (1u << ACL_METER_SHIFT)),
                                .depth = (uint64_t)(per_byte * (double)burst_bytes),
                                .state = USED};
        return id;
    }
    return 0;
}

void acl_meter_free(uint16_t id)
{
    thread_must_be(ROLE_ACL_MANAGER);
    bug_on(acl_meter_table[id].state != USED);
    acl_meter_table[id].state = WAITING;
    acl_meter_table[id].ticket = grace_ticket();
}
