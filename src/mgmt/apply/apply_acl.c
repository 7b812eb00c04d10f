// SPDX-License-Identifier: BSD-3-Clause
// apply_acl.c - steps of access lists and address sets, and of what they are bound to
//
// acl_manager has everything ready (acl_gate.c), so that the step itself is one short call,
// forwards or backwards. Only at the start, and when a commit is taken back because it cannot be
// kept on disk, nobody has asked, and it waits.
#include "apply/apply_acl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "core/thread.h"

static int run_acls(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct acl_wanted *ready = acl_manager_prepared(), *wanted = to;

    if (to != s->to) {
        acl_manager_undo();
        return 0;
    }
    if (ready && acl_wanted_equal(ready, wanted))
        return acl_manager_commit(err, n);
    struct text why = {0};
    int r = acl_manager_prepare_now(wanted, &why);
    if (r)
        snprintf(err, n, "%s", why.n ? why.s : strerror(-r));
    text_free(&why);
    return r ? r : acl_manager_commit(err, n);
}

static const struct step_kind acls_kind = {"access lists", run_acls};

void plan_acls(struct plan_steps *p)
{
    if (!acl_wanted_equal(p->from->acl, p->to->acl))
        step_add(p, &acls_kind, "", p->from->acl, p->to->acl, 0);
}

void plan_acls_end(const struct plan_steps *p, bool ok)
{
    if (acl_manager_prepared())
        acl_manager_end(ok && !acl_wanted_equal(p->from->acl, p->to->acl));
}

static int find(const char *name, uint16_t *id, char *err, size_t n)
{
    *id = name[0] ? acl_manager_id(name) : 0;
    if (!name[0] || *id)
        return 0;
    snprintf(err, n, "there is no access list '%s'", name);
    return -ENOENT;
}

static int run_bind(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_acls *b = to;
    uint16_t in = 0, out = 0;
    int r = 0;

    if (b)
        r = find(b->in, &in, err, n);
    if (b && !r)
        r = find(b->out, &out, err, n);
    return r ? r : iface_manager_set_acl(s->name, in, out, err, n);
}

static const struct step_kind bind_kind = {"interface", run_bind};
static const struct model_acls none;

void step_bind_acls(struct plan_steps *p, const char *interface, const struct model_acls *from,
                    const struct model_acls *to, unsigned line)
{
    if (memcmp(from ? from : &none, to ? to : &none, sizeof none))
        step_add(p, &bind_kind, interface, from ? from : &none, to ? to : &none, line);
}
