// SPDX-License-Identifier: BSD-3-Clause
// apply_api.c - the step of the management interface
#include "apply/apply_api.h"

#include <string.h>

#include "http/api.h"

static int run_api(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return api_set(&((const struct model_api *)to)->config, err, n);
}

static const struct step_kind api_kind = {"api", run_api};

void plan_api(struct plan_steps *p)
{
    const struct model_api *from = &p->from->api, *to = &p->to->api;

    if (memcmp(&from->config, &to->config, sizeof from->config))
        step_add(p, &api_kind, "", from, to, to->line[0]);
}
