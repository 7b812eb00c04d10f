// SPDX-License-Identifier: BSD-3-Clause
// acl_binding.c - access lists of an interface: read, inherited, checked, bound
//
// An interface without a list inherits one. A list that belongs to a virtual router gives way to an
// inherited list of the operator, and may be bound only inside its virtual router.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "config/leaf.h"
#include "interface/iface_manager.h"
#include "model/model.h"

struct acl_binding acl_binding_read(const struct lyd_node *first, const struct lysc_node *parent)
{
    const struct lyd_node *acl = leaf_inside(first, parent, "acl");
    struct acl_binding b = {.in = ""};

    leaf_copy(b.in, sizeof b.in, acl, "in", "");
    leaf_copy(b.out, sizeof b.out, acl, "out", "");
    return b;
}

static const char *owner_of(const char *name, const struct acl_desired *lists)
{
    const struct acl_desired_list *l = name[0] ? acl_desired_list_find(lists, name) : NULL;

    return l ? l->owner : "";
}

static void inherit(char *name, const char *from, const struct acl_desired *lists)
{
    if (from[0] && (!name[0] || (owner_of(name, lists)[0] && !owner_of(from, lists)[0])))
        memcpy(name, from, ACL_NAME_MAX);
}

void acl_binding_inherit(struct acl_binding *b, const struct acl_binding *from,
                         const struct acl_desired *lists)
{
    inherit(b->in, from->in, lists);
    inherit(b->out, from->out, lists);
}

void acl_binding_check(const struct acl_binding *b, const struct acl_desired *lists,
                       const char *what, const char *vr, unsigned line, struct errors *e)
{
    const char *const name[] = {b->in, b->out};

    for (unsigned d = 0; d < 2; d++) {
        const char *owner = owner_of(name[d], lists);

        if (owner[0] && strcmp(owner, vr))
            errors_add(e, line,
                       "%s: acl %s: access list %s belongs to vr %s, which this is not: expected "
                       "a list without 'vr'%s%s",
                       what, d ? "out" : "in", name[d], owner, vr[0] ? ", or one of vr " : "", vr);
    }
}

static int find_list(const char *name, uint16_t *id, char *err, size_t n)
{
    *id = name[0] ? acl_manager_id(name) : 0;
    if (!name[0] || *id)
        return 0;
    snprintf(err, n, "there is no access list '%s'", name);
    return -ENOENT;
}

static int run_bind(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct acl_binding *b = to;
    uint16_t in = 0, out = 0;
    int r = 0;

    if (b)
        r = find_list(b->in, &in, err, n);
    if (b && !r)
        r = find_list(b->out, &out, err, n);
    return r ? r : iface_manager_set_acl(s->name, in, out, err, n);
}

void acl_binding_plan(struct change *c, const char *interface, const struct acl_binding *from,
                      const struct acl_binding *to, unsigned line)
{
    static const struct step_kind binding = {"interface", run_bind};

    if (memcmp(from, to, sizeof *to))
        step_add(c, &binding, interface, from, to, line);
}
