// SPDX-License-Identifier: BSD-3-Clause
// nexthop_count.h - packets and bytes sent to each next hop, if switched on
//
// Each forwarder counts into its own table, allocated when first switched on; switched off, a burst
// costs a check of one word. Readers sum the tables. Control switches; rib_manager clears an id
// that gets a new meaning.
//
// The same word tells whether packets may leave by an interface of another virtual router than they
// came in by, which the ledgers of both count (table/ledger_vr.h).
#ifndef TABLE_NEXTHOP_COUNT_H
#define TABLE_NEXTHOP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"
#include "table/limits.h"

struct nexthop_count {
    uint64_t packets;
    uint64_t bytes; // of frames as sent
};

// By forwarder: the address of its [NEXTHOP_ALL_MAX] while it counts, plus NEXTHOP_CROSS; 0:
// nothing to count. The forwarder loads it once per poll.
extern uintptr_t nexthop_counting[FORWARDER_MAX];
#define NEXTHOP_CROSS 1u

static inline struct nexthop_count *nexthop_count_row(uintptr_t counting)
{
    return (struct nexthop_count *)(counting & ~(uintptr_t)NEXTHOP_CROSS);
}

// --- control ---
int nexthop_count_set(bool on); // 0, or -ENOMEM without a change; keeps counts
void nexthop_count_fini(void);
// --- rib_manager: the id is new ---
void nexthop_count_clear(uint32_t id);
// --- control, rib_manager: before the first use of a next hop or tunnel that leads into another
// virtual router. When it returns, every forwarder counts, and continues to. ---
void nexthop_cross_begin(void);
// --- any thread ---
bool nexthop_count_is_on(void);
struct nexthop_count nexthop_count_sum(uint32_t id);

// --- packet counters of selected prefixes ---
//
// A counted prefix has a slot as long as it is configured, whatever happens to its route. The FIB
// leads to an alias (table/nexthop.h) that names the slot. Forwarders count when they follow it
// (forwarder/fwd.c), each in its own row; readers sum the rows. Other prefixes have no alias
// and cost nothing.
//
// rib_manager allocates slots; the configuration and each alias hold a reference. A slot is reused
// only a grace period after the last release.

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
