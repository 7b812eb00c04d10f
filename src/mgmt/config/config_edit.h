// SPDX-License-Identifier: BSD-3-Clause
// config_edit.h - edits of a candidate, a tree that is not checked yet; control role
#ifndef CONFIG_CONFIG_EDIT_H
#define CONFIG_CONFIG_EDIT_H

#include <stdbool.h>

#include "base/errors.h"

struct lyd_node;
struct revision;

struct config_edit { // edits, in this order
    const char *revision; // start from that revision: steps back, "0" is the running one; or NULL
    bool file;                // start from the configuration file
    bool replace;             // start empty, before the following edits
    const char *text; // set/delete lines to add, or JSON of RFC 7951 when `json`; or NULL
    bool json;
    const char *const *line; // set/delete lines
    unsigned n_lines;
};

// Makes an edited copy of `from`, which must not change meanwhile (core/aside.h). 0; or -EINVAL,
// -ENOENT or another -errno with errors, and no tree.
int config_edited(const struct lyd_node *from, const struct config_edit *how,
                  struct lyd_node **tree, struct errors *e);

// The revision that is so many steps before the running one, which is 0; or NULL. Revisions that
// were never confirmed are not counted: "the previous one" never means those.
const struct revision *config_revision(unsigned back);
bool config_was_rolled_back(const struct revision *r); // it was never confirmed

#endif
