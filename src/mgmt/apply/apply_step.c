// SPDX-License-Identifier: BSD-3-Clause
// apply_step.c - a step from one model to another, and the plan they make
#include "apply/apply_step.h"

#include <stdio.h>

void step_add(struct plan_steps *p, const struct step_kind *kind, const char *name,
              const void *from, const void *to, unsigned line)
{
    *vec_push(&p->step) =
        (struct step){.kind = kind, .name = name, .from = from, .to = to, .line = line};
}

int step_run(const struct step *s, bool forward, char *err, size_t n)
{
    return s->kind->run(s, forward ? s->from : s->to, forward ? s->to : s->from, err, n);
}

const char *step_subject(const struct step *s, char *buf, size_t n)
{
    snprintf(buf, n, "%s%s%s", s->kind->what, s->name[0] ? " " : "", s->name);
    return buf;
}
