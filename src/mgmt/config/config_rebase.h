// SPDX-License-Identifier: BSD-3-Clause
// config_rebase.h - merges two changes of the same configuration, or reports where they conflict
#ifndef CONFIG_CONFIG_REBASE_H
#define CONFIG_CONFIG_REBASE_H

#include <stdbool.h>

#include "base/errors.h"

struct lyd_node;

// `mine` and `theirs` both derive from `base`. Applies my changes to `theirs`. Where both changed
// the same value in different ways, or one deleted what the other changed, a sentence is added to
// `conflicts` and mine wins.
struct lyd_node *config_rebase(const struct lyd_node *base, const struct lyd_node *mine,
                               const struct lyd_node *theirs, struct errors *conflicts);

// Repeats the changes from `base` to `mine` in another tree, which contains more than these.
void config_repeat(const struct lyd_node *base, const struct lyd_node *mine,
                   struct lyd_node **tree);

#endif
