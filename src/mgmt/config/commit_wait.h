// SPDX-License-Identifier: BSD-3-Clause
// commit_wait.h - lets a commit wait until slow preparations are done
//
// Building access lists takes up to a minute, and the event loop must not wait. So a commit that
// needs preparation is tried twice: the first try starts the preparation and ends with
// -EINPROGRESS, without a change; when all is ready the request is tried again from its start.
// Commits that arrive meanwhile are queued. The candidate need not be made twice (config.h:
// config_commit_again). Control role.
#ifndef CONFIG_COMMIT_WAIT_H
#define CONFIG_COMMIT_WAIT_H

#include "base/errors.h"
#include "config/model.h"

// Whether the commit from one model to another may go on. 0: all features are ready.
// -EINPROGRESS: try again when commit_wait() calls. Other -errno: refused, with sentences.
int commit_prepare(const struct model *from, const struct model *to, struct errors *e);
void commit_abandon(void); // it only looked, or went another way: what is prepared is not wanted

void commit_wait(void (*fn)(void *ctx), void *ctx); // calls once, on a later turn of the loop
void commit_wait_when_empty(void (*fn)(void)); // calls whenever the last one has gone on
void commit_wait_end(void); // for features: ready, or refused; those who wait try again

#endif
