// SPDX-License-Identifier: BSD-3-Clause
// counter_restore.h - counters of an earlier process that go on in this one (feature/saved_state.h)
//
// They are added to the block of control, whatever has been counted since the start. Control role.
#ifndef TABLE_COUNTER_RESTORE_H
#define TABLE_COUNTER_RESTORE_H

#include "table/counter.h"

// `cleared`: as of counter_cleared_iface(); `since_wall_ns`: as of counter_since_iface().
void counter_restore_iface(uint16_t iface, const struct counter_iface *c, uint64_t since_wall_ns,
                           const struct counter_cleared *cleared);
// Of `l` the sums, which balance with the drops and nothing held.
void counter_restore_ledger(const struct ledger *l, const uint64_t drop[DROP_N]);
// The part of a virtual router in the drops.
void counter_restore_vr_drop(uint16_t vr, enum drop_reason reason, uint64_t packets);
void counter_restore_punt(enum punt_class class, const struct counter_punt *c);
void counter_restore_icmp(const struct counter_icmp *c);

#endif
