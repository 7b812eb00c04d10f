// SPDX-License-Identifier: BSD-3-Clause
// interface.c - interfaces: virtual router, policy, addresses, counters
//
// Every port outside a LAG, every vport, every end of a metalink and every tunnel has an interface,
// even if the configuration does not mention it.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "event/event.h"
#include "feature/queue.h"
#include "interface/iface_manager.h"
#include "interface/iface_tap.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"
#include "yang/config_tree.h"
#include "yang/owner.h"

// --- configuration -------------------------------------------------------------------------------

static struct model_interfaces *interfaces_of(const struct model *m)
{
    return m->part[FEATURE_interface];
}

// --- reading -------------------------------------------------------------------------------------

static const struct column policy_columns[] = {
    COLUMN(struct iface_policy, redirect, "redirect"),
    COLUMN(struct iface_policy, sample, "sflow", .bit = IFACE_SAMPLE_SFLOW),
    COLUMN(struct iface_policy, sample, "ipfix", .bit = IFACE_SAMPLE_IPFIX),
    COLUMN(struct iface_policy, directed_broadcast, "directed-broadcast"),
    COLUMN(struct iface_policy, fast_reroute, "fast-reroute"),
    {0}};

static const char *const urpf_modes[] = {"off", "loose", "strict", "feasible"};

static uint8_t read_urpf(const struct lyd_node *first, const char *family)
{
    int mode = leaf_word(first, family, urpf_modes, 4);

    return mode <= 0
               ? URPF_OFF
               : (uint8_t)(mode | (leaf_true(first, "allow-default") ? URPF_ALLOW_DEFAULT : 0));
}

static uint32_t read_pcp_classes(const struct lyd_node *entry)
{
    uint32_t classes = 0;

    leaf_foreach (lyd_child(entry), entry->schema, "pcp", pcp)
        classes |= (IFACE_PCP_GIVEN | (uint32_t)leaf_number(lyd_child(pcp), "class", 0))
                   << 4 * leaf_number(lyd_child(pcp), "pcp", 0);
    return classes;
}

static void read_policy(struct iface_policy *p, const struct lyd_node *entry)
{
    const struct lyd_node *urpf = leaf_inside(lyd_child(entry), entry->schema, "urpf");

    p->urpf[0] = read_urpf(urpf, "ipv4");
    p->urpf[1] = read_urpf(urpf, "ipv6");
    columns_read(lyd_child(entry), policy_columns, p);
    p->pcp_class = read_pcp_classes(entry);
}

static void read_interface(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_interface *i = row;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(i->name, sizeof i->name, first, "name", "");
    leaf_copy(i->vr, sizeof i->vr, first, "vr", VR_DEFAULT_NAME);
    leaf_copy(i->description, sizeof i->description, first, "description", "");
    read_policy(&i->policy, entry);
    i->acls = acl_binding_read(first, entry->schema);
    i->has_vr = config_value(first, "vr");
    i->vr_line = leaf_line(entry, "vr");
    i->line = leaf_line(entry, NULL);
}

// Adds the interface, and gives a copy of its virtual router to what has it.
static void add_interface(struct model *m, const char *name, char vr[16])
{
    const struct model_interface *configured = model_find_configured_interface(m, name);
    struct model_interface *i = vec_push(&interfaces_of(m)->interface);

    memset(i, 0, sizeof *i);
    if (configured) {
        *i = *configured;
    } else {
        snprintf(i->name, sizeof i->name, "%s", name);
        snprintf(i->vr, sizeof i->vr, VR_DEFAULT_NAME);
    }
    if (vr)
        memcpy(vr, i->vr, sizeof i->vr);
    unsigned end;
    const struct model_metalink *l = model_find_metalink(m, name, &end);
    if (l)
        memcpy(i->vr, l->vr[end], sizeof i->vr);
    const struct model_vr *v = model_find_vr(m, i->vr);
    if (v)
        acl_binding_inherit(&i->acls, &v->acls, model_acls(m));
    acl_binding_inherit(&i->acls, model_default_acls(m), model_acls(m));
}

static int compare_names(const void *a, const void *b)
{
    return model_compare_names(a, b);
}

