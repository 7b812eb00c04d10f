// SPDX-License-Identifier: BSD-3-Clause
// show_each_vr.c - a list of state with an entry for each virtual router, by rib_manager's answers
#include <string.h>

#include "restconf/state.h"
#include "table/vr.h"

static bool is_wanted(const struct show *s, const struct vr *v)
{
    return v->used && (!s->key[0] || !strcmp(s->key[0], v->name));
}

static void ask_from(struct show *s)
{
    while (s->vr < VR_MAX && !is_wanted(s, vr_get((uint16_t)s->vr)))
        s->vr++;
    if (s->vr == VR_MAX) {
        jwrite_end(&s->out, ']');
        s->done(s, 0);
        return;
    }
    int r = s->ask(s);
    if (r)
        s->done(s, r);
}

void show_next_vr(struct show *s)
{
    s->vr++;
    ask_from(s);
}

int show_each_vr(struct show *s, int (*ask)(struct show *s))
{
    s->vr = 0;
    s->ask = ask;
    jwrite_begin(&s->out, s->name, '[');
    ask_from(s);
    return SHOW_LATER;
}
