// SPDX-License-Identifier: BSD-3-Clause
// config_running.h - the running configuration: a checked tree and the model made of it
//
// To keep it while others change it (a candidate's base, a rollback), hold a reference to it as a
// snapshot. It changes only in turns of ASIDE_CHANGE (core/aside.h).
// Control role.
#ifndef CONFIG_CONFIG_RUNNING_H
#define CONFIG_CONFIG_RUNNING_H

#include <stdint.h>
#include <time.h>

#include "base/errors.h"
#include "config/model.h"

struct lyd_node;

struct snapshot { // immutable
    unsigned refs;
    struct lyd_node *tree; // NULL when empty
    struct model *model;
    uint64_t revision; // its number, 0 = none
};

void config_running_init(void); // the empty configuration, nothing applied
void config_running_fini(void);

const struct snapshot *config_snapshot(void);
const struct lyd_node *config_running(void);
struct lyd_node *config_running_copy(void); // owned by the caller
const struct model *config_model(void);
uint64_t config_version(void);     // changes with each change
time_t config_changed_at(void);    // time of the last change

struct snapshot *snapshot_new(struct lyd_node *tree, struct model *m,
                              uint64_t revision); // takes both over; one reference
struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(struct snapshot *s);
void config_drop(struct lyd_node *tree); // frees it later

// Collects all errors of a candidate, and makes its model (even with errors, but NULL if some list
// is too long); the caller frees it.
struct model *config_model_of(struct lyd_node **candidate, struct errors *e);

// Goes from the running configuration to `s` through the managers: 0, or -errno with sentences and
// nothing changed. Then config_running_take() makes `s` the running configuration, or
// config_running_return() takes it back.
int config_running_apply(const struct snapshot *s, struct errors *e);
void config_running_take(
    struct snapshot *s); // makes the applied one the running one; takes the reference
void config_running_return(const struct snapshot *s); // undoes config_running_apply(s)

#endif
