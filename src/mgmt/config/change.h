// SPDX-License-Identifier: BSD-3-Clause
// change.h - from one model to another through the managers: all or nothing
//
// The difference of two models is a list of steps. A step is an object of some kind with its state
// before and after, NULL if absent:
//
//     (port, NULL, p)   attach p        (port, p, NULL)   detach p
//     (port, p, p')     change p        backwards: the same with the two swapped
//
// So undo means to run the completed steps backwards with before and after swapped: there is no
// second description that could differ from the first. Each feature lists the differences in its
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
    const char *what; // "port": with the name, the subject of a manager's sentence
    // Brings the object from one state to the other, one of which may be NULL. 0 or -errno with a
    // sentence. A failed step has changed nothing.
    int (*run)(const struct step *s, const void *from, const void *to, char *err, size_t n);
};

struct step {
    const struct step_kind *kind;
    const void *from, *to; // of a type known to the kind; they live as long as the change
    const char *name;      // of the object; "" if there is only one
    unsigned line;
};

struct change {
    const struct model *from, *to;
    VEC(struct step) step;
    VEC(void *) kept; // freed with the change
};

// The steps from one model to the other, in order. Always call change_free(), after success and
// failure.
void change_plan(struct change *c, const struct model *from, const struct model *to);
void change_free(struct change *c);

// Applies the differences. 0; or -errno with the manager's sentence and its line added to `e`, and
// completed steps undone. Other work runs between two steps (aside_pause): it sees the partial
// change, and modifies nothing in it.
// In an upgrade, the steps of a failed change affect another kamueed, too, and are not undone; the
// process ends in fn. NULL: they are undone.
void change_instead_of_undo(void (*fn)(const struct errors *e));
int change_make(const struct model *from, const struct model *to, struct errors *e);

// --- preparation ---
//
// Building access lists takes up to a minute. The turn (core/aside.h) waits for it, and so do later
// changes; the loop serves all other clients.

// 0: all features are ready. -errno: refused, with sentences.
int commit_prepare(const struct model *from, const struct model *to, struct errors *e);
void commit_abandon(void); // discards prepared changes, if any

// --- for features ---
void step_add(struct change *c, const struct step_kind *kind, const char *name, const void *from,
              const void *to, unsigned line);
const char *step_subject(const struct step *s, char *buf, size_t n); // "port p0"; returns buf

#endif
