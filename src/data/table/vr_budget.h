// SPDX-License-Identifier: BSD-3-Clause
// vr_budget.h - how much each virtual router may use of shared resources
//
// Every writer checks before it adds: rib_manager before a route, a next hop or a neighbor, control
// before interfaces, rules, set members or a capture, a forwarder before it punts. So a virtual
// router beyond its budget harms only itself.
// Control writes the limits; any thread reads them.
#ifndef TABLE_VR_BUDGET_H
#define TABLE_VR_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "table/limits.h"
#include "table/punt.h"
#include "table/token_bucket.h"

enum vr_budget_kind {
#define VR_BUDGET(name, word, unit, step) VR_BUDGET_##name,
#include "table/vr_budget.def"
#undef VR_BUDGET
    VR_BUDGET_N
};

struct vr_budget_info {
    const char *word, *unit;
    uint32_t step;
};
extern const struct vr_budget_info vr_budget_info[VR_BUDGET_N];

// Limits, by enum vr_budget_kind; 0 = only the router's own limit.
struct vr_limits {
    uint64_t of[VR_BUDGET_N];
};

struct vr_budget {
    struct vr_limits limits;
    struct token_bucket_rate punt_rate; // of limits.of[VR_BUDGET_PUNT_RATE]
    uint64_t punt_full_at __attribute__((aligned(64))); // written by forwarders; their token bucket
} __attribute__((aligned(128)));
extern struct vr_budget vr_budgets[VR_MAX];

void vr_budget_set(uint16_t vr, const struct vr_limits *to); // control; takes effect at once

static inline uint64_t vr_budget_limit(uint16_t vr, enum vr_budget_kind kind)
{
    return __atomic_load_n(&vr_budgets[vr].limits.of[kind], __ATOMIC_RELAXED);
}

// Is there room for one more?
static inline bool vr_budget_has_room(uint16_t vr, enum vr_budget_kind kind, uint64_t used)
{
    uint64_t limit = vr_budget_limit(vr, kind);

    return !limit || used < limit;
}

// Forwarder: may a packet of that class be punted at TSC `now`? Classes that links and routing need
// may use the whole bucket, other classes half of it: so a flood of these leaves room for hellos.
// `dry`: takes no token.
static inline bool vr_budget_punt(uint16_t vr, enum punt_class class, uint64_t now, bool dry)
{
    struct vr_budget *b = &vr_budgets[vr];
    uint64_t interval = __atomic_load_n(&b->punt_rate.interval, __ATOMIC_RELAXED);
    uint64_t most = __atomic_load_n(&b->punt_rate.tolerance, __ATOMIC_RELAXED);
    uint64_t until;

    now = token_bucket_ticks(now);
    until = now + (class <= PUNT_NEIGH ? most : most / 2);
    if (!interval) // no limit
        return true;
    return dry ? __atomic_load_n(&b->punt_full_at, __ATOMIC_RELAXED) <= until
               : token_bucket_take_cost(&b->punt_full_at, interval, until, now);
}

#endif
