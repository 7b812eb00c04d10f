// SPDX-License-Identifier: BSD-3-Clause
// show_counted.c - prefixes whose packets are counted, by rib_manager's answer
#include <string.h>

#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

static void write_row(struct jwrite *j, const struct counted_row *r)
{
    char prefix[PREFIX_TEXT_MAX];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    jwrite_string(j, "prefix", prefix_format(&r->prefix, prefix));
    jwrite_bool(j, "active", r->active);
    if (r->nexthop)
        jwrite_int(j, "nexthop", r->nexthop);
    jwrite_u64(j, "packets", r->packets);
    jwrite_u64(j, "bytes", r->bytes);
    jwrite_end(j, '}');
}

static void answered(void *ctx, const struct counted_row *row, unsigned n)
{
    struct show *s = ctx;

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; i < n; i++)
        if (!s->key[0] || !strcmp(s->key[0], vr_get(row[i].vr)->name))
            write_row(&s->out, &row[i]);
    jwrite_end(&s->out, ']');
    s->done(s, 0);
}

int show_counted(struct show *s)
{
    int r = rib_manager_counted(answered, s);

    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
