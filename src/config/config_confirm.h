// SPDX-License-Identifier: BSD-3-Clause
// config_confirm.h - a commit that waits to be confirmed, and goes back when it is not
//
// At most one waits. While it does, the revision on disk is an unconfirmed one: a kamueed that starts again, for
// whatever reason, starts with what was there before. Control role.
#ifndef CONFIG_CONFIG_CONFIRM_H
#define CONFIG_CONFIG_CONFIRM_H

#include <stddef.h>

#include "config/config_running.h"

struct event_base;

struct confirm {
    uint64_t revision;
    char by[64];
    unsigned seconds; // left
};

void confirm_init(struct event_base *loop); // NULL: nobody can wait
void confirm_fini(void);

const struct confirm *confirm_waiting(void); // or NULL
// The running configuration has to be confirmed within this time; else `back`, or what another one that waits would
// have gone back to, takes its place.
void confirm_wait(const struct snapshot *back, const char *by, unsigned seconds);
int confirm_now(const char *by, char *err, size_t err_size); // 0 or -errno with a sentence; 0 when nothing waits
void confirm_superseded(const char *by); // a later revision counts

#endif
