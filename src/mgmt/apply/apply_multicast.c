// SPDX-License-Identifier: BSD-3-Clause
// apply_multicast.c - steps of multicast routes
#include "apply/apply_multicast.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/apply_vr.h"
#include "rib/rib_manager.h"

static int run_multicast(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    const struct model_multicast *old = from, *new = to;
    int e = new ? rib_manager_multicast_set(new->vr, &new->route)
                : rib_manager_multicast_del(old->vr, &old->route.key);

    if (e == -ENOSPC)
        snprintf(err, n, "a virtual router can have at most %u multicast routes and joined groups",
                 MULTICAST_MAX);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

static const struct step_kind multicast_kind = {"multicast route", run_multicast};

// Before their virtual router goes; their interfaces are names and may come and go.
void plan_multicast_going(struct plan_steps *p)
{
    vec_foreach (&p->from->multicast, r)
        if (!vr_name_stays(p, r->vr) || !model_find_multicast(p->to, r->vr, &r->route.key))
            step_add(p, &multicast_kind, "", r, NULL, 0);
}

void plan_multicast_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->multicast, r) {
        const struct model_multicast *old = model_find_multicast(p->from, r->vr, &r->route.key);

        if (!old || !vr_name_stays(p, r->vr))
            step_add(p, &multicast_kind, "", NULL, r, r->line);
        else if (memcmp(&old->route, &r->route, sizeof r->route))
            step_add(p, &multicast_kind, "", old, r, r->line);
    }
}
