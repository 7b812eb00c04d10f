// SPDX-License-Identifier: BSD-3-Clause
// change.c - plans the steps of a change and runs them: all or nothing (change.h)
//
// Phase by phase, each feature contributes the steps of its tables and of its own functions, so the
// order of steps is that of enum phase. A step that fails ends the change with a sentence that
// names its object, and the completed steps run backwards. Control's loop runs between two steps.
// If kamueed is stopping, nothing is undone, because the process ends.
#include "config/change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/progress.h"
#include "config/feature_config.h"
#include "core/aside.h"
#include "core/thread.h"

void step_add(struct change *c, const struct step_kind *kind, const char *name, const void *from,
              const void *to, unsigned line)
{
    *vec_push(&c->step) =
        (struct step){.kind = kind, .name = name, .from = from, .to = to, .line = line};
}

const char *step_subject(const struct step *s, char *buf, size_t n)
{
    snprintf(buf, n, "%s%s%s", s->kind->what, s->name[0] ? " " : "", s->name);
    return buf;
}

// --- lists of features ---------------------------------------------------------------------------

struct list { // of a feature
    const struct feature_list *l;
    unsigned feature;
};

static const void *row_of_other(const struct change *c, const struct model *other,
                                const struct list *of, const char *row)
{
    const struct model_rows *rows = model_rows(other, of->feature, of->l);

    if (of->l->find)
        return of->l->find(c, other, row);
    if (of->l->stays && !of->l->stays(c, row))
        return NULL;
    if (!of->l->key_size)
        return model_find(rows->item, rows->n, of->l->row_size, row);
    for (const char *at = rows->item; at < rows->item + rows->n * of->l->row_size;
         at += of->l->row_size)
        if (!memcmp(at, row, of->l->key_size))
            return at;
    return NULL;
}

static void plan_removed(struct change *c, const struct list *of)
{
    const struct model_rows *rows = model_rows(c->from, of->feature, of->l);

    for (size_t i = 0; i < rows->n; i++) {
        const char *row = rows->item + i * of->l->row_size;

        if (!row_of_other(c, c->to, of, row))
            step_add(c, &of->l->step, of->l->unnamed ? "" : row, row, NULL, 0);
    }
}

static void plan_added(struct change *c, const struct list *of)
{
    const struct feature_list *l = of->l;
    const struct model_rows *rows = model_rows(c->to, of->feature, l);

    for (size_t i = 0; i < rows->n; i++) {
        const char *row = rows->item + i * l->row_size,
                   *old = row_of_other(c, c->from, of, row);

        if (!old || memcmp(old + l->value_at, row + l->value_at, l->value_size))
            step_add(c, &l->step, l->unnamed ? "" : row, old, row,
                     *(const unsigned *)(const void *)(row + l->line_at));
    }
}

static void plan_lists(struct change *c, unsigned feature, enum phase phase)
{
    for (const struct feature_list *l = features[feature]->config->lists; l && l->node; l++) {
        const struct list of = {l, feature};

        if (l->step.run && l->remove == phase)
            plan_removed(c, &of);
        if (l->step.run && l->add == phase)
            plan_added(c, &of);
    }
}

static void plan_values(struct change *c, unsigned feature, enum phase phase)
{
    const char *from = c->from->part[feature], *to = c->to->part[feature];

    for (const struct feature_value *v = features[feature]->config->values; v && v->size; v++)
        if (v->phase == phase && memcmp(from + v->at, to + v->at, v->size))
            step_add(c, &v->step, "", from + v->at, to + v->at,
                     v->line_at ? *(const unsigned *)(const void *)(to + v->line_at) : 0);
}

static void plan_feature(struct change *c, unsigned feature, enum phase phase)
{
    plan_lists(c, feature, phase);
    plan_values(c, feature, phase);
    for (const struct feature_phase *p = features[feature]->config->phases; p && p->plan; p++)
        if (p->phase == phase)
            p->plan(c);
}

void change_plan(struct change *c, const struct model *from, const struct model *to)
{
    *c = (struct change){.from = from, .to = to};
    for (enum phase phase = 0; phase < PHASE_N; phase++)
        for (unsigned i = 0; i < FEATURE_N; i++)
            if (features[i]->config)
                plan_feature(c, i, phase);
}

void change_free(struct change *c)
{
    vec_foreach (&c->kept, k)
        free(*k);
    vec_free(&c->kept);
    vec_free(&c->step);
}

static void blame_step(const struct step *s, const char *sentence, struct errors *e)
{
    char subject[64];

    step_subject(s, subject, sizeof subject);
    if (!strncmp(sentence, subject, strlen(subject)))
        errors_add(e, s->line, "%s", sentence);
    else
        errors_add(e, s->line, "%s: %s", subject, *sentence ? sentence : "refused");
}

static void revert_steps(const struct change *c, size_t done)
{
    char err[256] = "", subject[64];

    while (done--) {
        const struct step *s = &c->step.item[done];

        aside_pause();
        if (s->kind->run(s, s->to, s->from, err, sizeof err))
            log_error("config: not undone: what=\"%s\" error=\"%s\"",
                      step_subject(s, subject, sizeof subject), err);
    }
}

static void (*instead_of_undo)(const struct errors *e);

void change_instead_of_undo(void (*fn)(const struct errors *e))
{
    thread_must_be(ROLE_CONTROL);
    instead_of_undo = fn;
}

static int apply_steps(const struct change *c, struct errors *e)
{
    struct progress w = {0};

    for (size_t i = 0; i < c->step.n; i++) {
        const struct step *s = &c->step.item[i];
        char err[256] = "";

        progress_at(&w, i + 1, c->step.n);
        aside_pause(); // not after the last step, which may close the listener of the answer
        if (aside_stopped()) {
            errors_add(e, 0, "kamueed is stopping: the change was not completed");
            return -ECANCELED; // undoes nothing, since the process ends
        }
        int r = s->kind->run(s, s->from, s->to, err, sizeof err);
        if (r) {
            blame_step(s, err, e);
            if (instead_of_undo)
                instead_of_undo(e);
            revert_steps(c, i);
            return r;
        }
    }
    return 0;
}

int change_make(const struct model *from, const struct model *to, struct errors *e)
{
    struct change c;

    thread_must_be(ROLE_CONTROL);
    change_plan(&c, from, to);
    int r = apply_steps(&c, e);
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->finish)
            features[i]->config->finish(from, to, !r);
    change_free(&c);
    return r;
}

// --- preparation --------------------------------------------------------------------------------

int commit_prepare(const struct model *from, const struct model *to, struct errors *e)
{
    int r = 0;

    for (unsigned i = 0; i < FEATURE_N && !r; i++)
        if (features[i]->config && features[i]->config->prepare)
            r = features[i]->config->prepare(from, to, e);
    return r;
}

void commit_abandon(void)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->abandon)
            features[i]->config->abandon();
}
