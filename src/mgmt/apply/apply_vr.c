// SPDX-License-Identifier: BSD-3-Clause
// apply_vr.c - steps of virtual routers: they come, go, and change their engine and flow hash
#include "apply/apply_vr.h"

#include <string.h>

#include "port/vr_manager.h"

static int run_vr(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_vr *v = to;

    if (from)
        return vr_manager_del(s->name, err, n);
    int r = vr_manager_add(s->name, v->netns, v->table, (enum fib_engine)v->engine, err, n);
    return r ? r : vr_manager_set_flow_hash(s->name, v->flow_hash, err, n);
}

static int run_engine(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return vr_manager_set_engine(s->name, (enum fib_engine) * (const uint8_t *)to, err, n);
}

static int run_flow_hash(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    return vr_manager_set_flow_hash(s->name, *(const struct flow_hash *)to, err, n);
}

static const struct step_kind vr_kind = {"vr", run_vr}, engine_kind = {"vr", run_engine},
                              flow_hash_kind = {"vr", run_flow_hash};

static bool vr_stays(const struct model_vr *a, const struct model_vr *b)
{
    return a && b && !strcmp(a->netns, b->netns) && a->table == b->table;
}

bool vr_name_stays(const struct plan_steps *p, const char *name)
{
    return !strcmp(name, VR_DEFAULT_NAME) ||
           vr_stays(model_find_vr(p->from, name), model_find_vr(p->to, name));
}

void plan_vrs_going(struct plan_steps *p)
{
    vec_foreach (&p->from->vr, v)
        if (!vr_name_stays(p, v->name))
            step_add(p, &vr_kind, v->name, v, NULL, 0);
}

void plan_vrs_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->vr, v)
        if (!vr_name_stays(p, v->name))
            step_add(p, &vr_kind, v->name, NULL, v, v->line);
}

static void add_engine(struct plan_steps *p, const char *name, const uint8_t *from,
                       const uint8_t *to, unsigned line)
{
    if (*from != *to)
        step_add(p, &engine_kind, name, from, to, line);
}

static void add_flow_hash(struct plan_steps *p, const char *name, const struct flow_hash *from,
                          const struct flow_hash *to, unsigned line)
{
    if (from->mode != to->mode || from->label != to->label || from->seed != to->seed)
        step_add(p, &flow_hash_kind, name, from, to, line);
}

void plan_engines(struct plan_steps *p)
{
    add_engine(p, VR_DEFAULT_NAME, &p->from->settings.engine, &p->to->settings.engine, 0);
    add_flow_hash(p, VR_DEFAULT_NAME, &p->from->settings.flow_hash, &p->to->settings.flow_hash, 0);
    vec_foreach (&p->to->vr, v) {
        const struct model_vr *old = model_find_vr(p->from, v->name);

        if (!vr_stays(old, v))
            continue;
        add_engine(p, v->name, &old->engine, &v->engine, v->engine_line);
        add_flow_hash(p, v->name, &old->flow_hash, &v->flow_hash, v->line);
    }
}
