// SPDX-License-Identifier: BSD-3-Clause
// drop.c - dropped packets by reason (table/drops.def)
#include <string.h>

#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"

static int show_drop(struct show *s)
{
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '[');
    for (int r = DROP_NONE + 1; r < DROP_N; r++) {
        const struct drop_info *d = &drop_info[r];

        if (s->key[0] && strcmp(s->key[0], d->name))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", d->name);
        jwrite_u64(j, "packets", counter_sum_drop((enum drop_reason)r));
        jwrite_string(j, "severity", d->severity);
        jwrite_string(j, "sentence", d->sentence);
        jwrite_string(j, "source", d->source);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}

static void write_drop_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_COUNTER, "drop_packets", "packets",
                  "Packets dropped, by reason ('kamuee show drops' explains each).");
    for (int r = DROP_NONE + 1; r < DROP_N; r++)
        metric_u64(m, counter_sum_drop((enum drop_reason)r), "reason", drop_info[r].name,
                   "severity", drop_info[r].severity, NULL);
}

const struct feature drop_feature = {
    "drop",
    .state = (const struct feature_state[]){{"drop", .write = show_drop}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_drop_metrics},
};
