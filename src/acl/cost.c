// SPDX-License-Identifier: BSD-3-Clause
// cost.c - what a packet can cost: `show acl NAME cost`
#include "acl/core.h"
#include "acl/list.h"

static bool by_address_alone(const struct acl_rule *r)
{
    return r->proto_any && r->part == ACL_ANY_PART && r->dscp == ACL_DSCP_ANY;
}

static void core_cost(const struct core *c, struct acl_cost *cost)
{
    uint32_t tuples = 0;

    for (unsigned t = 0; t < c->n_tuples; t++)
        tuples += c->tuple[t].rules != 0;
    if (tuples + c->n_guards > cost->probes_max)
        cost->probes_max = tuples + c->n_guards;
    cost->tuples += tuples;
}

void acl_cost(const struct acl *a, struct acl_cost *cost)
{
    *cost = (struct acl_cost){0};
    for (unsigned f = 0; f < 2; f++)
        if (a->core[f])
            core_cost(a->core[f], cost);
    for (uint32_t s = 0; s < a->slots; s++)
        cost->address_only += a->rule[s].families && by_address_alone(&a->rule[s]);
}
