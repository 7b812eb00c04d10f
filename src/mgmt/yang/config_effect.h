// SPDX-License-Identifier: BSD-3-Clause
// config_effect.h - what a change will do beyond taking effect (the schema's k:apply), for messages
// before and after it; control role
#ifndef YANG_CONFIG_EFFECT_H
#define YANG_CONFIG_EFFECT_H

#include "base/errors.h"
#include "base/text.h"

struct lyd_node;
struct lysc_node;

// live, port-restart or daemon-restart: of the node or the nearest one above that says so.
const char *config_apply_of(const struct lysc_node *s);
// As config_diff, and adds a sentence for each thing that restarts, and each value that waits for
// the next start.
unsigned config_diff_with_effects(const struct lyd_node *old, const struct lyd_node *new,
                                  struct text *t, struct errors *notes);

#endif
