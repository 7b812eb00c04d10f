// SPDX-License-Identifier: BSD-3-Clause
// config_running.h - the configuration that is in force: a checked tree and the model made of it
//
// To keep it while others change the running one (a candidate's base, a rollback), hold a reference
// to it as a snapshot. It changes only in turns of ASIDE_CHANGE (core/aside.h).
// Control role.
#ifndef CONFIG_CONFIG_RUNNING_H
#define CONFIG_CONFIG_RUNNING_H

#include <stdint.h>
#include <time.h>

#include "base/errors.h"
#include "config/model.h"

struct lyd_node;

struct snapshot { // never changes
    unsigned refs;
    struct lyd_node *tree; // NULL when empty
    struct model *model;
    uint64_t revision; // its number, 0 = of none
};

void config_running_init(void); // the empty configuration, nothing applied
void config_running_fini(void);

const struct snapshot *config_snapshot(void);
const struct lyd_node *config_running(void);
struct lyd_node *config_running_copy(void); // the caller's
const struct model *config_model(void);
uint64_t config_version(void);     // another one after each change
time_t config_changed_at(void);    // the last change

struct snapshot *snapshot_new(struct lyd_node *tree, struct model *m,
                              uint64_t revision); // takes both over; one reference
struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(struct snapshot *s);
void config_drop(struct lyd_node *tree); // frees it, some time

// Everything that may be wrong with a candidate, and its model (also when there are errors, but
// NULL when it has more of something than there may be); the caller frees it.
struct model *config_model_of(struct lyd_node **candidate, struct errors *e);

// Goes from the running one to `s` through the managers: 0, or -errno with sentences, and nothing
// has changed. What runs in the end is told by config_running_take(), or taken back by
// config_running_return().
int config_running_apply(const struct snapshot *s, struct errors *e);
void config_running_take(
    struct snapshot *s); // what was applied is the running one now; takes the reference
void config_running_return(const struct snapshot *s); // undoes config_running_apply(s)

#endif
