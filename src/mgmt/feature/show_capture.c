// SPDX-License-Identifier: BSD-3-Clause
// show_capture.c - captures that run
#include <stdio.h>
#include <string.h>

#include "feature/capture.h"
#include "restconf/state.h"
#undef NS_PER_SECOND // DPDK's and base/clock.h's are the same number
#include "base/clock.h"
#include "feature/capture.h"

static void write_capture(struct jwrite *j, const struct capture *c)
{
    struct watch_count n = watch_sum((unsigned)c->watch);

    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "id", c->id);
    jwrite_string(j, "client", c->peer);
    jwrite_begin(j, "point", '[');
    for (unsigned p = 0; p < WATCH_POINT_N; p++)
        if (c->spec.points >> p & 1)
            jwrite_string(j, NULL, watch_point_name[p]);
    jwrite_end(j, ']');
    if (c->spec.port[0])
        jwrite_string(j, "port", c->spec.port);
    if (c->spec.interface[0])
        jwrite_string(j, "interface", c->spec.interface);
    if (c->filter[0])
        jwrite_string(j, "filter", c->filter);
    jwrite_int(j, "snaplen", c->spec.snap);
    jwrite_u64(j, "seconds", (clock_now_ns() - c->began_ns) / NS_PER_SECOND);
    jwrite_u64(j, "sent", c->sent);
    jwrite_u64(j, "taken", n.taken);
    jwrite_u64(j, "bytes", n.bytes);
    jwrite_u64(j, "missed", n.missed);
    jwrite_end(j, '}');
}

int show_capture(struct show *s)
{
    char id[12];

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; i < CAPTURE_MAX; i++) {
        const struct capture *c = capture_at(i);
        snprintf(id, sizeof id, "%u", c ? c->id : 0);
        if (c && (!s->key[0] || !strcmp(s->key[0], id)))
            write_capture(&s->out, c);
    }
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
