// SPDX-License-Identifier: BSD-3-Clause
// apply.c - from one model to another through the managers: all or nothing
//
// The difference of two models becomes a list of steps. A step is a thing of
// some kind with its state before and after, NULL where it is absent:
//
//     (port, NULL, p)   attach p        (port, p, NULL)   detach p
//     (port, p, p')     change p        backwards: the same with the two swapped
//
// so that to undo is to run the steps done so far backwards with before and
// after swapped: there is no second description that could differ from the first.
//
// The order (plan_all) is the one in which nothing is ever used after it went
// or before it came: multicast routes go, queues leave threads, vports go, interfaces leave virtual
// routers that go, ports go, virtual routers go; then all of it comes in the
// opposite order. A thing that cannot be changed in place (a vport's VLAN, a
// virtual router's namespace) goes and comes.
#include "mgmt/apply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "manager/iface_manager.h"
#include "manager/mirror_manager.h"
#include "manager/rib_manager.h"
#include "manager/vr_manager.h"

enum step_kind {
    STEP_SETTINGS,
    STEP_THREADS,
    STEP_VR,
    STEP_VR_ENGINE,
    STEP_VR_FLOW_HASH,
    STEP_PORT,
    STEP_VPORT,
    STEP_VPORT_MTU,
    STEP_IFACE_VR,
    STEP_IFACE_POLICY,
    STEP_MIRROR,
    STEP_MULTICAST
};

struct step {
    enum step_kind kind;
    const void *from, *to; // struct model_settings, model_vr, model_port, model_vport, model_mirror, model_multicast; assignments;
                           // names of virtual routers; engines (uint8_t); struct flow_hash, iface_policy
    const char *name;      // of the interface, STEP_IFACE_VR and _POLICY; of the virtual router, STEP_VR_ENGINE and _FLOW_HASH
    unsigned line;
};

struct assignments { // what STEP_THREADS points at
    struct thread_assignment *item;
    size_t n;
};

struct plan_steps {
    const struct model *from, *to;
    VEC(struct step) step;
    struct assignments before, between, after;
};

// --- running one step ---------------------------------------------------------------------------

static int run_settings(const struct model_settings *s, char *err, size_t n)
{
    if (rib_manager_set_journal(s->journal_mib)) {
        snprintf(err, n, "no memory for a journal of %u MiB: give it a smaller size", s->journal_mib);
        return -ENOMEM;
    }
    rib_manager_set_audit_interval(s->audit_interval_s);
    log_set_level((enum log_level)s->log_level);
    thread_manager_set_idle(s->idle);
    rib_manager_set_receive_buffer(s->receive_buffer);
    __atomic_store_n(&plan_ip4_options, s->ip4_options, __ATOMIC_RELAXED);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        punt_policy_set(c, &s->punt[c]);
    icmp_limit_set(&s->icmp);
    return 0;
}

static int run_port(const struct model_port *from, const struct model_port *to, char *err, size_t n)
{
    if (!from)
        return port_manager_attach(&to->config, err, n);
    if (!to)
        return port_manager_detach(from->config.name, err, n);
    return port_manager_change(&to->config, err, n);
}

static int run_vport(const struct model_vport *from, const struct model_vport *to, char *err,
                     size_t n)
{
    if (from)
        return iface_manager_del(from->name, err, n);
    return iface_manager_add_vport(to->name, to->port, to->tags, to->mtu, to->vr, err, n);
}

static int run_mirror(const struct model_mirror *from, const struct model_mirror *to, char *err, size_t n)
{
    if (!from)
        return mirror_manager_add(&to->mirror, err, n);
    mirror_manager_del(&from->mirror);
    return 0;
}

static int run_vr(const struct model_vr *from, const struct model_vr *to, char *err, size_t n)
{
    if (from)
        return vr_manager_del(from->name, err, n);
    int r = vr_manager_add(to->name, to->netns, to->table, (enum fib_engine)to->engine, err, n);
    return r ? r : vr_manager_set_flow_hash(to->name, to->flow_hash, err, n);
}

