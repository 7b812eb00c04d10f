// SPDX-License-Identifier: BSD-3-Clause
// apply_acl.h - steps of access lists and address sets, and of what they are bound to; control role
#ifndef APPLY_APPLY_ACL_H
#define APPLY_APPLY_ACL_H

#include "apply/apply_step.h"

// What is wanted has been prepared (acl_gate.h): lists come and change first, and those that go
// stay until plan_acls_end.
void plan_acls(struct plan_steps *p);
void plan_acls_end(const struct plan_steps *p, bool ok); // after the plan was run, or undone

// The lists of an interface; `from` NULL: it is new, `to` NULL: it goes.
void step_bind_acls(struct plan_steps *p, const char *interface, const struct model_acls *from,
                    const struct model_acls *to, unsigned line);

#endif
