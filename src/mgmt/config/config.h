// SPDX-License-Identifier: BSD-3-Clause
// config.h - transactions: changes of the running configuration
//
// Only config_commit() changes it (and the rollback of an unconfirmed commit): a candidate is
// checked, compared, stored on disk, applied through the managers, and only then becomes the
// running configuration. Control role, in a turn of ASIDE_CHANGE once the loop runs (core/aside.h).
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

// Reads the start configuration, from the latest source: the newest confirmed revision, unless the
// file has been changed since, or `file_only`. `source`: text whose line numbers the errors use. 0,
// or -errno with errors.
int config_read_start(bool may_be_missing, bool file_only, struct lyd_node **candidate,
                      struct errors *e, struct text *source);
// Applies it, with the model from config_model_of(): the first commit of this process. Takes over
// both. A full disk does not prevent the start.
int config_start(struct lyd_node *candidate, struct model *m, struct errors *e);

struct config_result;
struct commit {
    const char *by;
    const char *comment;  // or NULL
    unsigned
        confirm_s; // rolled back unless confirmed within so many seconds; 0 = confirmed at once
    uint64_t session;     // session of the candidate; 0: none (candidate.h sets it)
    bool confirms; // confirms a pending commit of the same session, or of the same user without a
                   // session
    bool check_only;
    // Judges the valid, prepared candidate: 0, or -errno with sentences. NULL: nobody does.
    int (*judge)(void *ctx, const struct model *from, const struct model *to,
                 struct config_result *result, struct errors *e);
    void *judge_ctx;
};

struct config_result {
    struct text change; // set/delete lines
    unsigned n_changes;
    struct errors notes;
    struct text flows; // of the judge: JSON
};
void config_result_free(struct config_result *r);

// Checks the candidate and, unless `check_only`, applies it and makes it the running configuration.
// Takes over the candidate in any case. 0; -EINVAL: not valid; -EBUSY: another commit waits to be
// confirmed; other -errno: refused by a manager or the disk. After an error nothing has changed,
// and `e` tells why.
int config_commit(struct lyd_node *candidate, const struct commit *how,
                  struct config_result *result, struct errors *e);

#endif