static int run_multicast(const struct model_multicast *from, const struct model_multicast *to, char *err, size_t n)
{
    int e = to ? rib_manager_multicast_set(to->vr, &to->route) : rib_manager_multicast_del(from->vr, &from->route.key);

    if (e == -ENOSPC)
        snprintf(err, n, "%u routes and joined groups are all that a virtual router has room for", MULTICAST_MAX);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

static int run_step(const struct step *s, bool forward, char *err, size_t n)
{
    const void *from = forward ? s->from : s->to, *to = forward ? s->to : s->from;
    const struct assignments *a = to;

    switch (s->kind) {
    case STEP_SETTINGS:
        return run_settings(to, err, n);
    case STEP_THREADS:
        return thread_manager_assign(a->item, (unsigned)a->n, err, n);
    case STEP_VR:
        return run_vr(from, to, err, n);
    case STEP_VR_ENGINE:
        return vr_manager_set_engine(s->name, (enum fib_engine) * (const uint8_t *)to, err, n);
    case STEP_VR_FLOW_HASH:
        return vr_manager_set_flow_hash(s->name, *(const struct flow_hash *)to, err, n);
    case STEP_PORT:
        return run_port(from, to, err, n);
    case STEP_VPORT:
        return run_vport(from, to, err, n);
    case STEP_VPORT_MTU:
        return iface_manager_set_mtu(((const struct model_vport *)to)->name,
                                     ((const struct model_vport *)to)->mtu, err, n);
    case STEP_MIRROR:
        return run_mirror(from, to, err, n);
    case STEP_IFACE_VR:
        return iface_manager_set_vr(s->name, to, err, n);
    case STEP_IFACE_POLICY:
        return iface_manager_set_policy(s->name, to, err, n);
    case STEP_MULTICAST:
        return run_multicast(from, to, err, n);
    }
    return -EINVAL;
}

// "port p0": whom the manager's sentence is about.
static void step_subject(const struct step *s, char *buf, size_t n)
{
    const void *it = s->to ? s->to : s->from;

    if (s->kind == STEP_VR)
        snprintf(buf, n, "vr %s", ((const struct model_vr *)it)->name);
    else if (s->kind == STEP_VR_ENGINE || s->kind == STEP_VR_FLOW_HASH)
        snprintf(buf, n, "vr %s", s->name);
    else if (s->kind == STEP_PORT)
        snprintf(buf, n, "port %s", ((const struct model_port *)it)->config.name);
    else if (s->kind == STEP_VPORT || s->kind == STEP_VPORT_MTU)
        snprintf(buf, n, "vport %s", ((const struct model_vport *)it)->name);
    else if (s->kind == STEP_MIRROR)
        snprintf(buf, n, "port %s mirror", ((const struct model_mirror *)it)->mirror.port);
    else if (s->kind == STEP_IFACE_VR || s->kind == STEP_IFACE_POLICY)
        snprintf(buf, n, "interface %s", s->name);
    else if (s->kind == STEP_MULTICAST)
        snprintf(buf, n, "multicast route");
    else
        snprintf(buf, n, s->kind == STEP_SETTINGS ? "journal" : "thread");
}

// --- what differs -------------------------------------------------------------------------------

static void add_step(struct plan_steps *p, enum step_kind kind, const void *from, const void *to,
                     unsigned line)
{
    *vec_push(&p->step) = (struct step){.kind = kind, .from = from, .to = to, .line = line};
}

static void add_iface_vr(struct plan_steps *p, const char *name, const char *from, const char *to,
                         unsigned line)
{
    if (strcmp(from, to))
        *vec_push(&p->step) = (struct step){
            .kind = STEP_IFACE_VR, .from = from, .to = to, .name = name, .line = line};
}

static const struct iface_policy no_policy;

static void add_iface_policy(struct plan_steps *p, const char *name, const struct iface_policy *from, const struct iface_policy *to,
                             unsigned line)
{
    if (memcmp(from, to, sizeof *from))
        *vec_push(&p->step) = (struct step){
            .kind = STEP_IFACE_POLICY, .from = from, .to = to, .name = name, .line = line};
}

static bool device_same(const struct model_port *a, const struct model_port *b)
{
    return !strcmp(a->config.devargs, b->config.devargs) &&
           !strcmp(a->config.netns, b->config.netns);
}

// A port whose device changes stays, with its interface and the addresses on its TAP, unless the
// device is another port's until now: then both have to go first.
static bool port_stays(const struct plan_steps *p, const struct model_port *a,
                       const struct model_port *b)
{
    if (!a || !b || device_same(a, b))
        return a && b;
    vec_foreach (&p->from->port, other)
        if (device_same(other, b))
            return false;
    return true;
}

static bool port_same(const struct model_port *a, const struct model_port *b) // of one that stays
{
    const struct port_config *x = &a->config, *y = &b->config;

    return device_same(a, b) && x->rx_queues == y->rx_queues && x->tx_queues == y->tx_queues &&
           x->rx_descriptors == y->rx_descriptors && x->tx_descriptors == y->tx_descriptors &&
           x->mtu == y->mtu && x->promiscuous == y->promiscuous && x->enabled == y->enabled &&
           x->has_mac == y->has_mac && (!x->has_mac || !memcmp(x->mac, y->mac, 6));
}

static bool vr_stays(const struct model_vr *a, const struct model_vr *b)
{
    return a && b && !strcmp(a->netns, b->netns) && a->table == b->table;
}

static bool vr_name_stays(const struct plan_steps *p, const char *name)
{
    return !strcmp(name, VR_DEFAULT_NAME) ||
           vr_stays(model_find_vr(p->from, name), model_find_vr(p->to, name));
}

static bool vport_stays(const struct plan_steps *p, const struct model_vport *a,
                        const struct model_vport *b)
{
    return a && b && !memcmp(&a->tags, &b->tags, sizeof a->tags) && !strcmp(a->port, b->port) &&
           port_stays(p, model_find_port(p->from, a->port), model_find_port(p->to, a->port));
}

static bool assignments_same(const struct assignments *a, const struct assignments *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->item, b->item, a->n * sizeof *a->item));
}

