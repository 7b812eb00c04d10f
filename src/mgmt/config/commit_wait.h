// SPDX-License-Identifier: BSD-3-Clause
// acl_gate.h - a commit waits until its access lists are built
//
// Building takes up to a minute and the event loop does not wait for it. So a commit that changes
// access lists is tried twice: the first try has them prepared and ends with -EINPROGRESS, having
// changed nothing; when they are ready it is tried again, from the request on, and finds them. Who
// comes meanwhile is put behind. The candidate need not be made twice (config.h:
// config_commit_again). Control role.
#ifndef CONFIG_ACL_GATE_H
#define CONFIG_ACL_GATE_H

#include "base/errors.h"
#include "model/model.h"

// Whether the commit from one model to another may go on: 0: what it wants is ready, or no list or
// set changes. -EINPROGRESS: try again when acl_gate_wait calls. Other -errno: refused, with
// sentences.
int acl_gate(const struct model *from, const struct model *to, struct errors *e);
void acl_gate_wait(void (*fn)(void *ctx), void *ctx); // calls once, on a later turn of the loop
void acl_gate_when_empty(void (*fn)(void)); // calls whenever the last one that waited has gone on
// The commit went another way, or only looked: what is prepared is not wanted.
void acl_gate_leave(void);

// Reads files again (acl_manager.h: acl_manager_prepare) and puts what they say in force.
// -EINPROGRESS: try again, as above.
struct acl_reload {
    const char *set, *list;
    void (*done)(void *ctx, int result, const char *why); // 0, or -errno with sentences in lines
    void *ctx;
};
int acl_reload(const struct acl_reload *r);

#endif
