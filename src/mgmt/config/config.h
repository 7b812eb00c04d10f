// SPDX-License-Identifier: BSD-3-Clause
// config.h - transactions: how the running configuration changes
//
// Only config_commit() changes it (and the rollback of an unconfirmed commit): a candidate is
// checked, compared, kept on disk, applied through the managers, and only then becomes the running
// configuration. Control role, in a turn of ASIDE_CHANGE once the loop runs (core/aside.h).
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/text.h"
#include "config/config_file.h"
#include "config/config_running.h"

struct event_base;
struct lyd_node;

// Empty configuration, nothing applied. Revisions are kept in the directory; NULL: nowhere.
void config_init(const char *file, const char *state_dir);
void config_fini(void);

// What the router starts with: whoever spoke last. That is the newest confirmed revision, unless
// the file has been changed since, or `file_only`. `source`: whose lines the errors count. 0, or
// -errno with errors.
int config_read_start(bool may_be_missing, bool file_only, struct lyd_node **candidate,
                      struct errors *e, struct text *source);
// Of the lines there as they are, retired settings included: the same as of what config_print()
// wrote in the version that ran before. 0: they cannot be read.
uint64_t config_start_digest(bool file_only);
// Applies it, with the model that config_model_of() made of it: the first commit of this process.
// Takes over both. A disk that is full is no reason not to start.
int config_start(struct lyd_node *candidate, struct model *m, struct errors *e);

struct commit {
    const char *by;
    const char *comment;  // or NULL
    unsigned
        confirm_s; // goes back unless it is confirmed within so many seconds; 0 = counts at once
    uint64_t session;     // whose candidate it is; 0: nobody's (candidate.h sets it)
    bool confirms; // what waits to be confirmed is, if it is of the same session, or of the same
                   // person without one
    bool check_only;
};

struct config_result {
    struct text change; // set/delete lines
    unsigned n_changes;
    struct errors notes;
};
void config_result_free(struct config_result *r);

// Checks the candidate and, unless `check_only`, applies it and makes it the running one. Takes
// over the candidate in any case. 0; -EINVAL: not valid; -EBUSY: another commit waits to be
// confirmed; other -errno: a manager or the disk refused. Then nothing has changed, and `e` says
// why.
int config_commit(struct lyd_node *candidate, const struct commit *how,
                  struct config_result *result, struct errors *e);

#endif
