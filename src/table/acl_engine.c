// SPDX-License-Identifier: BSD-3-Clause
// acl_engine.c - see acl_engine.h
#include "table/acl_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

struct acl_engine {
    struct acl *ours;
    uint64_t build_ns;
};

struct acl_engine *acl_engine_new(const struct acl_engine_config *cfg, const struct acl_rule *r, size_t n)
{
    struct acl_engine *e = calloc(1, sizeof *e);
    uint64_t start = clock_now_ns();
    int rc;

    if (!e)
        return NULL;
    e->ours = acl_new(&cfg->acl);
    rc = e->ours ? acl_load(e->ours, r, n) : -errno;
    if (rc) {
        acl_engine_free(e);
        errno = -rc;
        return NULL;
    }
    e->build_ns = clock_now_ns() - start;
    return e;
}

void acl_engine_free(struct acl_engine *e)
{
    if (!e)
        return;
    acl_free(e->ours);
    free(e);
}

int acl_engine_add(struct acl_engine *e, const struct acl_rule *r)
{
    return acl_add(e->ours, r);
}

int acl_engine_del(struct acl_engine *e, uint32_t number)
{
    return acl_del(e->ours, number);
}

void acl_engine_choose(struct acl_engine *e)
{
}

const struct acl *acl_engine_list(const struct acl_engine *e)
{
    return e->ours;
}

uint64_t acl_engine_epoch(struct acl_engine *e)
{
    return acl_epoch(e->ours);
}

void acl_engine_reclaim(struct acl_engine *e, uint64_t epoch)
{
    acl_reclaim(e->ours, epoch);
}

void acl_engine_cost(const struct acl_engine *e, struct acl_engine_cost *c)
{
    struct acl_stats s;

    acl_stats(e->ours, &s);
    *c = (struct acl_engine_cost){.kind = ACL_ENGINE_OURS, .bytes = s.bytes, .writer_bytes = s.writer_bytes,
                                  .build_ns = e->build_ns, .rules = s.rules, .slots = s.slots};
    snprintf(c->why, sizeof c->why, "it takes changes in place");
    acl_cost(e->ours, &c->ours);
}

const char *acl_engine_kind_name(enum acl_engine_kind k)
{
    return k == ACL_ENGINE_OURS ? "ours" : "rte_acl";
}

void acl_engine_classify4(const struct acl_engine *e, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    acl_classify4(e->ours, key, slot, n);
}

void acl_engine_classify6(const struct acl_engine *e, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    acl_classify6(e->ours, key, slot, n);
}
