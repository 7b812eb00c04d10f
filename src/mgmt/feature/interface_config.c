// SPDX-License-Identifier: BSD-3-Clause
// apply_interface.c - steps of ports, vports, and what belongs to an interface
#include "apply/apply_interface.h"

#include <string.h>

#include "apply/apply_acl.h"
#include "apply/apply_vr.h"
#include "port/iface_manager.h"

static int run_port(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_port *port = to;

    if (!from)
        return port_manager_attach(&port->config, err, n);
    if (!to)
        return port_manager_detach(s->name, err, n);
    return port_manager_change(&port->config, err, n);
}

static int run_vport(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_vport *v = to;

    if (from)
        return iface_manager_del(s->name, err, n);
    return iface_manager_add_vport(s->name, v->port, v->tags, v->mtu, v->vr, err, n);
}

static int run_vport_mtu(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    return iface_manager_set_mtu(s->name, ((const struct model_vport *)to)->mtu, err, n);
}

static int run_vr(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return iface_manager_set_vr(s->name, to, err, n);
}

static int run_policy(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return iface_manager_set_policy(s->name, to, err, n);
}

static int run_description(const struct step *s, const void *from, const void *to, char *err,
                           size_t n)
{
    return iface_manager_set_description(s->name, to, err, n);
}

static const struct step_kind port_kind = {"port", run_port}, vport_kind = {"vport", run_vport},
                              vport_mtu_kind = {"vport", run_vport_mtu},
                              iface_vr_kind = {"interface", run_vr},
                              policy_kind = {"interface", run_policy},
                              description_kind = {"interface", run_description};
static const struct iface_policy no_policy;

static void add_vr(struct plan_steps *p, const char *name, const char *from, const char *to,
                   unsigned line)
{
    if (strcmp(from, to))
        step_add(p, &iface_vr_kind, name, from, to, line);
}

static void add_policy(struct plan_steps *p, const char *name, const struct iface_policy *from,
                       const struct iface_policy *to, unsigned line)
{
    if (memcmp(from, to, sizeof *from))
        step_add(p, &policy_kind, name, from, to, line);
}

static void add_description(struct plan_steps *p, const char *name, const char *from,
                            const char *to, unsigned line)
{
    if (strcmp(from, to))
        step_add(p, &description_kind, name, from, to, line);
}

static bool device_same(const struct model_port *a, const struct model_port *b)
{
    return !a->config.lag.mode == !b->config.lag.mode &&
           !strcmp(a->config.devargs, b->config.devargs) &&
           !strcmp(a->config.netns, b->config.netns);
}

// A port whose device changes stays, with its interface and the addresses on its TAP, unless the
// device is another port's until now: then both have to go first.
static bool port_stays(const struct plan_steps *p, const struct model_port *a,
                       const struct model_port *b)
{
    if (!a || !b || strcmp(a->config.member_of, b->config.member_of)) // a member has no interface
        return false;
    if (device_same(a, b))
        return true;
    if (a->config.lag.mode || b->config.lag.mode)
        return false;
    vec_foreach (&p->from->port, other)
        if (other != a && port_config_same_device(&other->config, &b->config))
            return false;
    return true;
}

static bool port_same(const struct model_port *a, const struct model_port *b) // of one that stays
{
    const struct port_config *x = &a->config, *y = &b->config;

    return device_same(a, b) && x->rx_queues == y->rx_queues && x->tx_queues == y->tx_queues &&
           x->rx_descriptors == y->rx_descriptors && x->tx_descriptors == y->tx_descriptors &&
           x->rx_mode == y->rx_mode && x->mtu == y->mtu && x->promiscuous == y->promiscuous &&
           x->enabled == y->enabled && x->has_mac == y->has_mac &&
           (!x->has_mac || !memcmp(x->mac, y->mac, 6)) && !memcmp(&x->lag, &y->lag, sizeof x->lag);
}

static bool vport_stays(const struct plan_steps *p, const struct model_vport *a,
                        const struct model_vport *b)
{
    return a && b && !memcmp(&a->tags, &b->tags, sizeof a->tags) && !strcmp(a->port, b->port) &&
           port_stays(p, model_find_port(p->from, a->port), model_find_port(p->to, a->port));
}

