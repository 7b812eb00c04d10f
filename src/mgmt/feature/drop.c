// SPDX-License-Identifier: BSD-3-Clause
// show_drop.c - dropped packets by reason (table/drops.def)
#include <string.h>

#include "restconf/state.h"
#include "table/counter.h"

int show_drop(struct show *s)
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
