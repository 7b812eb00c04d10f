// SPDX-License-Identifier: BSD-3-Clause
// show_mirror.c - mirrors and what they have done: of ports, and for rules of access lists
#include <string.h>

#include "port/mirror_manager.h"
#include "restconf/state.h"
#include "table/watch.h"

static const char *direction(const struct mirror *m)
{
    bool rx = m->points >> WATCH_RX & 1, tx = m->points >> WATCH_TX & 1;

    return rx && tx ? "both" : rx ? "rx" : "tx";
}

// The rest of an entry.
static void write_done(struct jwrite *j, const struct mirror *m, const struct watch_count *n)
{
    if (m->to_port[0])
        jwrite_string(j, "to-port", m->to_port);
    else
        jwrite_string(j, "to-tap", m->to_tap);
    jwrite_u64(j, "sent", n->taken);
    jwrite_u64(j, "bytes", n->bytes);
    jwrite_u64(j, "missed", n->missed);
    jwrite_end(j, '}');
}

int show_mirror(struct show *s)
{
    struct jwrite *j = &s->out;
    struct watch_count n;
    struct mirror m;

    jwrite_begin(j, s->name, '[');
    for (unsigned i = 0; mirror_manager_at(i, &m, &n); i++) {
        if (m.session[0] ||
            (s->key[0] && (strcmp(s->key[0], m.port) || strcmp(s->key[1], direction(&m)))))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "port", m.port);
        jwrite_string(j, "direction", direction(&m));
        write_done(j, &m, &n);
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}

int show_mirror_session(struct show *s)
{
    struct jwrite *j = &s->out;
    struct watch_count n;
    struct mirror m;

    jwrite_begin(j, s->name, '[');
    for (unsigned i = 0; mirror_manager_at(i, &m, &n); i++) {
        if (!m.session[0] || (s->key[0] && strcmp(s->key[0], m.session)))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", m.session);
        write_done(j, &m, &n);
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}