static void resolve_interfaces(struct model *m)
{
    struct model_interfaces *all = interfaces_of(m);

    vec_foreach (&model_ports(m)->port, p)
        if (!p->config.member_of[0])
            add_interface(m, p->config.name, p->config.vr);
    vec_foreach (&model_vports(m)->vport, v)
        add_interface(m, v->name, v->vr);
    vec_foreach (&model_metalinks(m)->metalink, l)
        for (unsigned end = 0; end < 2; end++)
            add_interface(m, l->end[end], NULL);
    vec_foreach (&model_tunnels(m)->tunnel, t)
        add_interface(m, t->name, t->vr);
    if (all->interface.n)
        qsort(all->interface.item, all->interface.n, sizeof *all->interface.item, compare_names);
}

// --- rules ---------------------------------------------------------------------------------------

static void check_interface(const struct model *m, const struct model_interface *i,
                            struct errors *e)
{
    const struct model_port *p = model_find_port(m, i->name);

    if (p && p->config.member_of[0])
        errors_add(e, i->line,
                   "interface %s: port %s is a member of %s and has no interface, expected "
                   "'interface %s'",
                   i->name, i->name, p->config.member_of, p->config.member_of);
    if (p || model_find_vport(m, i->name) || model_find_tunnel(m, i->name))
        return;
    unsigned end;
    const struct model_metalink *l = model_find_metalink(m, i->name, &end);
    if (l && i->has_vr)
        errors_add(e, i->vr_line,
                   "interface %s: an end of a metalink has no 'vr', expected 'metalink %s %c VR'",
                   i->name, l->name, end ? 'b' : 'a');
    if (l)
        return;
    if (i->vr_line)
        errors_add(e, i->vr_line,
                   "interface %s: no such interface, expected the name of a port, vport, tunnel "
                   "or end of a metalink",
                   i->name);
    else
        errors_add(e, 0,
                   "interface %s: no port, vport, tunnel or end of a metalink has this name: "
                   "configure one, or delete 'interface %s' too",
                   i->name, i->name);
}

// Checks its own lists; lists of virtual routers and `forwarding` are checked there.
static void check_lists(const struct model *m, const struct model_interface *i, struct errors *e)
{
    const struct model_interface *is = model_find_interface(m, i->name);
    char what[32];

    snprintf(what, sizeof what, "interface %s", i->name);
    if (is)
        acl_binding_check(&i->acls, model_acls(m), what, is->vr, i->line, e);
}

static void check_configured(const struct model *m, const void *row, struct errors *e)
{
    check_interface(m, row, e);
    check_lists(m, row, e);
}

static const char *netns_of(const struct model *m, const char *vr)
{
    const struct model_vr *v = model_find_vr(m, vr);

    return v ? v->netns : "";
}

static void note_moves(const struct model *from, const struct model *to, struct errors *notes)
{
    vec_foreach (&interfaces_of(to)->interface, i) {
        const struct model_interface *old = model_find_interface(from, i->name);

        if (old && host_is_known() && strcmp(vr_other_name(old->vr), i->vr) &&
            strcmp(netns_of(from, old->vr), netns_of(to, i->vr)))
            errors_add(notes, 0,
                       "moves %s to another network namespace: permanent addresses move with it; "
                       "routes, neighbors, sysctls, and tc and nftables rules on its TAP do not",
                       i->name);
    }
}

// --- steps ---------------------------------------------------------------------------------------

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

static const struct step_kind vr_kind = {"interface", run_vr},
                              policy_kind = {"interface", run_policy},
                              description_kind = {"interface", run_description};
static const struct model_interface bare; // nothing bound to it

static void plan_vr(struct change *c, const char *name, const char *from, const char *to,
                    unsigned line)
{
    if (!vr_is_same(c, from, to))
        step_add(c, &vr_kind, name, from, to, line);
}

static void plan_bound(struct change *c, const char *name, const struct model_interface *from,
                       const struct model_interface *to)
{
    if (memcmp(&from->policy, &to->policy, sizeof from->policy))
        step_add(c, &policy_kind, name, &from->policy, &to->policy, to->line);
    if (strcmp(from->description, to->description))
        step_add(c, &description_kind, name, from->description, to->description, to->line);
    acl_binding_plan(c, name, &from->acls, &to->acls, to->line);
}

// Unbinds everything from interfaces that are removed, so that undoing binds it again. A port is
// removed from the default virtual router, a vport from its own.
static void plan_unbind(struct change *c)
{
    vec_foreach (&interfaces_of(c->from)->interface, i) {
        bool stays = interface_stays(c, i->name), is_port = model_find_port(c->from, i->name);

        if (stays ? !vr_stays(c, i->vr) : is_port)
            plan_vr(c, i->name, i->vr, VR_DEFAULT_NAME, 0);
        if (!stays)
            plan_bound(c, i->name, i, &bare);
    }
}

