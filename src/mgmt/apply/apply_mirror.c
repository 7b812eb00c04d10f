// SPDX-License-Identifier: BSD-3-Clause
// apply_mirror.c - steps of mirrors: of ports, and sessions for rules of access lists
#include "apply/apply_mirror.h"

#include <stdbool.h>

#include "port/mirror_manager.h"

static int run_mirror(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!from)
        return mirror_manager_add(&((const struct model_mirror *)to)->mirror, err, n);
    mirror_manager_del(&((const struct model_mirror *)from)->mirror);
    return 0;
}

static const struct step_kind mirror_kind = {"mirror of port", run_mirror},
                              session_kind = {"mirror-session", run_mirror};

static void add(struct plan_steps *p, const struct model_mirror *from,
                const struct model_mirror *to)
{
    const struct mirror *m = to ? &to->mirror : &from->mirror;
    bool is_session = m->session[0];

    step_add(p, is_session ? &session_kind : &mirror_kind, is_session ? m->session : m->port, from,
             to, to ? to->line : 0);
}

void plan_mirrors_going(struct plan_steps *p)
{
    vec_foreach (&p->from->mirror, r)
        if (!model_has_mirror(p->to, r))
            add(p, r, NULL);
}

void plan_mirrors_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->mirror, r)
        if (!model_has_mirror(p->from, r))
            add(p, NULL, r);
}
