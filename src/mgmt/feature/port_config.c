// SPDX-License-Identifier: BSD-3-Clause
// port_config.c - configured ports
//
// A change first removes ports that do not stay, then changes staying ports, and then attaches new
// ones (port_stays). Checks of the host refuse a kernel interface that the host itself needs.
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "device/devargs.h"
#include "device/kernel_link.h"
#include "model/model.h"
#include "restconf/column.h"
#include "yang/config_tree.h"

// --- reading -------------------------------------------------------------------------------------

static const char *const rx_modes[] = {[PORT_RX_INTERRUPT] = "interrupt", [PORT_RX_POLL] = "poll"};
static const struct column device_columns[] = {
    COLUMN(struct port_config, name, "name"),
    COLUMN(struct port_config, kernel_interface, "kernel-interface"),
    COLUMN(struct port_config, devargs, "devargs"),
    COLUMN(struct port_config, netns, "namespace"),
    COLUMN_WORD(struct port_config, rx_mode, "rx-mode", rx_modes),
    COLUMN(struct port_config, promiscuous, "promiscuous"),
    COLUMN(struct port_config, enabled, "enabled"),
    {0}};
const struct column port_size_columns[] = {
    COLUMN(struct port_config, mtu, "mtu"),
    COLUMN(struct port_config, rx_queues, "rx-queues"),
    COLUMN(struct port_config, tx_queues, "tx-queues"),
    COLUMN(struct port_config, rx_descriptors, "rx-descriptors"),
    COLUMN(struct port_config, tx_descriptors, "tx-descriptors"),
    {0}};

static void read_port(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_port *p = row;
    struct port_config *c = &p->config;
    const struct lyd_node *first = lyd_child(entry);
    const char *mac = config_value(first, "mac");

    columns_read(first, device_columns, c);
    columns_read(first, port_size_columns, c);
    if (c->kernel_interface[0]) // named after the port, so that device names are unique
        snprintf(c->devargs, sizeof c->devargs, "net_af_packet-%s,iface=%s", c->name,
                 c->kernel_interface);
    else
        devargs_kernel_link(c->devargs, c->kernel_interface, sizeof c->kernel_interface);
    p->force = leaf_true(first, "force");
    c->has_mac = mac && !text_parse_mac(mac, c->mac);
    p->line = leaf_line(entry, config_value(first, "devargs") ? "devargs" : "kernel-interface");
}

// --- rules ---------------------------------------------------------------------------------------

// At most 64 ports (max-elements in the schema): compared in pairs, since two different texts may
// name the same device. The later of the two lines is reported.
static void check_unique_device(const struct model *m, struct errors *e)
{
    const struct model_ports *all = model_ports(m);

    for (size_t i = 0; i < all->port.n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct model_port *a = &all->port.item[k], *b = &all->port.item[i];

            if (!port_config_same_device(&a->config, &b->config))
                continue;
            if (a->line > b->line)
                a = &all->port.item[i], b = &all->port.item[k];
            if (b->config.kernel_interface[0]) {
                errors_add(
                    e, b->line,
                    "port %s: kernel interface %s already belongs to port %s, expected another one",
                    b->config.name, b->config.kernel_interface, a->config.name);
                continue;
            }
            errors_add(e, b->line,
                       "port %s: 'devargs' is '%s', which already belongs to port %s, expected "
                       "another device",
                       b->config.name, b->config.devargs, a->config.name);
        }
}

static void check_port(const struct model *m, const void *row, struct errors *e)
{
    static const uint8_t zero[6];
    const struct model_port *p = row;
    const struct port_config *c = &p->config;
    char why[1024];

    if (!c->lag.mode && c->devargs[0] && devargs_check(c->devargs, why, sizeof why))
        errors_add(e, p->line, "port %s: %s", c->name, why);
    if (c->has_mac && (c->mac[0] & 1 || !memcmp(c->mac, zero, 6)))
        errors_add(e, p->line,
                   "port %s: 'mac' is a multicast or zero address, expected a unicast MAC address "
                   "such as 02:00:00:00:00:01",
                   c->name);
    if (!strcmp(c->name, ".") || !strcmp(c->name, ".."))
        errors_add(e, p->line,
                   "port %s: Linux has no interface of this name, expected another name", c->name);
}

// --- the host ------------------------------------------------------------------------------------