static bool assignment_in(const struct thread_assignment *a, const struct assignments *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (!memcmp(a, &set->item[i], sizeof *a))
            return true;
    return false;
}

// What stays while ports change: the queues that are assigned before and after. An empty set would
// mean "choose yourself", so then nothing is taken away.
static void plan_threads(struct plan_steps *p)
{
    p->before = (struct assignments){p->from->thread.item, p->from->thread.n};
    p->after = (struct assignments){p->to->thread.item, p->to->thread.n};
    p->between.item = calloc(p->before.n + 1, sizeof *p->between.item);
    bug_on(!p->between.item);
    for (size_t i = 0; i < p->before.n; i++)
        if (assignment_in(&p->before.item[i], &p->after))
            p->between.item[p->between.n++] = p->before.item[i];
    if (!p->between.n && p->before.n) {
        p->between.n = p->before.n;
        memcpy(p->between.item, p->before.item, p->before.n * sizeof *p->before.item);
    }
}

// Before their virtual router goes; their interfaces are names and may come and go.
static void plan_multicast_going(struct plan_steps *p)
{
    vec_foreach (&p->from->multicast, r)
        if (!vr_name_stays(p, r->vr) || !model_find_multicast(p->to, r->vr, &r->route.key))
            add_step(p, STEP_MULTICAST, r, NULL, 0);
}

static void plan_multicast_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->multicast, r) {
        const struct model_multicast *old = model_find_multicast(p->from, r->vr, &r->route.key);

        if (!old || !vr_name_stays(p, r->vr))
            add_step(p, STEP_MULTICAST, NULL, r, r->line);
        else if (memcmp(&old->route, &r->route, sizeof r->route))
            add_step(p, STEP_MULTICAST, old, r, r->line);
    }
}

