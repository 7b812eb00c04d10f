// SPDX-License-Identifier: BSD-3-Clause
// vr_show.c - virtual routers in requests
//
// An operation names its virtual router in the leaf `vr`. State asks rib_manager about one virtual
// router after the other, so that a client never has more than one call in rib_manager's mailbox.
#include "feature/vr_show.h"

#include <string.h>

#include "http/refuse.h"
#include "restconf/operation.h"
#include "table/vr.h"

const struct vr *vr_of_input(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "vr");
    const struct vr *v = vr_find(name);

    if (!v)
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", name);
    return v;
}

bool vr_of_input_or_all(struct http *h, const struct lyd_node *op, const struct vr **v)
{
    *v = NULL;
    return !*operation_input(op, "vr") || (*v = vr_of_input(h, op));
}

// --- state with an entry per virtual router ------------------------------------------------------

static bool is_wanted_vr(const struct show *s, const struct vr *v)
{
    return v->used && (!s->key[0] || !strcmp(s->key[0], v->name));
}

static void ask_from_cursor(struct show *s)
{
    while (s->cursor < VR_MAX && !is_wanted_vr(s, vr_get((uint16_t)s->cursor)))
        s->cursor++;
    if (s->cursor == VR_MAX) {
        s->done(s, 0);
        return;
    }
    int r = s->ask(s);
    if (r)
        s->done(s, r);
}

void vr_show_next(struct show *s)
{
    s->cursor++;
    ask_from_cursor(s);
}

int vr_show_each(struct show *s, int (*ask)(struct show *s))
{
    s->cursor = 0;
    s->ask = ask;
    ask_from_cursor(s);
    return 0;
}
