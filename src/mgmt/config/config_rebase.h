// SPDX-License-Identifier: BSD-3-Clause
// config_rebase.h - two people changed the same configuration: both changes together, or where they
// collide
#ifndef CONFIG_CONFIG_REBASE_H
#define CONFIG_CONFIG_REBASE_H

#include <stdbool.h>

#include "base/errors.h"

struct lyd_node;

// `mine` and `theirs` both come from `base`. Makes `theirs` with my changes. Where both changed the
// same value in different ways, or one took away what the other changed, a sentence is added to
// `conflicts` and mine holds.
struct lyd_node *config_rebase(const struct lyd_node *base, const struct lyd_node *mine,
                               const struct lyd_node *theirs, struct errors *conflicts);

// Makes the changes from `base` to `mine` in another tree, which has more than they.
void config_repeat(const struct lyd_node *base, const struct lyd_node *mine,
                   struct lyd_node **tree);

#endif
