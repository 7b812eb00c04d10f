// SPDX-License-Identifier: BSD-3-Clause
// config_bound.h - commits of clients that are bound to a virtual router (yang/owner.h)
//
// Such a client edits its part of the configuration, and knows no other. Its changes are checked
// against the schema's marks, then made in the whole configuration. Control role, as config.h.
#ifndef CONFIG_CONFIG_BOUND_H
#define CONFIG_CONFIG_BOUND_H

#include "config/config.h"

// What runs, as far as the virtual router's: one reference, without a model.
struct snapshot *config_bound(const char *vr);

// Commits what differs between two parts. As config_commit(), but -EPERM: something in it is not
// the client's to change; and no error or note tells of anything beyond the part: errors that are
// marked as the virtual router's (base/errors.h), and one sentence for all others.
struct bound_change {
    const char *vr;
    const struct lyd_node *from;
    struct lyd_node *to; // entries in it that the client made are marked as its own
};
int config_bound_commit(const struct bound_change *change, const struct commit *how,
                        struct config_result *result, struct errors *e);

#endif