// A kernel interface that no port of `from` uses.
static bool takes_anew(const struct model *from, const struct model_port *p)
{
    vec_foreach (&model_ports(from)->port, old)
        if (port_config_same_device(&old->config, &p->config))
            return false;
    return p->config.kernel_interface[0];
}

// Lists uses of the interface that would stop, in words; "" = none.
static void put_uses(const struct kernel_link_use *u, struct text *t)
{
    const struct {
        const char *what, *with;
    } use[] = {
        {"the default route via ", u->gateway},
        {"a TCP connection to ", u->session},
        {"a program at its address, ", u->server},
    };

    for (unsigned i = 0; i < sizeof use / sizeof *use; i++)
        if (use[i].with[0])
            text_printf(t, "%s%s%s", t->n ? " and " : "", use[i].what, use[i].with);
}

// Refuses an interface without Ethernet headers, a member of another device, and, unless forced, an
// interface that carries the host's own connections.
static void check_use(const struct model_port *p, const struct kernel_link_use *u, struct errors *e)
{
    const struct port_config *c = &p->config;
    struct text uses = {0};

    put_uses(u, &uses);
    if (u->no_ethernet)
        errors_add(e, p->line,
                   "port %s: %s has no Ethernet headers (/sys/class/net/%s/type is %u): expected "
                   "an Ethernet interface",
                   c->name, c->kernel_interface, c->kernel_interface, u->type);
    else if (u->master[0])
        errors_add(e, p->line,
                   "port %s: %s is a member of %s, which would get the same frames: expected "
                   "another interface, or first 'ip link set %s nomaster'",
                   c->name, c->kernel_interface, u->master, c->kernel_interface);
    else if (!p->force && uses.n)
        errors_add(e, p->line,
                   "port %s: %s is in use by this host for %s, which would stop working: expected "
                   "another interface, or 'set port %s force true' as well",
                   c->name, c->kernel_interface, uses.s, c->name);
    text_free(&uses);
}

static void check_netdev(const struct model *to, const struct model_port *p, struct errors *e)
{
    const struct port_config *c = &p->config;
    struct kernel_link_use u;
    char err[400];

    if (!c->netns[0] && model_owns_name(to, c->kernel_interface))
        errors_add(e, p->line,
                   "port %s: %s is kamueed's own interface, expected a kernel interface", c->name,
                   c->kernel_interface);
    else if (kernel_link_use_read(c->kernel_interface, c->netns, &u, err, sizeof err))
        errors_add(e, p->line, "port %s: %s", c->name, err);
    else
        check_use(p, &u, e);
}

static void note_addresses(const struct model *from, const struct model *to, struct errors *notes)
{
    struct kernel_link_use u;
    char err[400];

    for (size_t i = 0; host_is_known() && i < model_ports(to)->port.n; i++) {
        const struct model_port *p = &model_ports(to)->port.item[i];

        if (takes_anew(from, p) &&
            !kernel_link_use_read(p->config.kernel_interface, p->config.netns, &u, err,
                                  sizeof err) &&
            u.address[0])
            errors_add(notes, 0,
                       "%s has %s, which is no longer reachable because port %s now uses the "
                       "interface; move it: ip addr add … "
                       "dev %s",
                       p->config.kernel_interface, u.address, p->config.name, p->config.name);
    }
}

static void check_devices(const struct model *from, const struct model *to, struct errors *e)
{
    vec_foreach (&model_ports(to)->port, p) {
        const struct model_port *old = model_find_port(from, p->config.name);
        char address[16];

        if ((!old || strcmp(old->config.devargs, p->config.devargs)) &&
            devargs_is_pci(p->config.devargs, address, sizeof address) &&
            host_has("/sys/bus/pci/devices", "") && !host_has("/sys/bus/pci/devices/%s", address))
            errors_add(e, p->line, "port %s: there is no PCI device %s, expected one of 'lspci -D'",
                       p->config.name, address);
        if (takes_anew(from, p))
            check_netdev(to, p, e);
        else if (!old || strcmp(old->config.netns, p->config.netns))
            host_check_netns("port", p->config.name, p->config.netns, p->line, e);
    }
}

// --- steps ---------------------------------------------------------------------------------------

