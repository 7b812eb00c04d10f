// SPDX-License-Identifier: BSD-3-Clause
// config_edit.h - edits of a candidate, a tree that is not checked yet; control role
#ifndef CONFIG_CONFIG_EDIT_H
#define CONFIG_CONFIG_EDIT_H

#include <stdbool.h>

#include "base/errors.h"

struct lyd_node;
struct revision;

struct config_edit { // in this order
    const char *revision; // becomes that revision: how many back, "0" is the running one; or NULL
    bool file;                // becomes what the configuration file says
    bool replace;             // becomes empty, for what follows
    const char *text; // set/delete lines, or JSON of RFC 7951 when `json`, that are added; or NULL
    bool json;
    const char *const *line; // set/delete lines
    unsigned n_lines;
};

// Makes a tree of `from`, which is to stay meanwhile (core/aside.h), so edited. 0; or -EINVAL,
// -ENOENT or another -errno with errors, and there is none.
int config_edited(const struct lyd_node *from, const struct config_edit *how,
                  struct lyd_node **tree, struct errors *e);

// The revision that is so many before the one that runs, which is 0; or NULL. One that nobody
// confirmed is not counted: nobody means it by "the one before".
const struct revision *config_revision(unsigned back);
bool config_was_rolled_back(const struct revision *r); // nobody confirmed it

#endif
