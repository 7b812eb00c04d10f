// SPDX-License-Identifier: BSD-3-Clause
// nexthop_count.h - packets and bytes sent to each next hop, if switched on
//
// Each forwarder counts into its own table, which exists once it has been switched on; switched
// off, a burst costs a check of a pointer. Readers add the tables up. Control switches; rib_manager
// clears an id that gets another meaning.
#ifndef TABLE_NEXTHOP_COUNT_H
#define TABLE_NEXTHOP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"
#include "table/limits.h"

struct nexthop_count {
    uint64_t packets;
    uint64_t bytes; // of frames as they left
};

// [NEXTHOP_MAX] of each forwarder while it counts, else NULL; the forwarder loads it once a poll.
extern struct nexthop_count *nexthop_counting[FORWARDER_MAX];

// --- control ---
int nexthop_count_set(bool on); // 0 or -ENOMEM and nothing changed; what was counted stays
void nexthop_count_fini(void);
// --- rib_manager: the id is new ---
void nexthop_count_clear(uint32_t id);
// --- any thread ---
bool nexthop_count_is_on(void);
struct nexthop_count nexthop_count_sum(uint32_t id);

#endif