static void plan_going(struct plan_steps *p)
{
    vec_foreach (&p->from->mirror, r)
        if (!model_has_mirror(p->to, r))
            add_step(p, STEP_MIRROR, r, NULL, 0);
    if (!assignments_same(&p->before, &p->between))
        add_step(p, STEP_THREADS, &p->before, &p->between, 0);
    vec_foreach (&p->from->vport, v)
        if (!vport_stays(p, v, model_find_vport(p->to, v->name))) {
            add_iface_policy(p, v->name, &v->policy, &no_policy, 0); // so that undoing brings it back
            add_step(p, STEP_VPORT, v, NULL, 0);
        }
    vec_foreach (&p->from->vport, v) {
        if (vport_stays(p, v, model_find_vport(p->to, v->name)) && !vr_name_stays(p, v->vr))
            add_iface_vr(p, v->name, v->vr, VR_DEFAULT_NAME, 0);
    }
    vec_foreach (&p->from->port, i) {
        bool stays = port_stays(p, i, model_find_port(p->to, i->config.name));

        if (!stays || !vr_name_stays(p, i->vr))
            add_iface_vr(p, i->config.name, i->vr, VR_DEFAULT_NAME, 0);
        if (!stays) {
            add_iface_policy(p, i->config.name, &i->policy, &no_policy, 0);
            add_step(p, STEP_PORT, i, NULL, 0);
        }
    }
    vec_foreach (&p->from->vr, v)
        if (!vr_stays(v, model_find_vr(p->to, v->name)))
            add_step(p, STEP_VR, v, NULL, 0);
}

static void plan_vport_mtu(struct plan_steps *p, bool larger)
{
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        if (vport_stays(p, old, v) && (larger ? v->mtu > old->mtu : v->mtu < old->mtu))
            add_step(p, STEP_VPORT_MTU, old, v, v->line);
    }
}

// Changes first: one may give up the device that a port to be attached takes.
static void plan_ports(struct plan_steps *p)
{
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        if (port_stays(p, old, i) && !port_same(old, i))
            add_step(p, STEP_PORT, old, i, i->line);
    }
    vec_foreach (&p->to->port, i)
        if (!port_stays(p, model_find_port(p->from, i->config.name), i))
            add_step(p, STEP_PORT, NULL, i, i->line);
}

// Where an interface that stayed is now: plan_going took it out of virtual routers that go.
static const char *vr_now(const struct plan_steps *p, const char *old)
{
    return vr_name_stays(p, old) ? old : VR_DEFAULT_NAME;
}

static void add_engine(struct plan_steps *p, const char *name, const uint8_t *from,
                       const uint8_t *to, unsigned line)
{
    if (*from != *to)
        *vec_push(&p->step) = (struct step){
            .kind = STEP_VR_ENGINE, .from = from, .to = to, .name = name, .line = line};
}

static void add_flow_hash(struct plan_steps *p, const char *name, const struct flow_hash *from,
                          const struct flow_hash *to, unsigned line)
{
    if (from->mode != to->mode || from->label != to->label || from->seed != to->seed)
        *vec_push(&p->step) = (struct step){
            .kind = STEP_VR_FLOW_HASH, .from = from, .to = to, .name = name, .line = line};
}

// Of those that stay; the others come with theirs.
static void plan_engines(struct plan_steps *p)
{
    add_engine(p, VR_DEFAULT_NAME, &p->from->settings.engine, &p->to->settings.engine, 0);
    add_flow_hash(p, VR_DEFAULT_NAME, &p->from->settings.flow_hash, &p->to->settings.flow_hash, 0);
    vec_foreach (&p->to->vr, v) {
        const struct model_vr *old = model_find_vr(p->from, v->name);

        if (!vr_stays(old, v))
            continue;
        add_engine(p, v->name, &old->engine, &v->engine, v->engine_line);
        add_flow_hash(p, v->name, &old->flow_hash, &v->flow_hash, v->line);
    }
}

static void plan_policies(struct plan_steps *p)
{
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        add_iface_policy(p, i->config.name, port_stays(p, old, i) ? &old->policy : &no_policy, &i->policy, i->policy_line);
    }
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        add_iface_policy(p, v->name, vport_stays(p, old, v) ? &old->policy : &no_policy, &v->policy, v->policy_line);
    }
}

