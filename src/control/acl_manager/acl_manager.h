// SPDX-License-Identifier: BSD-3-Clause
// acl_manager.h - the thread that builds access lists and address sets, and writes table/acl.h
//
// Building takes up to minutes, so control does not wait: it requests the preparation of a change,
// is called when it is ready, commits it in a short call, perhaps undoes it, and ends it. One
// change at a time. All calls: control role.
//
//     acl_manager_prepare(w)  ... done(0)      everything is read, checked, built aside
//     acl_manager_commit()                     forwarders find it
//     ... the rest of the configuration ...
//     acl_manager_end(true), or acl_manager_undo() and acl_manager_end(false)
#ifndef ACL_MANAGER_ACL_MANAGER_H
#define ACL_MANAGER_ACL_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_manager/acl_desired.h"

int acl_manager_start(void);
void acl_manager_stop(void);

// --- changes ---
// `set`, `list`: read the files of this one again, "" = of all, NULL = of none. `done` is called on
// the control loop: 0: ready; -EINVAL: refused, `why` has the reasons, one a line; -EAGAIN: a later
// change took precedence. -EBUSY: a change is being prepared, or is ready and not ended.
struct acl_temporary { // a change of a list's temporary rules, and of nothing else
    char list[ACL_NAME_MAX];
    VEC(uint32_t) del;
    const char *add; // rules, one a line; a number in `del`, too, stays
    bool replace;    // deletes all others
};
struct acl_prepare_request {
    const struct acl_desired *wanted;
    const char *set, *list;
    const struct acl_temporary *temporary; // NULL = none; copied
    bool aside; // builds all that changes aside, nothing in place: for acl_manager_content
    void (*done)(int result, const char *why);
};
int acl_manager_prepare(const struct acl_prepare_request *ask);
// The same, but waits; discards a change that is being prepared or ready. For the start, and for
// rollback.
int acl_manager_prepare_now(const struct acl_desired *wanted, struct text *why);
bool acl_manager_is_building(void);                   // queries are answered when the build is over
const struct acl_desired *acl_manager_prepared(void); // the prepared state, or NULL
const struct acl_desired *acl_manager_desired(void);  // the state in force
// Number of rules of a list, or members of a set, with the content of their files: of the prepared
// state, otherwise of the state in force. 0: no such list or set.
uint64_t acl_manager_rules(const char *list);
uint64_t acl_manager_members(const char *set);
uint32_t acl_manager_temporary(const char *list); // number of temporary rules in force
unsigned acl_manager_version(void); // changes with each change of the state in force
// Content of the list after the prepared change, which has been built aside; without one, of the
// list in force. NULL: there is none.
struct acl_content *acl_manager_content(const char *list);
// Had the list of acl_manager_content this content at that time, with the configuration of then?
// False also if it comes from a file now.
bool acl_manager_had(const char *list, uint64_t at_ns);
// 0, or -errno with a sentence and nothing changed
int acl_manager_commit(char *err, size_t err_size);
void acl_manager_undo(void);
// `stays`: the committed change remains; false after undo, or if it was only prepared
void acl_manager_end(bool stays);
// id of a list, also of one that the current commit removes; 0 = none
uint16_t acl_manager_id(const char *name);

#endif
