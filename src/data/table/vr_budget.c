// SPDX-License-Identifier: BSD-3-Clause
// vr_budget.c - writes the limits of a virtual router (vr_budget.h)
//
// Limits are stored one by one, so a reader may see some old and some new ones, each valid by
// itself. The bucket of punted packets holds a quarter of a second at its rate.
#include "table/vr_budget.h"

#include "core/thread.h"

#define PUNT_BURST_MIN 32u
#define PUNT_BURSTS_PER_S 4u // a full bucket lasts 1/4 s at the rate

const struct vr_budget_info vr_budget_info[VR_BUDGET_N] = {
#define VR_BUDGET(name, word, unit, step) {word, unit, step},
#include "table/vr_budget.def"
#undef VR_BUDGET
};

struct vr_budget vr_budgets[VR_MAX];

static uint32_t punt_burst(uint32_t per_s)
{
    return per_s / PUNT_BURSTS_PER_S > PUNT_BURST_MIN ? per_s / PUNT_BURSTS_PER_S : PUNT_BURST_MIN;
}

void vr_budget_set(uint16_t vr, const struct vr_limits *to)
{
    struct vr_budget *b = &vr_budgets[vr];
    uint32_t per_s = (uint32_t)to->of[VR_BUDGET_PUNT_RATE];

    thread_must_be(ROLE_CONTROL);
    for (unsigned k = 0; k < VR_BUDGET_N; k++)
        __atomic_store_n(&b->limits.of[k], to->of[k], __ATOMIC_RELAXED);
    token_bucket_rate_set(&b->punt_rate, per_s, punt_burst(per_s));
}
