// SPDX-License-Identifier: BSD-3-Clause
// model.c - see model.h
//
// Everything here reads a model, or two of them, and calls no feature. So features may ask about
// each other's entries without calling each other in a circle.
#include "model/model.h"

#include <stdio.h>
#include <string.h>

// --- access lists --------------------------------------------------------------------------------

const struct acl_desired *model_acls(const struct model *m)
{
    return *(struct acl_desired *const *)m->part[FEATURE_acl];
}

const struct acl_binding *model_default_acls(const struct model *m)
{
    const struct model_forwarding *f = m->part[FEATURE_forwarding];

    return &f->acls;
}

// --- virtual routers -----------------------------------------------------------------------------

const char *const vr_daemon_names[VR_DAEMONS] = {"none", "frr", "bird"};

const struct model_vr *model_find_vr(const struct model *m, const char *name)
{
    return model_find_in(&model_vrs(m)->vr, name);
}

static struct renaming {
    char name[2][16]; // "" = none
} renaming;

void vr_rename_begin(const char *name, const char *to)
{
    snprintf(renaming.name[0], sizeof *renaming.name, "%s", name);
    snprintf(renaming.name[1], sizeof *renaming.name, "%s", to);
}

void vr_rename_end(void)
{
    memset(&renaming, 0, sizeof renaming);
}

const char *vr_other_name(const char *name)
{
    for (unsigned i = 0; i < 2; i++)
        if (renaming.name[i][0] && !strcmp(renaming.name[i], name))
            return renaming.name[!i];
    return name;
}

static bool same_table(const struct model_vr *a, const struct model_vr *b)
{
    return a && b && a->table == b->table &&
           (!strcmp(a->netns, b->netns) || (a->own_netns && b->own_netns));
}

static const struct model_vr *find_either(const struct model *m, const char *name)
{
    const struct model_vr *v = model_find_vr(m, name);

    return v ? v : model_find_vr(m, vr_other_name(name));
}

const struct model_vr *vr_before(const struct change *c, const struct model_vr *v)
{
    const struct model_vr *old = find_either(c->from, v->name);

    return same_table(old, v) ? old : NULL;
}

bool vr_stays(const struct change *c, const char *name)
{
    return !strcmp(name, VR_DEFAULT_NAME) ||
           same_table(find_either(c->from, name), find_either(c->to, name));
}

bool vr_is_same(const struct change *c, const char *from, const char *to)
{
    return !strcmp(from, to) || (!strcmp(vr_other_name(from), to) && vr_is_renamed(c, from));
}

bool vr_is_renamed(const struct change *c, const char *name)
{
    const struct model_vr *a = find_either(c->from, name), *b = find_either(c->to, name);

    return vr_other_name(name) != name && same_table(a, b) && strcmp(a->name, b->name);
}

// --- ports ---------------------------------------------------------------------------------------

struct model_ports *model_ports(const struct model *m)
{
    return m->part[FEATURE_port];
}

struct model_port *model_find_port(const struct model *m, const char *name)
{
    return model_find_in(&model_ports(m)->port, name);
}

bool port_same_device(const struct model_port *a, const struct model_port *b)
{
    return !a->config.lag.mode == !b->config.lag.mode &&
           !strcmp(a->config.devargs, b->config.devargs) &&
           !strcmp(a->config.netns, b->config.netns);
}

// A port whose device changes keeps its interface and the addresses on its TAP, unless another port
// has used the new device until now: then both ports are removed first.
bool port_stays(const struct change *c, const char *name)
{
    const struct model_port *a = model_find_port(c->from, name), *b = model_find_port(c->to, name);

    if (!a || !b || strcmp(a->config.member_of, b->config.member_of)) // a member has no interface
        return false;
    if (port_same_device(a, b))
        return true;
    if (a->config.lag.mode || b->config.lag.mode)
        return false;
    vec_foreach (&model_ports(c->from)->port, other)
        if (other != a && port_config_same_device(&other->config, &b->config))
            return false;
    return true;
}

// --- vports --------------------------------------------------------------------------------------

const struct model_vport *model_find_vport(const struct model *m, const char *name)
{
    return model_find_in(&model_vports(m)->vport, name);
}

bool vport_stays(const struct change *c, const char *name)
{
    const struct model_vport *a = model_find_vport(c->from, name),
                             *b = model_find_vport(c->to, name);

    return a && b && !memcmp(&a->tags, &b->tags, sizeof a->tags) && !strcmp(a->port, b->port) &&
           port_stays(c, a->port);
}

// --- metalinks -----------------------------------------------------------------------------------

static const struct model_metalink *find_metalink(const struct model *m, const char *name)
{
    return model_find_in(&model_metalinks(m)->metalink, name);
}

const struct model_metalink *model_find_metalink(const struct model *m, const char *interface,
                                                 unsigned *end)
{
    size_t n = strlen(interface);
    char name[16];

    if (n < 3 || n >= sizeof name || interface[n - 2] != '-' ||
        (interface[n - 1] != 'a' && interface[n - 1] != 'b'))
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)n - 2, interface);
    if (end)
        *end = interface[n - 1] == 'b';
    return find_metalink(m, name);
}

bool metalink_stays(const struct change *c, const char *name)
{
    const struct model_metalink *a = find_metalink(c->from, name), *b = find_metalink(c->to, name);
    bool same = a && b;

    for (unsigned k = 0; k < 2 && same; k++)
        same = !strcmp(a->vr[k], b->vr[k]) && vr_stays(c, a->vr[k]);
    return same;
}

// --- tunnels -------------------------------------------------------------------------------------

const struct model_tunnel *model_find_tunnel(const struct model *m, const char *name)
{
    return model_find_in(&model_tunnels(m)->tunnel, name);
}

bool tunnel_stays(const struct change *c, const char *name)
{
    const struct model_tunnel *a = model_find_tunnel(c->from, name),
                              *b = model_find_tunnel(c->to, name);

    return a && b && !memcmp(&a->settings, &b->settings, sizeof a->settings) &&
           vr_is_same(c, a->outer_vr, b->outer_vr) && vr_stays(c, a->outer_vr);
}

// --- interfaces ----------------------------------------------------------------------------------

const struct model_interface *model_find_interface(const struct model *m, const char *name)
{
    return model_find_in(&model_interfaces(m)->interface, name);
}

const struct model_interface *model_find_configured_interface(const struct model *m,
                                                              const char *name)
{
    return model_find_in(&model_interfaces(m)->configured, name);
}

bool model_owns_name(const struct model *m, const char *name)
{
    return model_find_interface(m, name) || model_find_port(m, name);
}

const char *model_vr_of(const struct model *m, const char *interface)
{
    const struct model_interface *i = model_find_configured_interface(m, interface);

    return i ? i->vr : VR_DEFAULT_NAME;
}

bool interface_stays(const struct change *c, const char *name)
{
    const struct model_metalink *l = model_find_metalink(c->from, name, NULL);

    return port_stays(c, name) || vport_stays(c, name) || (l && metalink_stays(c, l->name)) ||
           tunnel_stays(c, name);
}
