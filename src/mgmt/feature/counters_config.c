// SPDX-License-Identifier: BSD-3-Clause
// apply_counted.c - steps of counted prefixes
#include "apply/apply_counted.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/apply_vr.h"
#include "rib/rib_manager.h"

static int run_counted(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_counted *c = to ? to : from;
    int e = to ? rib_manager_counted_add(c->vr, &c->prefix)
               : rib_manager_counted_del(c->vr, &c->prefix);

    if (e == -ENOSPC)
        snprintf(err, n, "at most %u prefixes can be counted", PREFIX_COUNT_MAX - 1);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

static const struct step_kind counted_kind = {"counters prefix", run_counted};

// Before their virtual router goes.
void plan_counted_going(struct plan_steps *p)
{
    vec_foreach (&p->from->counted, c)
        if (!vr_name_stays(p, c->vr) || !model_has_counted(p->to, c))
            step_add(p, &counted_kind, "", c, NULL, 0);
}

void plan_counted_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->counted, c)
        if (!vr_name_stays(p, c->vr) || !model_has_counted(p->from, c))
            step_add(p, &counted_kind, "", NULL, c, c->line);
}
