// SPDX-License-Identifier: BSD-3-Clause
// config_confirm.h - a commit that must be confirmed, or is rolled back
//
// At most one is pending. Meanwhile the revision on disk is an unconfirmed one: a kamueed that
// restarts for any reason starts with the previous revision. The commit belongs to its session, not
// to its user, since two people may both be root; without a session it belongs to the user. Control
// role.
#ifndef CONFIG_CONFIG_CONFIRM_H
#define CONFIG_CONFIG_CONFIRM_H

#include <stddef.h>

#include "config/config_running.h"

struct event_base;

struct confirm {
    uint64_t revision;
    uint64_t session; // that committed it; 0: none, or the session has ended
    char by[64];
    unsigned seconds; // until rollback
};

void confirm_init(struct event_base *loop); // NULL: commits cannot be pending
void confirm_fini(void);

const struct confirm *confirm_waiting(void); // or NULL
// Does the pending commit belong to this session (0: none), or otherwise to this user?
bool confirm_is_of(uint64_t session, const char *by);
void confirm_session_ended(uint64_t session);
struct text;
void confirm_say(
    struct text *t); // "a commit by alice in session 7 must be confirmed …", and its owner
// The running configuration must be confirmed within this time; otherwise it is replaced by `back`,
// or by the rollback target of an earlier pending commit.
void confirm_wait(const struct snapshot *back, const char *by, uint64_t session, unsigned seconds);
int confirm_now(const char *by, char *err,
                size_t err_size);        // 0 or -errno with a sentence; 0 if none is pending
void confirm_superseded(const char *by); // a later revision is valid

#endif
