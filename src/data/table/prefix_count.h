// SPDX-License-Identifier: BSD-3-Clause
// prefix_count.h - packet counters of selected prefixes
//
// A counted prefix has a slot as long as it is configured, whatever happens to its route. The FIB
// leads to an alias (table/nexthop.h) that names the slot. Forwarders count when they follow it
// (forwarder/fwd.c), each in its own row; readers sum the rows. Other prefixes have no alias
// and cost nothing.
//
// rib_manager allocates slots; the configuration and each alias hold a reference. A slot is reused
// only a grace period after the last release.
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

// --- forwarder: its row of PREFIX_COUNT_MAX; slot 0 is for aliases without a counter ---
// `forwarder` = FORWARDER_MAX: the row of dry runs, which is never read.
struct prefix_count *prefix_count_row(unsigned forwarder);

// --- rib_manager ---
uint16_t
prefix_count_new(void); // one reference, count 0; 0 = none free. May wait for a grace period.
void prefix_count_hold(uint16_t slot); // 0 is fine
void prefix_count_put(uint16_t slot);  // 0 is fine

// --- any thread ---
struct prefix_count prefix_count_sum(uint16_t slot);

#endif
