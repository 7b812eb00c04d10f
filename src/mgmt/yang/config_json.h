// SPDX-License-Identifier: BSD-3-Clause
// config_json.h - a tree as JSON (RFC 7951)
#ifndef YANG_CONFIG_JSON_H
#define YANG_CONFIG_JSON_H

#include <jansson.h>
#include <libyang/libyang.h>
#include <stdbool.h>

#include "base/errors.h"

// All siblings, indented, for people; explicit values only. Owned by the caller.
char *config_json_text(const struct lyd_node *tree);
// Both are merged into the tree.
void config_read_json(struct lyd_node **tree, const char *text, struct errors *e);
void config_read_value(struct lyd_node **tree, json_t *root, struct errors *e);
void config_merge(struct lyd_node **tree, struct lyd_node *more); // takes `more` over

#endif
