// SPDX-License-Identifier: BSD-3-Clause
// apply_step.h - a step from one model to another, and the plan they make
//
// A step is a thing of some kind with its state before and after, NULL where it is absent:
//
//     (port, NULL, p)   attach p        (port, p, NULL)   detach p
//     (port, p, p')     change p        backwards: the same with the two swapped
//
// so that to undo is to run the steps done so far backwards with before and
// after swapped: there is no second description that could differ from the first.
// Each area has its kinds and says what differs in its apply_X.c. Control role.
#ifndef APPLY_APPLY_STEP_H
#define APPLY_APPLY_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "model/model.h"

struct step;

struct step_kind {
    const char *what; // "port": with the name, whom a manager's sentence is about
    // Gets the thing from one state to the other, one of which may be NULL. 0 or -errno with a
    // sentence.
    int (*run)(const struct step *s, const void *from, const void *to, char *err, size_t n);
};

struct step {
    const struct step_kind *kind;
    const void *from,
        *to; // what they are is the kind's to know; they live as long as the two models
    const char *name;      // of the thing; "" when there is only one
    unsigned line;
};

struct assignments {
    struct thread_assignment *item;
    size_t n;
};

struct plan_steps {
    const struct model *from, *to;
    VEC(struct step) step;
    struct assignments before, between, after; // apply_thread.c
};

void step_add(struct plan_steps *p, const struct step_kind *kind, const char *name,
              const void *from, const void *to, unsigned line);
int step_run(const struct step *s, bool forward, char *err, size_t n);
const char *step_subject(const struct step *s, char *buf, size_t n); // "port p0"; returns buf

#endif