// Moves interfaces that stay, and new ports. Other new interfaces are created in their virtual
// router.
static void plan_move(struct change *c)
{
    vec_foreach (&interfaces_of(c->to)->interface, i) {
        const struct model_interface *old = model_find_interface(c->from, i->name);

        if (interface_stays(c, i->name))
            plan_vr(c, i->name, vr_stays(c, old->vr) ? old->vr : VR_DEFAULT_NAME, i->vr,
                    i->vr_line);
        else if (model_find_port(c->to, i->name))
            plan_vr(c, i->name, VR_DEFAULT_NAME, i->vr, i->vr_line);
    }
}

static void plan_bind(struct change *c)
{
    vec_foreach (&interfaces_of(c->to)->interface, i)
        plan_bound(c, i->name,
                   interface_stays(c, i->name) ? model_find_interface(c->from, i->name) : &bare, i);
}

static void settle(const struct model *from, const struct model *to, bool ok)
{
    iface_manager_end_change();
}

// --- completion ----------------------------------------------------------------------------------

static void each_interface(name_fn *fn, void *ctx)
{
    char help[64];

    vec_foreach (&model_ports(config_model())->port, p)
        fn(ctx, p->config.name, p->config.devargs);
    vec_foreach (&model_vports(config_model())->vport, v) {
        if (v->tags.outer)
            snprintf(help, sizeof help, "VLANs %u.%u of %s", v->tags.outer, v->tags.vlan, v->port);
        else
            snprintf(help, sizeof help, "VLAN %u of %s", v->tags.vlan, v->port);
        fn(ctx, v->name, help);
    }
    vec_foreach (&model_metalinks(config_model())->metalink, l) {
        for (unsigned end = 0; end < 2; end++) {
            snprintf(help, sizeof help, "end of metalink %s, to %s", l->name, l->vr[!end]);
            fn(ctx, l->end[end], help);
        }
    }
    vec_foreach (&model_tunnels(config_model())->tunnel, t) {
        snprintf(help, sizeof help, "tunnel, %s", tunnel_kind_name(t->settings.id.kind));
        fn(ctx, t->name, help);
    }
}

static const struct feature_config interface_config = {
    .part_size = sizeof(struct model_interfaces),
    .lists = (const struct feature_list[]){{.node = "interface",
                                            LIST_ROWS(struct model_interfaces, configured),
                                            .read = read_interface,
                                            .check = check_configured},
                                           {.node = "interface",
                                            LIST_ROWS(struct model_interfaces, interface)},
                                           {0}},
    .resolve = resolve_interfaces,
    .note = note_moves,
    .phases = (const struct feature_phase[]){{PHASE_UNBIND, plan_unbind},
                                             {PHASE_MOVE_INTERFACES, plan_move},
                                             {PHASE_BIND, plan_bind},
                                             {0}},
    .finish = settle,
    .names = (const struct feature_names[]){{"interface", each_interface}, {0}},
};

// --- state and metrics ---------------------------------------------------------------------------

static const char *status_name(const struct iface *i)
{
    return !i->admin_up ? "admin-down" : i->carrier ? "up" : "down";
}

static const struct column address_columns[] = {
    COLUMN(struct address_row, addr, "ip"),
    COLUMN(struct address_row, len, "prefix-length"),
    COLUMN(struct address_row, secondary, "secondary"),
    {0}};

