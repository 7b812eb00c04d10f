// SPDX-License-Identifier: BSD-3-Clause
// change.h - from one model to another through the managers: all or nothing
//
// The difference of two models is a list of steps. A step is a thing of some kind with its state
// before and after, NULL where it is absent:
//
//     (port, NULL, p)   attach p        (port, p, NULL)   detach p
//     (port, p, p')     change p        backwards: the same with the two swapped
//
// so that to undo is to run the steps done so far backwards with before and after swapped: there is
// no second description that could differ from the first. Each feature says what differs of its
// part, in the phases of feature_config.h. Control role.
#ifndef CONFIG_CHANGE_H
#define CONFIG_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/vec.h"
#include "config/model.h"

struct step;

struct step_kind {
    const char *what; // "port": with the name, what a manager's sentence is about
    // Gets the thing from one state to the other, one of which may be NULL. 0 or -errno with a
    // sentence. A step that fails has changed nothing.
    int (*run)(const struct step *s, const void *from, const void *to, char *err, size_t n);
};

struct step {
    const struct step_kind *kind;
    const void *from, *to; // what they are the kind knows; they live as long as the change
    const char *name;      // of the thing; "" when there is only one
    unsigned line;
};

struct change {
    const struct model *from, *to;
    VEC(struct step) step;
    VEC(void *) kept; // freed with it
};

// The steps from one model to the other, in order. change_free() whether they were made or not.
void change_plan(struct change *c, const struct model *from, const struct model *to);
void change_free(struct change *c);

// Carries out what differs. 0; or -errno with the manager's sentence and its line added to `e`, and
// what had been done undone. Between two steps others are served (aside_pause): they see what is so
// far, and change nothing of it.
// In an upgrade: what a failed change has done is another kamueed's, too, and is not undone; the
// process ends in fn. NULL: it is undone.
void change_instead_of_undo(void (*fn)(const struct errors *e));
int change_make(const struct model *from, const struct model *to, struct errors *e);

// --- what is made ready before ---
//
// Building access lists takes up to a minute. The turn (core/aside.h) waits for it, and with it the
// later changes; the loop serves everybody else.

// 0: all features are ready. -errno: refused, with sentences.
int commit_prepare(const struct model *from, const struct model *to, struct errors *e);
void commit_abandon(void); // what is prepared is not wanted, if anything is

// --- for features ---
void step_add(struct change *c, const struct step_kind *kind, const char *name, const void *from,
              const void *to, unsigned line);
// A step of a value that there is once, if its bytes differ.
void step_add_value(struct change *c, const struct step_kind *kind, const void *from,
                    const void *to, size_t size);
const char *step_subject(const struct step *s, char *buf, size_t n); // "port p0"; returns buf

#endif
