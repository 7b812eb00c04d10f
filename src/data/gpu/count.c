// SPDX-License-Identifier: BSD-3-Clause
// count.c - sums the counters of a GPU in use (use.h), and names them
//
// Each forwarder counts in a row of its own; readers add the rows without stopping it. Ages of
// batches are a histogram with four buckets for each power of two, so a quantile is exact to a
// quarter.
#include "gpu/use.h"

#include <string.h>

#include "table/counter.h"

const char *const gpu_fault_name[GPU_FAULTS] = {"none", "lost", "silent", "wrong"};
const char *const gpu_cause_name[GPU_CAUSES] = {"split", "table-change", "full",
                                                "late",  "drain",        "failure"};
const char *const gpu_verdict_name[GPU_VERDICTS] = {"cpu-is-faster", "sends", "too-late"};

void gpu_use_sum(const struct gpu_use *u, struct gpu_count *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        counter_add_words(sum, &u->count[i], offsetof(struct gpu_count, cost));
}

uint64_t gpu_age_quantile(const uint64_t age[GPU_AGES], unsigned per_mille)
{
    uint64_t all = 0, below = 0;

    for (unsigned i = 0; i < GPU_AGES; i++)
        all += age[i];
    for (unsigned i = 0; i < GPU_AGES && all; i++) {
        below += age[i];
        if (below * 1000 >= all * per_mille) // end of the bucket
            return (uint64_t)(i % 4 + 5) << (GPU_AGE_MIN_BITS - 2 + i / 4);
    }
    return 0;
}
