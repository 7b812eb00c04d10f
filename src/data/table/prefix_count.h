// SPDX-License-Identifier: BSD-3-Clause
// prefix_count.h - packets of single prefixes, for those that are counted
//
// A counted prefix has a slot as long as it is configured, whatever becomes of its route. The FIB
// leads to an alias (table/nexthop.h) that names the slot, and forwarders count when they go
// through it (forwarder/fwd_priv.h), each in its own row; readers add the rows up. Other prefixes
// have no alias and cost nothing.
//
// rib_manager gives slots out; the configuration and each alias hold theirs. A slot is reused only
// a grace period after all have released it.
#ifndef TABLE_PREFIX_COUNT_H
#define TABLE_PREFIX_COUNT_H

#include <stdint.h>

#include "core/thread.h"
#include "table/limits.h"

struct prefix_count {
    uint64_t packets;
    uint64_t bytes; // of IP packets, headers included
};

int prefix_count_init(void); // 0 or -ENOMEM
void prefix_count_fini(void);

// --- forwarder: its row of PREFIX_COUNT_MAX; slot 0 is for aliases that do not count ---
// `forwarder` = FORWARDER_MAX: the row of dry runs, which nobody reads.
struct prefix_count *prefix_count_row(unsigned forwarder);

// --- rib_manager ---
uint16_t
prefix_count_new(void); // held once, at 0; 0 = all are in use. May wait for a grace period.
void prefix_count_hold(uint16_t slot); // 0 is fine
void prefix_count_put(uint16_t slot);  // 0 is fine

// --- any thread ---
struct prefix_count prefix_count_sum(uint16_t slot);

#endif
