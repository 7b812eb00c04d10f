// SPDX-License-Identifier: BSD-3-Clause
// config_confirm.h - a commit that waits to be confirmed, and is rolled back otherwise
//
// At most one waits. While it does, the revision on disk is an unconfirmed one: a kamueed that
// restarts for any reason starts with the revision before. The commit belongs to its session, not
// to its user, since two people may both be root; without a session it belongs to the user. Control
// role.
#ifndef CONFIG_CONFIG_CONFIRM_H
#define CONFIG_CONFIG_CONFIRM_H

#include <stddef.h>

#include "config/config_running.h"

struct event_base;

struct confirm {
    uint64_t revision;
    uint64_t session; // that committed it; 0: none, or it has ended
    char by[64];
    unsigned seconds; // left
};

void confirm_init(struct event_base *loop); // NULL: nobody can wait
void confirm_fini(void);

const struct confirm *confirm_waiting(void); // or NULL
// Whether the commit that waits is this one's: of the session (0: of none), else of the person.
bool confirm_is_of(uint64_t session, const char *by);
void confirm_session_ended(uint64_t session);
struct text;
void confirm_say(
    struct text *t); // "a commit by alice in session 7 must be confirmed …", and who may do it
// The running configuration has to be confirmed within this time; else `back`, or what another one
// that waits would have gone back to, takes its place.
void confirm_wait(const struct snapshot *back, const char *by, uint64_t session, unsigned seconds);
int confirm_now(const char *by, char *err,
                size_t err_size);        // 0 or -errno with a sentence; 0 when nothing waits
void confirm_superseded(const char *by); // a later revision counts

#endif
