// SPDX-License-Identifier: BSD-3-Clause
// drop.c - dropped packets by reason (table/drops.def)
#include "feature/drop.h"

#include <string.h>

#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/vr.h"

static void write_drop(struct jwrite *j, enum drop_reason reason, uint64_t packets)
{
    const struct drop_info *d = &drop_info[reason];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", d->name);
    jwrite_u64(j, "packets", packets);
    jwrite_string(j, "severity", d->severity);
    jwrite_string(j, "sentence", d->sentence);
    jwrite_string(j, "source", d->source);
    jwrite_end(j, '}');
}

void drop_write_vr(struct jwrite *j, uint16_t vr)
{
    jwrite_begin(j, "drop", '[');
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++) {
        uint64_t n = counter_sum_vr_drop(vr, r);

        if (n)
            write_drop(j, r, n);
    }
    jwrite_end(j, ']');
}

static int show_drop(struct show *s)
{
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '[');
    for (int r = DROP_NONE + 1; r < DROP_N; r++) {
        if (s->key[0] && strcmp(s->key[0], drop_info[r].name))
            continue;
        write_drop(j, (enum drop_reason)r, counter_sum_drop((enum drop_reason)r));
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}

static void write_vr_metrics(struct metrics *m)
{
    metric_family(m, METRIC_COUNTER, "vr_drop_packets", "packets",
                  "Packets dropped in a virtual router, by reason.");
    for (uint16_t v = 0; v < VR_MAX; v++)
        for (enum drop_reason r = DROP_NONE + 1; vr_get(v)->used && r < DROP_N; r++) {
            uint64_t n = counter_sum_vr_drop(v, r);

            if (n)
                metric_u64(m, n, "vr", vr_get(v)->name, "reason", drop_info[r].name, NULL);
        }
}

static void write_drop_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_COUNTER, "drop_packets", "packets",
                  "Packets dropped, by reason ('kamuee show drops' explains each).");
    for (int r = DROP_NONE + 1; r < DROP_N; r++)
        metric_u64(m, counter_sum_drop((enum drop_reason)r), "reason", drop_info[r].name,
                   "severity", drop_info[r].severity, NULL);
    write_vr_metrics(m);
}

const struct feature drop_feature = {
    "drop",
    .state = (const struct feature_state[]){{"drop", .write = show_drop}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_drop_metrics},
};