// --- going ---------------------------------------------------------------------------------------

static void plan_vports_going(struct plan_steps *p)
{
    vec_foreach (&p->from->vport, v)
        if (!vport_stays(p, v, model_find_vport(p->to, v->name))) {
            step_bind_acls(p, v->name, &v->acls, NULL, 0);
            add_policy(p, v->name, &v->policy, &no_policy, 0); // so that undoing brings it back
            add_description(p, v->name, v->description, "", 0);
            step_add(p, &vport_kind, v->name, v, NULL, 0);
        }
    vec_foreach (&p->from->vport, v)
        if (vport_stays(p, v, model_find_vport(p->to, v->name)) && !vr_name_stays(p, v->vr))
            add_vr(p, v->name, v->vr, VR_DEFAULT_NAME, 0);
}

void plan_interfaces_going(struct plan_steps *p)
{
    plan_vports_going(p);
    vec_foreach (&p->from->port, i) {
        bool stays = port_stays(p, i, model_find_port(p->to, i->config.name));

        if (!stays || !vr_name_stays(p, i->vr))
            add_vr(p, i->config.name, i->vr, VR_DEFAULT_NAME, 0);
        if (!stays) {
            step_bind_acls(p, i->config.name, &i->acls, NULL, 0);
            add_policy(p, i->config.name, &i->policy, &no_policy, 0);
            add_description(p, i->config.name, i->description, "", 0);
            step_add(p, &port_kind, i->config.name, i, NULL, 0);
        }
    }
}

// --- coming --------------------------------------------------------------------------------------

static void plan_vport_mtu(struct plan_steps *p, bool larger)
{
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        if (vport_stays(p, old, v) && (larger ? v->mtu > old->mtu : v->mtu < old->mtu))
            step_add(p, &vport_mtu_kind, v->name, old, v, v->line);
    }
}

// Changes first: one may give up the device that a port to be attached takes.
static void plan_ports(struct plan_steps *p)
{
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        if (port_stays(p, old, i) && !port_same(old, i))
            step_add(p, &port_kind, i->config.name, old, i, i->line);
    }
    for (int lag = 0; lag <= 1; lag++) // behind their members, of which they have their MAC
        vec_foreach (&p->to->port, i)
            if (!i->config.lag.mode == !lag &&
                !port_stays(p, model_find_port(p->from, i->config.name), i))
                step_add(p, &port_kind, i->config.name, NULL, i, i->line);
}

// Where an interface that stayed is now: plan_interfaces_going took it out of virtual routers that
// go.
static const char *vr_now(const struct plan_steps *p, const char *old)
{
    return vr_name_stays(p, old) ? old : VR_DEFAULT_NAME;
}

static void plan_policies(struct plan_steps *p)
{
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        add_policy(p, i->config.name, port_stays(p, old, i) ? &old->policy : &no_policy, &i->policy,
                   i->policy_line);
        add_description(p, i->config.name, port_stays(p, old, i) ? old->description : "",
                        i->description, i->policy_line);
        step_bind_acls(p, i->config.name, port_stays(p, old, i) ? &old->acls : NULL, &i->acls,
                       i->policy_line);
    }
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        add_policy(p, v->name, vport_stays(p, old, v) ? &old->policy : &no_policy, &v->policy,
                   v->policy_line);
        add_description(p, v->name, vport_stays(p, old, v) ? old->description : "", v->description,
                        v->policy_line);
        step_bind_acls(p, v->name, vport_stays(p, old, v) ? &old->acls : NULL, &v->acls,
                       v->policy_line);
    }
}

void plan_interfaces_coming(struct plan_steps *p)
{
    plan_vport_mtu(p, false);
    plan_ports(p);
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        add_vr(p, i->config.name, port_stays(p, old, i) ? vr_now(p, old->vr) : VR_DEFAULT_NAME,
               i->vr, i->vr_line);
    }
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        if (vport_stays(p, old, v))
            add_vr(p, v->name, vr_now(p, old->vr), v->vr, v->vr_line);
        else
            step_add(p, &vport_kind, v->name, NULL, v, v->line);
    }
    plan_vport_mtu(p, true);
    plan_policies(p);
}
