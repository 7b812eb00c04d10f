// SPDX-License-Identifier: BSD-3-Clause
// flow_effect.c - effects of a change on interfaces, as far as a trial can show them (flow_trial.h)
//
// The steps of the change say which parts are not tried: each kind of step is in a list of those
// that are, or do not choose a packet's way, or it is named in the answer. So a new kind is named
// until somebody decides otherwise.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "config/change.h"
#include "feature/flow_trial.h"
#include "feature/queue.h"
#include "model/model.h"
#include "table/iface.h"
#include "table/vr.h"

__attribute__((format(printf, 2, 3))) static void miss(struct flow_effect *f, const char *fmt, ...)
{
    char s[160];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    vec_foreach (&f->missing, m)
        if (!strcmp(*m, s))
            return;
    *vec_push(&f->missing) = strdup(s);
}

// --- steps ---------------------------------------------------------------------------------------

// Kinds of steps that need no mention: always; if the object comes or goes, with its interfaces.
// "": settings of the process, limits of punts and of ICMP errors.
static const char always[] = "||access lists|interface|policers of interface|sflow|ipfix|"
                             "mirror of port|mirror-session|api|thread|gpu|counters prefix|"
                             "program-signer|",
                  as_a_whole[] = "|port|vport|tunnel|metalink|vr|";

static bool is_tried(const struct step *s)
{
    char what[64];

    snprintf(what, sizeof what, "|%s|", s->kind->what);
    return strstr(always, what) || ((!s->from || !s->to) && strstr(as_a_whole, what));
}

// Is only the class map of a port's queue changed? It is tried.
static bool changes_map(struct flow_effect *f, const struct step *s)
{
    const struct model_queue *was = s->from, *is = s->to;
    const struct iface *i = iface_find_name(s->name);

    if (strcmp(s->kind->what, "queue of port") || !i || !was || !is)
        return false;
    struct model_queue mapped = *was;
    mapped.config.map = is->config.map;
    if (!queue_same(was, &mapped)) {
        f->trial.map[i->port] = &is->config.map;
        f->any = true;
    }
    return queue_same(&mapped, is);
}

static void read_steps(struct flow_effect *f)
{
    char subject[96];

    vec_foreach (&f->change.step, s)
        if (!is_tried(s) && !changes_map(f, s))
            miss(f, "%s", step_subject(s, subject, sizeof subject));
}

// --- access lists and policers -------------------------------------------------------------------

// Many interfaces have the same list.
static struct acl_content *content_of(struct flow_effect *f, const char *name)
{
    if (!name[0])
        return NULL;
    if (strcmp(f->last.name, name)) {
        snprintf(f->last.name, sizeof f->last.name, "%s", name);
        f->last.content = acl_manager_content(name);
    }
    return f->last.content;
}

static bool find_list(struct flow_effect *f, const char *name, uint16_t in_force,
                      struct trial_list *l)
{
    struct acl_content *c = content_of(f, name),
                       *now = in_force ? acl_table[in_force].content : NULL;

    *l = c == now ? (struct trial_list){.id = in_force}
                  : (struct trial_list){.content = c, .name = c ? name : NULL};
    return c != now;
}

static const struct policer *policer_for(const struct model *m, const char *interface,
                                         enum policer_direction d)
{
    const struct model_police *p = model_find_in(&model_policers(m)->police, interface);

    return p && p->policer[d].kind ? &p->policer[d] : NULL;
}

static bool find_policer(const struct change *c, const char *name, enum policer_direction d,
                         const struct policer **p)
{
    const struct policer *was = policer_for(c->from, name, d);

    *p = policer_for(c->to, name, d);
    return !was != !*p || (was && memcmp(was, *p, sizeof *was));
}

// --- interfaces ----------------------------------------------------------------------------------

// Finds the virtual router, which has the table now; false: it has none yet.
static bool find_vr(const struct change *c, const char *name, uint16_t *id)
{
    const struct model_vr *new = model_find_vr(c->to, name), *old = new ? vr_before(c, new) : NULL;
    const struct vr *v = vr_find(old ? old->name : name);

    *id = v ? v->id : 0;
    return v && (old || !strcmp(name, VR_DEFAULT_NAME));
}

static void find_effect(struct flow_effect *f, const struct change *c, const struct iface *i)
{
    const struct model_interface *was = model_find_interface(c->from, i->name),
                                 *is = model_find_interface(c->to, i->name);
    struct flow_effect_iface *of = &f->iface[i->id];
    struct trial_iface *t = &f->tried[i->id];

    of->to = is;
    if (!was) // not of the configuration
        return;
    of->goes = !is || !interface_stays(c, i->name);
    f->any |= of->goes;
    if (of->goes)
        return;
    if (was->policy.pcp_class != is->policy.pcp_class)
        miss(f, "interface %s: classes by 802.1p priority", is->name);
    if (was->policy.directed_broadcast != is->policy.directed_broadcast)
        miss(f, "interface %s: directed broadcasts", is->name);
    t->vr = i->vr;
    of->moves = !vr_is_same(c, was->vr, is->vr);
    if (of->moves && !find_vr(c, is->vr, &t->vr))
        of->new_vr = is->vr;
    memcpy(t->urpf, is->policy.urpf, sizeof t->urpf);
    t->differs = of->moves || memcmp(t->urpf, i->policy.urpf, sizeof t->urpf);
    t->differs |= find_list(f, is->acls.in, i->acl_in, &t->list[0]);
    t->differs |= find_list(f, is->acls.out, i->acl_out, &t->list[1]);
    for (enum policer_direction d = 0; d < POLICER_DIRECTIONS; d++) {
        of->police[d] = find_policer(c, i->name, d, &t->police[d]);
        t->differs |= of->police[d];
    }
    f->any |= t->differs;
}

void flow_effect_of(struct flow_effect *f, const struct model *from, const struct model *to)
{
    *f = (struct flow_effect){.tried = calloc(IFACE_MAX, sizeof *f->tried),
                              .iface = calloc(IFACE_MAX, sizeof *f->iface)};
    bug_on(!f->tried || !f->iface);
    f->trial.iface = f->tried;
    change_plan(&f->change, from, to);
    read_steps(f);
    iface_each (i)
        find_effect(f, &f->change, i);
}

void flow_effect_free(struct flow_effect *f)
{
    vec_foreach (&f->missing, m)
        free(*m);
    vec_free(&f->missing);
    change_free(&f->change);
    free(f->tried);
    free(f->iface);
}
