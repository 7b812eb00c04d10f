// SPDX-License-Identifier: BSD-3-Clause
// apply_mirror.c - steps of port mirrors
#include "apply/apply_mirror.h"

#include "port/mirror_manager.h"

static int run_mirror(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!from)
        return mirror_manager_add(&((const struct model_mirror *)to)->mirror, err, n);
    mirror_manager_del(&((const struct model_mirror *)from)->mirror);
    return 0;
}

static const struct step_kind mirror_kind = {"mirror of port", run_mirror};

void plan_mirrors_going(struct plan_steps *p)
{
    vec_foreach (&p->from->mirror, r)
        if (!model_has_mirror(p->to, r))
            step_add(p, &mirror_kind, r->mirror.port, r, NULL, 0);
}

void plan_mirrors_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->mirror, r)
        if (!model_has_mirror(p->from, r))
            step_add(p, &mirror_kind, r->mirror.port, NULL, r, r->line);
}