static int run_port(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_port *port = to;

    if (!from)
        return port_manager_attach(&port->config, err, n);
    if (!to)
        return port_manager_detach(s->name, err, n);
    return port_manager_change(&port->config, err, n);
}

static const struct step_kind port_kind = {"port", run_port};

static bool port_same(const struct model_port *a, const struct model_port *b) // of one that stays
{
    const struct port_config *x = &a->config, *y = &b->config;

    return port_same_device(a, b) && x->rx_queues == y->rx_queues && x->tx_queues == y->tx_queues &&
           x->rx_descriptors == y->rx_descriptors && x->tx_descriptors == y->tx_descriptors &&
           x->rx_mode == y->rx_mode && x->mtu == y->mtu && x->promiscuous == y->promiscuous &&
           x->enabled == y->enabled && x->has_mac == y->has_mac &&
           (!x->has_mac || !memcmp(x->mac, y->mac, 6)) && !memcmp(&x->lag, &y->lag, sizeof x->lag);
}

static void plan_remove(struct change *c)
{
    vec_foreach (&model_ports(c->from)->port, p)
        if (!port_stays(c, p->config.name))
            step_add(c, &port_kind, p->config.name, p, NULL, 0);
}

// Changed ports first: they may release a device that a new port takes. LAGs last: they take their
// MAC from their members.
static void plan_add(struct change *c)
{
    vec_foreach (&model_ports(c->to)->port, p) {
        const struct model_port *old = model_find_port(c->from, p->config.name);

        if (port_stays(c, p->config.name) && !port_same(old, p))
            step_add(c, &port_kind, p->config.name, old, p, p->line);
    }
    for (int lag = 0; lag <= 1; lag++)
        vec_foreach (&model_ports(c->to)->port, p)
            if (!p->config.lag.mode == !lag && !port_stays(c, p->config.name))
                step_add(c, &port_kind, p->config.name, NULL, p, p->line);
}

// --- completion ----------------------------------------------------------------------------------

static void each_port(name_fn *fn, void *ctx)
{
    vec_foreach (&model_ports(config_model())->port, p)
        fn(ctx, p->config.name, p->config.devargs);
}

static bool is_ours(const char *netdev)
{
    return !strcmp(netdev, "lo") || strlen(netdev) > 15 || model_owns_name(config_model(), netdev);
}

struct netdev {
    name_fn *fn;
    void *ctx;
    unsigned number;
};

// Offers a kernel interface as a DPDK device, except our own TAPs and the loopback.
static void offer_netdev(void *ctx, const char *word, const char *help)
{
    const struct netdev *n = ctx;
    char devargs[96];

    if (is_ours(word))
        return;
    snprintf(devargs, sizeof devargs, "net_af_packet%u,iface=%s", n->number, word);
    n->fn(n->ctx, devargs, "kernel interface in kamueed's namespace");
}

static void offer_kernel_interface(void *ctx, const char *word, const char *help)
{
    const struct netdev *n = ctx;

    if (!is_ours(word))
        n->fn(n->ctx, word, "");
}

// DPDK requires a unique number for each virtual device.
static unsigned free_number(void)
{
    unsigned next = 0, used;

    vec_foreach (&model_ports(config_model())->port, p)
        if (sscanf(p->config.devargs, "net_af_packet%u", &used) == 1 && used >= next)
            next = used + 1;
    return next;
}

static void each_kernel_interface(name_fn *fn, void *ctx)
{
    struct netdev n = {fn, ctx, 0};

    host_each_entry("/sys/class/net", offer_kernel_interface, &n);
}

static void each_netdev(name_fn *fn, void *ctx)
{
    struct netdev n = {fn, ctx, free_number()};

    host_each_entry("/sys/class/net", offer_netdev, &n);
}

const struct feature_config port_config = {
    .part_size = sizeof(struct model_ports),
    .lists = (const struct feature_list[]){{.node = "port",
                                            LIST_ROWS(struct model_ports, port),
                                            .read = read_port,
                                            .check = check_port},
                                           {0}},
    .check = check_unique_device,
    .check_host = check_devices,
    .note = note_addresses,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_PORTS, plan_remove},
                                             {PHASE_PORTS, plan_add},
                                             {0}},
    .names = (const struct feature_names[]){{"port", each_port},
                                            {"netdev", each_netdev},
                                            {"kernel-interface", each_kernel_interface},
                                            {0}},
};
