// SPDX-License-Identifier: BSD-3-Clause
// config.h - the running configuration and its transactions
//
// There is one running configuration: a checked tree and the model made of it.
// It changes only by config_commit(): a candidate is checked, compared, applied
// through the managers, and only then takes its place. Control role.
#ifndef MGMT_CONFIG_H
#define MGMT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "mgmt/errors.h"
#include "mgmt/model.h"

struct lyd_node;

const struct lyd_node *config_running(void); // NULL when empty
const struct model *config_model(void);
const char *config_file(void); // path of the configuration file

void config_init(const char *path); // empty configuration, nothing applied
void config_fini(void);

// Reads and checks the file as a candidate. A missing file is empty when `may_be_missing`. 0,
// -errno with errors.
int config_read_file(bool may_be_missing, struct lyd_node **candidate, struct errors *e);
// Everything that may be wrong with a candidate, and its model (also when there are errors); the
// caller frees it.
struct model *config_model_of(struct lyd_node **candidate, struct errors *e);

struct config_result {
    struct text change; // set/delete lines
    unsigned n_changes;
    struct errors notes;
};
void config_result_free(struct config_result *r);

// Checks the candidate and, unless `check_only`, applies it and makes it the running one. Takes
// over the candidate in any case. 0; -EINVAL: not valid; other -errno: a manager refused. Then
// nothing has changed, and `e` says why.
int config_commit(struct lyd_node *candidate, bool check_only, const char *by,
                  struct config_result *result, struct errors *e);

// Makes a candidate of the running configuration plus n lines and commits it.
int config_commit_lines(const char *const *line, unsigned n, bool check_only, const char *by,
                        struct config_result *result, struct errors *e);

// Writes the running configuration to the file: whole or not at all. 0 or -errno with a sentence.
int config_save(char *err, size_t err_size);

#endif
