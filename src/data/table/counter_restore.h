// SPDX-License-Identifier: BSD-3-Clause
// counter_restore.h - continues counters of an earlier process (saved/saved_state.h)
//
// Values are added to control's block, on top of counts since the start. Control role.
#ifndef TABLE_COUNTER_RESTORE_H
#define TABLE_COUNTER_RESTORE_H

#include "table/counter.h"

// `cleared`: from counter_cleared_iface(); `since_wall_ns`: from counter_since_iface().
void counter_restore_iface(uint16_t iface, const struct counter_iface *c, uint64_t since_wall_ns,
                           const struct counter_cleared *cleared);
// Only the sums of `l`, which balance with the drops and nothing held.
void counter_restore_ledger(const struct ledger *l, const uint64_t drop[DROP_N]);
// Adds a virtual router's part of the drops.
void counter_restore_vr_drop(uint16_t vr, enum drop_reason reason, uint64_t packets);
void counter_restore_punt(enum punt_class class, const struct counter_punt *c);
void counter_restore_icmp(const struct counter_icmp *c);

#endif
