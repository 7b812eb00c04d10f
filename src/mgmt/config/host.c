// SPDX-License-Identifier: BSD-3-Clause
// machine.c - whether this machine has what a configuration names
#include "config/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "port/netdev_use.h"

static const char *root = "";

void machine_set_root(const char *where)
{
    root = where;
}

static bool exists(const char *fmt, const char *name)
{
    struct text t = {0};

    text_printf(&t, "%s", root);
    text_printf(&t, fmt, name);
    bool there = !access(t.s, F_OK);
    text_free(&t);
    return there;
}

// First line of a file; "" when it is not there.
static const char *line_of(const char *path, char *buf, size_t n)
{
    struct text t = {0};
    FILE *f;

    text_printf(&t, "%s%s", root, path);
    f = fopen(t.s, "re");
    text_free(&t);
    if (!f || !fgets(buf, (int)n, f))
        *buf = 0;
    buf[strcspn(buf, "\n")] = 0;
    if (f)
        fclose(f);
    return buf;
}

// --- cores --------------------------------------------------------------------------------------

// "0-3,8": whether the list of ranges has it.
static bool range_has(const char *ranges, long wanted)
{
    for (const char *p = ranges; isdigit((unsigned char)*p);) {
        char *end;
        long from = strtol(p, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;

        if (wanted >= from && wanted <= to)
            return true;
        p = end + (*end == ',');
    }
    return false;
}

static bool core_is_used(const struct model *m, int core)
{
    vec_foreach (&m->thread, a)
        if (a->core == core)
            return true;
    return false;
}

static void check_cores(const struct model *from, const struct model *to, struct errors *e)
{
    char online[256];

    line_of("/sys/devices/system/cpu/online", online, sizeof online);
    for (size_t i = 0; *online && i < to->thread.n; i++) {
        int core = to->thread.item[i].core;

        if (i && to->thread.item[i - 1].core == core)
            continue;
        if (!core_is_used(from, core) && !range_has(online, core))
            errors_add(e, to->thread_line.item[i],
                       "thread %d: core %d does not exist or is offline, expected one of %s", core,
                       core, online);
    }
}

// --- devices and namespaces ---------------------------------------------------------------------

static bool is_pci(const char *devargs)
{
    unsigned domain, bus, slot, function;
    int end = 0;

    return sscanf(devargs, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) == 4 &&
           end == 12 && (!devargs[end] || devargs[end] == ',');
}

static void check_netns(const char *kind, const char *name, const char *netns, unsigned line,
                        struct errors *e)
{
    if (netns[0] && exists("/run/netns", "") && !exists("/run/netns/%s", netns))
        errors_add(e, line,
                   "%s %s: there is no network namespace '%s', expected one of 'ip netns list'",
                   kind, name, netns);
}

// A kernel interface that none of `from` has.
static bool takes_anew(const struct model *from, const struct model_port *p)
{
    vec_foreach (&from->port, old)
        if (port_config_same_device(&old->config, &p->config))
            return false;
    return p->config.kernel_interface[0];
}

// The machine must not lose what it is reached by without a word.
static void check_netdev(const struct model *to, const struct model_port *p, struct errors *e)
{
    const struct port_config *c = &p->config;
    struct netdev_use u;
    char err[400];

    if (!c->netns[0] &&
        (model_find_port(to, c->kernel_interface) || model_find_vport(to, c->kernel_interface)))
        errors_add(e, p->line,
                   "port %s: %s is kamueed's own interface, expected a kernel interface", c->name,
                   c->kernel_interface);
    else if (netdev_use_look(c->kernel_interface, c->netns, &u, err, sizeof err))
        errors_add(e, p->line, "port %s: %s", c->name, err);
    else if (!p->force && (u.gateway[0] || u.session[0]))
        errors_add(e, p->line,
                   "port %s: %s is in use by this host for %s%s%s%s%s, which would stop working: "
                   "expected another "
                   "interface, or 'set port %s force true' as well",
                   c->name, c->kernel_interface, u.gateway[0] ? "the default route via " : "",
                   u.gateway, u.gateway[0] && u.session[0] ? " and " : "",
                   u.session[0] ? "a TCP connection to " : "", u.session, c->name);
}

static void note_addresses(const struct model *from, const struct model *to, struct errors *notes)
{
    struct netdev_use u;
    char err[400];

    vec_foreach (&to->port, p)
        if (takes_anew(from, p) &&
            !netdev_use_look(p->config.kernel_interface, p->config.netns, &u, err, sizeof err) &&
            u.address[0])
            errors_add(notes, 0,
                       "%s has %s, which is no longer reachable because port %s now uses the "
                       "interface; move it: ip addr add … "
                       "dev %s",
                       p->config.kernel_interface, u.address, p->config.name, p->config.name);
}

static void check_ports(const struct model *from, const struct model *to, struct errors *e)
{
    vec_foreach (&to->port, p) {
        const struct model_port *old = model_find_port(from, p->config.name);
        char address[16];

        snprintf(address, sizeof address, "%.12s", p->config.devargs);
        if ((!old || strcmp(old->config.devargs, p->config.devargs)) && is_pci(p->config.devargs) &&
            exists("/sys/bus/pci/devices", "") && !exists("/sys/bus/pci/devices/%s", address))
            errors_add(e, p->line, "port %s: there is no PCI device %s, expected one of 'lspci -D'",
                       p->config.name, address);
        if (takes_anew(from, p))
            check_netdev(to, p, e);
        else if (!old || strcmp(old->config.netns, p->config.netns))
            check_netns("port", p->config.name, p->config.netns, p->line, e);
    }
}

static void check_vrs(const struct model *from, const struct model *to, struct errors *e)
{
    vec_foreach (&to->vr, v) {
        const struct model_vr *old = model_find_vr(from, v->name);

        if (!old || strcmp(old->netns, v->netns))
            check_netns("vr", v->name, v->netns, v->line, e);
    }
}

// --- memory -------------------------------------------------------------------------------------

// A value of /proc/meminfo in MiB; 0: it does not say.
static unsigned long meminfo_mib(const char *what)
{
    struct text t = {0}, path = {0};
    const char *at = NULL;

    text_printf(&path, "%s/proc/meminfo", root);
    if (!file_read(path.s, &t))
        at = strstr(text_str(&t), what);
    unsigned long kib = at ? strtoul(at + strlen(what), NULL, 10) : 0;
    text_free(&t);
    text_free(&path);
    return kib / 1024;
}

static void check_memory(const struct model *from, const struct model *to, struct errors *e)
{
    const struct model_settings *old = &from->settings, *new = &to->settings;
    unsigned long all = meminfo_mib("MemTotal:"), free = meminfo_mib("MemAvailable:");

    if (all && new->memory_mib > all && new->memory_mib != old->memory_mib)
        errors_add(e, 0, "'memory' is '%u', expected at most %lu (MiB), the host's memory",
                   new->memory_mib, all);
    if (free && new->journal_mib > old->journal_mib && new->journal_mib - old->journal_mib > free)
        errors_add(
            e, 0,
            "journal: 'size' is '%u', expected at most %lu (MiB), the host's available memory",
            new->journal_mib, old->journal_mib + free);
}

// --- what goes with an interface ----------------------------------------------------------------

static const char *netns_of(const struct model *m, const char *vr)
{
    const struct model_vr *v = model_find_vr(m, vr);

    return v ? v->netns : "";
}

static void note_move(const struct model *from, const struct model *to, const char *name,
                      const char *was, const char *is, struct errors *notes)
{
    if (strcmp(netns_of(from, was), netns_of(to, is)))
        errors_add(notes, 0,
                   "moves %s to another network namespace: permanent addresses move with it; "
                   "routes, neighbors, sysctls, and tc "
                   "and nftables rules on its TAP do not",
                   name);
}

void machine_notes(const struct model *from, const struct model *to, struct errors *notes)
{
    if (!root)
        return;
    note_addresses(from, to, notes);
    vec_foreach (&to->port, p) {
        const struct model_port *old = model_find_port(from, p->config.name);
        if (old)
            note_move(from, to, p->config.name, old->vr, p->vr, notes);
    }
    vec_foreach (&to->vport, v) {
        const struct model_vport *old = model_find_vport(from, v->name);
        if (old)
            note_move(from, to, v->name, old->vr, v->vr, notes);
    }
}

void machine_check(const struct model *from, const struct model *to, struct errors *e)
{
    if (!root)
        return;
    check_cores(from, to, e);
    check_ports(from, to, e);
    check_vrs(from, to, e);
    check_memory(from, to, e);
}
