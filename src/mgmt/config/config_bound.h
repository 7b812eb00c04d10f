// SPDX-License-Identifier: BSD-3-Clause
// config_bound.h - commits of clients that are bound to a virtual router (yang/owner.h)
//
// Such a client edits its part of the configuration, and sees nothing else. Its changes are checked
// against the schema's marks, then made in the whole configuration. Control role, as config.h.
#ifndef CONFIG_CONFIG_BOUND_H
#define CONFIG_CONFIG_BOUND_H

#include "config/config.h"

// The virtual router's part of the running configuration: one reference, without a model.
struct snapshot *config_bound(const char *vr);

// Commits the difference between two parts. Like config_commit(), with two exceptions: -EPERM means
// that the client may not change some of it; and no error or note reveals anything outside the
// part: the client gets errors that are marked as the virtual router's (base/errors.h), and one
// sentence for all others.
struct bound_change {
    const char *vr;
    const struct lyd_node *from;
    struct lyd_node *to; // new entries of the client are marked as its own
};
int config_bound_commit(const struct bound_change *change, const struct commit *how,
                        struct config_result *result, struct errors *e);

#endif
