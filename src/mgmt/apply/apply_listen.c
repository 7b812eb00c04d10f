// SPDX-License-Identifier: BSD-3-Clause
// apply_listen.c - steps of listeners on loopback
#include "apply/apply_listen.h"

static int run_listen(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (to)
        return listen_open(&((const struct model_listen *)to)->listen, err, n);
    listen_close(&((const struct model_listen *)from)->listen);
    return 0;
}

static const struct step_kind listen_kind[LISTEN_N] = {
    [LISTEN_METRICS] = {"metrics", run_listen}, [LISTEN_WEB] = {"web", run_listen}};

// All that go before any comes: one may take the other's port.
void plan_listens(struct plan_steps *p)
{
    vec_foreach (&p->from->listen, l)
        if (!model_has_listen(p->to, l))
            step_add(p, &listen_kind[l->listen.what], "", l, NULL, 0);
    vec_foreach (&p->to->listen, l)
        if (!model_has_listen(p->from, l))
            step_add(p, &listen_kind[l->listen.what], "", NULL, l, l->line);
}