static void plan_coming(struct plan_steps *p)
{
    vec_foreach (&p->to->vr, v)
        if (!vr_stays(model_find_vr(p->from, v->name), v))
            add_step(p, STEP_VR, NULL, v, v->line);
    plan_vport_mtu(p, false);
    plan_ports(p);
    vec_foreach (&p->to->port, i) {
        const struct model_port *old = model_find_port(p->from, i->config.name);

        add_iface_vr(p, i->config.name,
                     port_stays(p, old, i) ? vr_now(p, old->vr) : VR_DEFAULT_NAME, i->vr,
                     i->vr_line);
    }
    vec_foreach (&p->to->vport, v) {
        const struct model_vport *old = model_find_vport(p->from, v->name);

        if (vport_stays(p, old, v))
            add_iface_vr(p, v->name, vr_now(p, old->vr), v->vr, v->vr_line);
        else
            add_step(p, STEP_VPORT, NULL, v, v->line);
    }
    plan_vport_mtu(p, true);
    plan_policies(p);
    if (!assignments_same(&p->between, &p->after))
        add_step(p, STEP_THREADS, &p->between, &p->after,
                 p->to->thread_line.n ? p->to->thread_line.item[0] : 0);
    vec_foreach (&p->to->mirror, r)
        if (!model_has_mirror(p->from, r))
            add_step(p, STEP_MIRROR, NULL, r, r->line);
}

static bool settings_same(const struct model_settings *a, const struct model_settings *b)
{
    return a->log_level == b->log_level && a->idle == b->idle &&
           a->receive_buffer == b->receive_buffer && a->journal_mib == b->journal_mib &&
           a->audit_interval_s == b->audit_interval_s && a->ip4_options == b->ip4_options &&
           !memcmp(a->punt, b->punt, sizeof a->punt) && !memcmp(&a->icmp, &b->icmp, sizeof a->icmp);
}

static void plan_all(struct plan_steps *p, const struct model *from, const struct model *to)
{
    *p = (struct plan_steps){.from = from, .to = to};
    plan_threads(p);
    if (!settings_same(&from->settings, &to->settings))
        add_step(p, STEP_SETTINGS, &from->settings, &to->settings, 0);
    plan_multicast_going(p);
    plan_going(p);
    plan_engines(p);
    plan_coming(p);
    plan_multicast_coming(p);
}

// --- running them all ---------------------------------------------------------------------------

static void blame(const struct step *s, const char *sentence, struct errors *e)
{
    char subject[32];

    step_subject(s, subject, sizeof subject);
    if (!strncmp(sentence, subject, strlen(subject)))
        errors_add(e, s->line, "%s", sentence);
    else
        errors_add(e, s->line, "%s: %s", subject, *sentence ? sentence : "refused");
}

static void undo(const struct plan_steps *p, size_t done)
{
    char err[256] = "", subject[32];

    while (done--) {
        if (!run_step(&p->step.item[done], false, err, sizeof err))
            continue;
        step_subject(&p->step.item[done], subject, sizeof subject);
        log_error("config: not undone: what=\"%s\" error=\"%s\"", subject, err);
    }
}

static void note_restarts(const struct model *from, const struct model *to, struct errors *notes)
{
    if (notes && from->settings.memory_mib != to->settings.memory_mib)
        errors_add(notes, 0, "'memory' takes effect when kamueed starts again");
    if (notes && from->settings.no_huge != to->settings.no_huge)
        errors_add(notes, 0, "'huge-pages' takes effect when kamueed starts again");
}

int apply_change(const struct model *from, const struct model *to, struct errors *e,
                 struct errors *notes)
{
    struct plan_steps p;
    int r = 0;

    thread_must_be(ROLE_CONTROL);
    plan_all(&p, from, to);
    for (size_t i = 0; i < p.step.n && !r; i++) {
        char err[256] = "";

        r = run_step(&p.step.item[i], true, err, sizeof err);
        if (r) {
            blame(&p.step.item[i], err, e);
            undo(&p, i);
        }
    }
    iface_manager_settle();
    if (!r)
        note_restarts(from, to, notes);
    vec_free(&p.step);
    free(p.between.item);
    return r;
}