// Writes the interface's addresses in the kernel, out of `n` rows.
static void write_addresses(struct jwrite *j, uint16_t id, const struct address_row *row,
                            unsigned n)
{
    jwrite_begin(j, "address", '[');
    for (const struct address_row *a = row; a < row + n; a++) {
        if (a->iface != id)
            continue;
        jwrite_begin(j, NULL, '{');
        columns_write(j, address_columns, a);
        jwrite_string(j, "status", a->usable ? "preferred" : "tentative");
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static const struct column counter_columns[] = {
#define IFACE_COUNTER(...) COUNTER(struct counter_iface, __VA_ARGS__),
#include "table/counter_iface.def"
#undef IFACE_COUNTER
    {0}};

static void write_iface_statistics(struct jwrite *j, uint16_t id)
{
    const struct counter_cleared *cleared = counter_cleared_iface(id);
    struct counter_iface c;

    counter_sum_iface(id, &c);
    jwrite_begin(j, "statistics", '{');
    jwrite_time(j, "since", counter_since_iface(id));
    columns_write(j, counter_columns, &c);
    jwrite_u64(j, "queue-drop-packets", queue_drops_of(id));
    jwrite_end(j, '}');
    if (!cleared->wall_ns)
        return;
    jwrite_begin(j, "cleared", '{');
    jwrite_time(j, "time", cleared->wall_ns);
    columns_write(j, counter_columns, &cleared->at);
    jwrite_end(j, '}');
}

static void write_policy(struct jwrite *j, const struct iface_policy *p)
{
    jwrite_string(j, "urpf-ipv4", urpf_modes[p->urpf[0] & URPF_MODE]);
    jwrite_string(j, "urpf-ipv6", urpf_modes[p->urpf[1] & URPF_MODE]);
    jwrite_bool(j, "urpf-allow-default", (p->urpf[0] | p->urpf[1]) & URPF_ALLOW_DEFAULT);
    columns_write(j, policy_columns, p);
    if (!p->pcp_class)
        return;
    jwrite_begin(j, "pcp", '[');
    for (unsigned pcp = 0; pcp < 8; pcp++)
        if (p->pcp_class >> 4 * pcp & IFACE_PCP_GIVEN) {
            jwrite_begin(j, NULL, '{');
            jwrite_int(j, "pcp", pcp);
            jwrite_int(j, "class", p->pcp_class >> 4 * pcp & 7);
            jwrite_end(j, '}');
        }
    jwrite_end(j, ']');
}

static void write_macs(struct jwrite *j, const struct iface *i)
{
    uint64_t w;

    jwrite_begin(j, "accepted-mac", '[');
    for (unsigned k = 0; k < IFACE_MACS && (w = iface_macs[i->id][k]); k++)
        jwrite_mac(j, NULL, (const uint8_t *)&w);
    jwrite_end(j, ']');
}

static void write_iface_state(struct jwrite *j, const struct iface *i,
                              const struct address_row *row, unsigned n)
{
    char description[256];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", i->name);
    jwrite_int(j, "id", i->id);
    iface_manager_description(i->id, description);
    jwrite_string_any(j, "description", description);
    jwrite_string(j, "kind", iface_kind_name(i->kind));
    if (i->kind != IFACE_METALINK && i->kind != IFACE_TUNNEL)
        jwrite_string(j, "port", port_get(i->port)->name);
    const struct iface *peer = iface_manager_peer(i);
    if (peer) {
        jwrite_string(j, "peer", peer->name);
        jwrite_string(j, "peer-vr", vr_get(peer->vr)->name);
    }
    if (i->kind == IFACE_VPORT)
        jwrite_int(j, "vlan", i->vlan);
    if (i->outer_vlan) {
        char tpid[8];
        snprintf(tpid, sizeof tpid, "%#x", ntohs(i->tpid_be));
        jwrite_int(j, "outer-vlan", i->outer_vlan);
        jwrite_string(j, "tpid", tpid);
    }
    jwrite_string(j, "vr", vr_get(i->vr)->name);
    jwrite_string(j, "status", status_name(i));
    jwrite_time(j, "last-change", iface_manager_changed_ns(i->id));
    jwrite_mac(j, "mac", i->mac);
    write_macs(j, i);
    jwrite_int(j, "mtu", i->mtu);
    jwrite_int(j, "ifindex", i->ifindex);
    jwrite_int(j, "if-index", iface_manager_number(i));
    write_addresses(j, i->id, row, n);
    write_policy(j, &i->policy);
    write_iface_statistics(j, i->id);
    jwrite_end(j, '}');
}

static void write_iface_states(void *ctx, const struct address_row *row, unsigned n)
{
    struct show *s = ctx;

    iface_each (i)
        if (show_wants(s, i->name))
            write_iface_state(&s->out, i, row, n);
    s->done(s, 0);
}

static int ask_interface(struct show *s)
{
    return rib_manager_addresses(write_iface_states, s);
}

struct iface_row {
    const struct iface *iface;
    struct counter_iface sum;
};

static void write_iface_metrics(struct metrics *m, const void *kept)
{
    VEC(struct iface_row) row = {0};

    iface_each (i) {
        struct iface_row *r = vec_push(&row);
        r->iface = i;
        counter_sum_iface(i->id, &r->sum);
    }
    metric_family(m, METRIC_GAUGE, "interface_up", "",
                  "1: the interface is up in Linux and its port has link.");
    vec_foreach (&row, r)
        metric_u64(m, r->iface->admin_up && r->iface->carrier, "interface", r->iface->name,
                   "vr", vr_get(r->iface->vr)->name, NULL);
    for (const struct column *c = counter_columns; (c = column_family(m, "interface", c)); c++)
        vec_foreach (&row, r)
            column_metric(m, c, &r->sum, "interface", r->iface->name, "vr",
                          vr_get(r->iface->vr)->name, NULL);
    vec_free(&row);
}

// --- events --------------------------------------------------------------------------------------

static const char *told[IFACE_MAX]; // status_name of each interface as last published

static void publish_status(const struct iface *i, const char *status)
{
    event_publish("interface-change",
                  json_pack("{s:s, s:s, s:i, s:s}", "interface", i->name, "vr",
                            vr_get(i->vr)->name, "if-index", iface_manager_number(i), "status",
                            status));
}

static void look_at_interfaces(bool publish)
{
    for (unsigned id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get((uint16_t)id);
        const char *now = i->kind != IFACE_NONE ? status_name(i) : NULL;

        if (publish && now && now != told[id])
            publish_status(i, now);
        told[id] = now;
    }
}

static void want_status_events(bool on)
{
    look_at_interfaces(false);
}

static void look_for_status_events(void)
{
    look_at_interfaces(true);
}

// --- state kept over a stop ----------------------------------------------------------------------

static json_t *save_interface(uint16_t id)
{
    const struct counter_cleared *c = counter_cleared_iface(id);
    struct counter_iface sum;

    counter_sum_iface(id, &sum);
    json_t *o = columns_save(counter_columns, &sum);
    json_object_set_new(o, "since", json_integer((json_int_t)counter_since_iface(id)));
    json_object_set_new(o, "up", json_boolean(iface_flags(iface_get(id)) & IFACE_UP));
    json_object_set_new(o, "changed", json_integer((json_int_t)iface_manager_changed_ns(id)));
    if (c->wall_ns) {
        json_t *cleared = columns_save(counter_columns, &c->at);
        json_object_set_new(cleared, "time", json_integer((json_int_t)c->wall_ns));
        json_object_set_new(o, "cleared", cleared);
    }
    return o;
}

static json_t *save_interfaces(void)
{
    json_t *o = json_object();

    iface_each (i)
        json_object_set_new(o, i->name, save_interface(i->id));
    return o;
}

static const char *restore_interfaces(const json_t *part, bool apply)
{
    const char *name;
    json_t *of;

    json_object_foreach ((json_t *)part, name, of) {
        const json_t *cleared = json_object_get(of, "cleared");
        struct counter_cleared c = {0};
        struct counter_iface sum;
        uint64_t since, changed;

        if (!columns_restore(of, counter_columns, &sum) || !saved_number(of, "since", &since) ||
            (cleared && (!columns_restore(cleared, counter_columns, &c.at) ||
                         !saved_number(cleared, "time", &c.wall_ns))))
            return "an interface lacks a number";
        const struct iface *i = apply ? iface_find_name(name) : NULL;
        if (!i)
            continue;
        counter_restore_iface(i->id, &sum, since, &c);
        if (saved_number(of, "changed", &changed)) // 0.9 and older did not save it
            iface_manager_restore_changed(i->id, json_is_true(json_object_get(of, "up")), changed);
    }
    return NULL;
}

// Many routes in a row have the same interface: remember the last one until a commit may have moved
// it.
static const char *vr_of_interface(const char *name)
{
    static const struct iface *last;
    static uint64_t version;

    if (!last || version != config_version() || strcmp(last->name, name)) {
        last = iface_find_name(name);
        version = config_version();
    }
    return last ? vr_get(last->vr)->name : NULL;
}

static void tell_owners(struct event_base *loop)
{
    owner_ask(vr_of_interface, config_running);
}

const struct feature interface_feature = {
    "interface",
    .start = tell_owners,
    .config = &interface_config,
    .events = &(const struct feature_events){want_status_events, look_for_status_events},
    .saved = &(const struct feature_saved){save_interfaces, restore_interfaces},
    .state = (const struct feature_state[]){{"interface", .ask = ask_interface}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_iface_metrics},
};
