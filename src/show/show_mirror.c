// SPDX-License-Identifier: BSD-3-Clause
// show_mirror.c - port mirrors and what they have done
#include <string.h>

#include "port/mirror_manager.h"
#include "show/show.h"
#include "table/watch.h"

static const char *direction(const struct mirror *m)
{
    bool rx = m->points >> WATCH_RX & 1, tx = m->points >> WATCH_TX & 1;

    return rx && tx ? "both" : rx ? "rx" : "tx";
}

int show_mirror(struct show *s)
{
    struct jwrite *j = &s->out;
    struct watch_count n;
    struct mirror m;

    jwrite_begin(j, s->name, '[');
    for (unsigned i = 0; mirror_manager_at(i, &m, &n); i++) {
        if (s->key[0] && (strcmp(s->key[0], m.port) || strcmp(s->key[1], direction(&m))))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "port", m.port);
        jwrite_string(j, "direction", direction(&m));
        if (m.to_port[0])
            jwrite_string(j, "to-port", m.to_port);
        else
            jwrite_string(j, "to-tap", m.to_tap);
        jwrite_u64(j, "sent", n.taken);
        jwrite_u64(j, "bytes", n.bytes);
        jwrite_u64(j, "missed", n.missed);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}
