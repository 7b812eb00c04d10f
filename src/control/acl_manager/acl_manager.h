// SPDX-License-Identifier: BSD-3-Clause
// acl_manager.h - the thread that builds access lists and address sets, and writes table/acl.h
//
// Building takes up to minutes, so nobody waits for it: control has a change prepared and is told
// when it is ready; then it carries it out at once, perhaps takes it back, and ends it. One change
// at a time.
//
//     acl_manager_prepare(w)  ... done(0)      everything is read, checked, built aside
//     acl_manager_commit()                     forwarders find it
//     ... the rest of the configuration ...
//     acl_manager_end(true), or acl_manager_undo() and acl_manager_end(false)
//
// All calls: control role.
#ifndef ACL_MANAGER_ACL_MANAGER_H
#define ACL_MANAGER_ACL_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_manager/acl_desired.h"

int acl_manager_start(void);
void acl_manager_stop(void);

// --- changes ---
// `set`, `list`: read files again of the one of this name, "" = of all, NULL = of none. `done` is
// called on the control loop; result 0: ready; -EINVAL: refused, `why` says it in lines; -EAGAIN:
// another one went first. -EBUSY: a change is being prepared, or was and has not been ended.
struct acl_prepare_request {
    const struct acl_desired *wanted;
    const char *set, *list;
    void (*done)(void *ctx, int result, const char *why);
    void *ctx;
};
int acl_manager_prepare(const struct acl_prepare_request *ask);
// The same, waiting; whatever is being prepared or was gives way. At start, when nobody is served
// yet, and to go back.
int acl_manager_prepare_now(const struct acl_desired *wanted, struct text *why);
bool acl_manager_is_building(void); // a change is being prepared: questions are answered when it is
const struct acl_desired *acl_manager_prepared(void); // what is ready, or NULL
const struct acl_desired *acl_manager_desired(void);  // what is in force
// 0, or -errno with a sentence and nothing changed
int acl_manager_commit(char *err, size_t err_size);
void acl_manager_undo(void);
// what was committed stays; also of a change that was only prepared, with false
void acl_manager_end(bool stays);
// of a list, also of one that the commit under way takes away; 0 = there is none
uint16_t acl_manager_id(const char *name);

#endif
