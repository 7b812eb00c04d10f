// SPDX-License-Identifier: BSD-3-Clause
// acl_binding.c - access lists that an interface has
#include "feature/acl_binding.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "config/leaf.h"
#include "port/iface_manager.h"

struct acl_binding acl_binding_read(const struct lyd_node *first, const struct lysc_node *parent)
{
    const struct lyd_node *acl = leaf_inside(first, parent, "acl");
    struct acl_binding b = {.in = ""};

    leaf_copy(b.in, sizeof b.in, acl, "in", "");
    leaf_copy(b.out, sizeof b.out, acl, "out", "");
    return b;
}

void acl_binding_inherit(struct acl_binding *b, const struct acl_binding *from)
{
    if (!b->in[0])
        memcpy(b->in, from->in, sizeof b->in);
    if (!b->out[0])
        memcpy(b->out, from->out, sizeof b->out);
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
