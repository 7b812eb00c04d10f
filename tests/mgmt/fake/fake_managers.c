// SPDX-License-Identifier: BSD-3-Clause
// fake_managers.c - managers that hold their settings and fail on demand, for unit tests of mgmt
#include "fake/fake_managers.h"
#include "config/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "device/kernel_link.h"
#include "interface/iface_tap.h"
#include "interface/iface_manager.h"
#include "interface/tap_test.h"
#include "interface/vr_manager.h"
#include "netlink/netns_own.h"
#include "port/port_manager.h"
#include "rib/rib_manager.h"
#include "fake/fake_queue.h"
#include "table/iface.h"
#include "table/policer.h"
#include "thread/thread_manager.h"
#include "tunnel/tunnel_linux.h"

static struct port_config ports[64];
static unsigned n_ports;
static struct fake_iface {
    char name[16], port[16], vr[16];
    struct vport_tags tags;
    uint16_t mtu;
    struct iface_policy policy;
    struct policer police[POLICER_DIRECTIONS];
    char description[256];
} ifaces[256];
static unsigned n_ifaces;
static struct fake_vr {
    char name[16], netns[64];
    uint32_t table;
    enum fib_engine engine;
    struct flow_hash flow_hash;
    uint8_t cpu_weight;
    bool stopped;
    struct vr_limits budget;
} vrs[129]; // the first is default
static unsigned n_vrs;
static struct fake_multicast {
    char vr[16];
    struct multicast_static route;
} multicast[64];
static unsigned n_multicast;
static struct fake_counted {
    char vr[16];
    struct prefix prefix;
} counted[64];
static unsigned n_counted;
static struct text assignments;

void fake_reset(void)
{
    host_set_root(NULL); // resources in tests' configurations always exist
    text_clear(&fake_calls);
    text_clear(&assignments);
    n_ports = n_ifaces = n_multicast = n_counted = 0;
    n_vrs = 1;
    vrs[0] = (struct fake_vr){.name = "default",
                              .engine = FIB_POPTRIE,
                              .flow_hash = flow_hash_default,
                              .cpu_weight = 1};
    fake_fail_at = 0;
    fake_journal_fails = false;
    fake_acl_reset();
    fake_queue_reset();
    fake_program_reset();
}

static int full(char *err, size_t n)
{
    snprintf(err, n, "no room for another one");
    return -ENOSPC;
}

static struct fake_iface *find_iface(const char *name)
{
    for (unsigned i = 0; i < n_ifaces; i++)
        if (!strcmp(ifaces[i].name, name))
            return &ifaces[i];
    return NULL;
}

static struct port_config *find_port(const char *name)
{
    for (unsigned i = 0; i < n_ports; i++)
        if (!strcmp(ports[i].name, name))
            return &ports[i];
    return NULL;
}

bool fake_has_port(const char *name)
{
    return find_port(name);
}

bool fake_has_interface(const char *name)
{
    return find_iface(name);
}

static struct fake_vr *find_vr(const char *name)
{
    for (unsigned i = 0; i < n_vrs; i++)
        if (!strcmp(vrs[i].name, name))
            return &vrs[i];
    return NULL;
}

bool fake_has_vr(const char *name)
{
    return find_vr(name);
}

// A device belongs to one port only.
static bool device_taken(const struct port_config *cfg)
{
    for (unsigned i = 0; i < n_ports; i++)
        if (strcmp(ports[i].name, cfg->name) && port_config_same_device(&ports[i], cfg))
            return true;
    return false;
}

static void add_iface(const char *name, const char *port, struct vport_tags tags, uint16_t mtu,
                      const char *vr)
{
    struct fake_iface *i = &ifaces[n_ifaces++];

    memset(i, 0, sizeof *i);
    snprintf(i->name, sizeof i->name, "%s", name);
    snprintf(i->port, sizeof i->port, "%s", port);
    snprintf(i->vr, sizeof i->vr, "%s", vr);
    i->tags = tags;
    i->mtu = mtu;
}

int kernel_link_use_read(const char *name, const char *netns, struct kernel_link_use *u, char *err,
                    size_t err_size)
{
    *u = (struct kernel_link_use){0};
    return 0;
}

int port_manager_attach(const struct port_config *cfg, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "attach", cfg->name);

    bug_on(find_port(cfg->name) || find_iface(cfg->name) || device_taken(cfg));
    if (!r && n_ports == sizeof ports / sizeof *ports)
        r = full(err, err_size);
    if (r)
        return r;
    ports[n_ports++] = *cfg;
    if (!cfg->member_of[0])
        add_iface(cfg->name, cfg->name, (struct vport_tags){0}, cfg->mtu, "default");
    return 0;
}

int port_manager_detach(const char *name, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "detach", name);
    struct port_config *p = find_port(name);

    bug_on(!p || fake_queue(name)); // its queue goes first
    for (unsigned i = 0; i < n_ifaces; i++)
        bug_on(ifaces[i].tags.vlan && !strcmp(ifaces[i].port, name)); // vports go first
    if (r)
        return r;
    struct fake_iface *i = find_iface(name);
    bug_on(!i != !!p->member_of[0]); // a member of a LAG has none
    if (i)
        *i = ifaces[--n_ifaces];
    *p = ports[--n_ports];
    return 0;
}

int port_manager_change(const struct port_config *cfg, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "change", cfg->name);
    struct port_config *p = find_port(cfg->name);

    bug_on(!p || device_taken(cfg));
    if (r)
        return r;
    *p = *cfg;
    if (!cfg->member_of[0])
        find_iface(cfg->name)->mtu = cfg->mtu;
    return 0;
}

int iface_manager_add_vport(const char *name, const char *port, struct vport_tags tags,
                            uint16_t mtu, const char *vr, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "add-vport", name);

    bug_on(find_iface(name) || !find_port(port));
    if (!r && n_ifaces == sizeof ifaces / sizeof *ifaces)
        r = full(err, err_size);
    if (!r)
        add_iface(name, port, tags, mtu, vr);
    return r;
}

int iface_manager_del(const char *name, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "del-vport", name);
    struct fake_iface *i = find_iface(name);

    bug_on(!i || fake_queue_names(name));
    if (!r)
        *i = ifaces[--n_ifaces];
    return r;
}

int iface_manager_add_metalink(const char *name, const char *a, const char *b, uint16_t mtu,
                               char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "add-metalink", name);
    char end[2][16];

    for (unsigned k = 0; k < 2 && !r; k++) {
        snprintf(end[k], sizeof end[k], "%.13s-%c", name, 'a' + (int)k);
        bug_on(find_iface(end[k]));
        if (n_ifaces + 2 > sizeof ifaces / sizeof *ifaces)
            return full(err, err_size);
        add_iface(end[k], "", (struct vport_tags){0}, mtu, k ? b : a);
    }
    return r;
}

int iface_manager_add_tunnel(const char *name, const char *outer_vr,
                             const struct tunnel_settings *settings, uint16_t mtu, const char *vr,
                             char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "add-tunnel", name);

    if (!r)
        bug_on(find_iface(name));
    if (!r)
        add_iface(name, "", (struct vport_tags){0}, mtu, vr);
    return r;
}

int iface_manager_set_tunnel_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-tunnel-mtu", name);

    if (!r)
        find_iface(name)->mtu = mtu;
    return r;
}

// No kernel reports tunnels.
void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx) {}

static struct fake_iface *find_end(const char *name, unsigned k)
{
    char end[16];

    snprintf(end, sizeof end, "%.13s-%c", name, 'a' + (int)k);
    struct fake_iface *i = find_iface(end);
    bug_on(!i);
    return i;
}

int iface_manager_del_metalink(const char *name, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "del-metalink", name);

    for (unsigned k = 0; k < 2 && !r; k++)
        *find_end(name, k) = ifaces[--n_ifaces];
    return r;
}

int iface_manager_set_metalink_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-metalink-mtu", name);

    for (unsigned k = 0; k < 2 && !r; k++)
        find_end(name, k)->mtu = mtu;
    return r;
}

struct iface *iface_manager_peer(const struct iface *end)
{
    return NULL;
}

void iface_manager_end_change(void) {}

int iface_manager_set_vr(const char *name, const char *vr, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-vr", name);

    bug_on(!find_iface(name) || !find_vr(vr));
    if (!r)
        snprintf(find_iface(name)->vr, sizeof ifaces[0].vr, "%s", vr);
    return r;
}

int iface_manager_set_policy(const char *name, const struct iface_policy *policy, char *err,
                             size_t err_size)
{
    int r = fake_called(err, err_size, "set-policy", name);

    bug_on(!find_iface(name));
    if (!r)
        find_iface(name)->policy = *policy;
    return r;
}

int iface_manager_set_police(const char *name, const struct policer *in, const struct policer *out,
                             char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-police", name);

    bug_on(!find_iface(name));
    if (r)
        return r;
    find_iface(name)->police[POLICER_IN] = *in;
    find_iface(name)->police[POLICER_OUT] = *out;
    return 0;
}

int iface_manager_set_description(const char *name, const char *description, char *err,
                                  size_t err_size)
{
    int r = fake_called(err, err_size, "set-description", name);

    bug_on(!find_iface(name));
    if (!r)
        snprintf(find_iface(name)->description, sizeof find_iface(name)->description, "%s",
                 description);
    return r;
}

int iface_manager_number(const struct iface *i)
{
    return i->ifindex;
}

uint64_t iface_manager_changed_ns(uint16_t id)
{
    return 1700000000000000000;
}

void iface_manager_restore_changed(uint16_t id, bool up, uint64_t changed_ns)
{
}

void iface_manager_description(uint16_t id, char description[256])
{
    description[0] = 0;
}

int iface_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-mtu", name);
    struct fake_iface *i = find_iface(name);

    bug_on(!i || mtu > find_port(i->port)->mtu);
    if (!r)
        i->mtu = mtu;
    return r;
}

int vr_manager_add(const char *name, const char *netns, uint32_t table, enum fib_engine engine,
                   const struct vr_limits *budget, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "add-vr", name);

    bug_on(find_vr(name));
    if (!r && n_vrs == sizeof vrs / sizeof *vrs)
        r = full(err, err_size);
    if (r)
        return r;
    struct fake_vr *v = &vrs[n_vrs++];
    *v = (struct fake_vr){
        .table = table, .engine = engine, .flow_hash = flow_hash_default, .budget = *budget};
    snprintf(v->name, sizeof v->name, "%s", name);
    snprintf(v->netns, sizeof v->netns, "%s", netns);
    return 0;
}

int netns_own_make(const char *name, char *err, size_t err_size)
{
    return fake_called(err, err_size, "make-netns", name);
}

bool netns_own_may_make(const char *name)
{
    return true;
}

bool netns_own_is_marked(const char *name)
{
    return false;
}

void netns_own_forget(const char *name) {}

void netns_own_sweep(bool (*keep)(void *ctx, const char *name), void *ctx) {}

int vr_manager_rename(const char *name, const char *to, const char *netns, char *err,
                      size_t err_size)
{
    int r = fake_called(err, err_size, "rename-vr", name);

    struct fake_vr *v = find_vr(name);

    if (!r && v) {
        snprintf(v->name, sizeof v->name, "%s", to);
        snprintf(v->netns, sizeof v->netns, "%s", netns);
    }
    for (unsigned i = 0; i < n_ifaces && !r; i++)
        if (!strcmp(ifaces[i].vr, name))
            snprintf(ifaces[i].vr, sizeof ifaces[i].vr, "%s", to);
    return r;
}

int vr_manager_set_enabled(const char *name, bool enabled, char *err, size_t err_size)
{
    struct fake_vr *v = find_vr(name);

    bug_on(!v);
    v->stopped = !enabled;
    return 0;
}

int vr_manager_set_engine(const char *name, enum fib_engine engine, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "set-engine", name);
    struct fake_vr *v = find_vr(name);

    bug_on(!v);
    if (!r)
        v->engine = engine;
    return r;
}

int vr_manager_set_flow_hash(const char *name, struct flow_hash hash, char *err, size_t err_size)
{
    struct fake_vr *v = find_vr(name);

    bug_on(!v);
    v->flow_hash = hash;
    return 0;
}

int vr_manager_set_cpu_weight(const char *name, uint8_t weight, char *err, size_t err_size)
{
    struct fake_vr *v = find_vr(name);

    bug_on(!v);
    v->cpu_weight = weight;
    return 0;
}

int vr_manager_set_budget(const char *name, const struct vr_limits *limits, char *err,
                          size_t err_size)
{
    struct fake_vr *v = find_vr(name);

    bug_on(!v);
    v->budget = *limits;
    return 0;
}

// " budget ipv4-routes=7 …", or nothing.
static const char *budget_text(const struct vr_limits *l, char *buf, size_t n)
{
    size_t at = 0;

    buf[0] = 0;
    for (unsigned k = 0; k < VR_BUDGET_N; k++)
        if (l->of[k])
            at += (size_t)snprintf(buf + at, n - at, "%s %s=%lu", at ? "" : " budget",
                                   vr_budget_info[k].word, l->of[k]);
    return buf;
}

int vr_manager_del(const char *name, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "del-vr", name);

    for (unsigned i = 0; i < n_ifaces; i++)
        bug_on(!strcmp(ifaces[i].vr, name)); // must be empty
    bug_on(fake_queue_names(name));
    for (unsigned i = 0; i < n_multicast; i++)
        bug_on(!strcmp(multicast[i].vr, name));
    for (unsigned i = 0; i < n_counted; i++)
        bug_on(!strcmp(counted[i].vr, name));
    struct fake_vr *v = find_vr(name);
    if (!r) {
        bug_on(!v || v == vrs);
        *v = vrs[--n_vrs];
    }
    return r;
}

static struct fake_multicast *find_multicast(const char *vr, const struct multicast_key *k)
{
    bug_on(!find_vr(vr));
    for (unsigned i = 0; i < n_multicast; i++)
        if (!strcmp(multicast[i].vr, vr) && !memcmp(&multicast[i].route.key, k, sizeof *k))
            return &multicast[i];
    return NULL;
}

int rib_manager_multicast_set(const char *vr, const struct multicast_static *s)
{
    char err[80];
    int r = fake_called(err, sizeof err, "set-multicast", vr);
    struct fake_multicast *m = find_multicast(vr, &s->key);

    if (r)
        return r;
    if (!m)
        m = &multicast[n_multicast++];
    snprintf(m->vr, sizeof m->vr, "%s", vr);
    m->route = *s;
    return 0;
}

int rib_manager_multicast_del(const char *vr, const struct multicast_key *k)
{
    char err[80];
    int r = fake_called(err, sizeof err, "del-multicast", vr);
    struct fake_multicast *m = find_multicast(vr, k);

    bug_on(!m);
    if (!r)
        *m = multicast[--n_multicast];
    return r;
}

static struct fake_counted *find_counted(const char *vr, const struct prefix *p)
{
    bug_on(!find_vr(vr));
    for (unsigned i = 0; i < n_counted; i++)
        if (!strcmp(counted[i].vr, vr) && prefix_equal(&counted[i].prefix, p))
            return &counted[i];
    return NULL;
}

int rib_manager_import(const char *vr, const struct rib_import_rule *r, bool on)
{
    char err[200];

    return fake_called(err, sizeof err, on ? "import" : "end-import", vr);
}

int rib_manager_counted_add(const char *vr, const struct prefix *p)
{
    char err[80];
    int r = fake_called(err, sizeof err, "add-counted", vr);

    bug_on(find_counted(vr, p));
    if (r)
        return r;
    snprintf(counted[n_counted].vr, sizeof counted[0].vr, "%s", vr);
    counted[n_counted++].prefix = *p;
    return 0;
}

int rib_manager_counted_del(const char *vr, const struct prefix *p)
{
    char err[80];
    int r = fake_called(err, sizeof err, "del-counted", vr);
    struct fake_counted *c = find_counted(vr, p);

    bug_on(!c);
    if (!r)
        *c = counted[--n_counted];
    return r;
}

int thread_manager_assign(const struct thread_assignment *a, unsigned n, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "assign", n ? "queues" : "default");

    if (r)
        return r;
    text_clear(&assignments);
    for (unsigned i = 0; i < n; i++)
        text_printf(&assignments, "thread %d %s %u\n", a[i].core, a[i].port, a[i].queue);
    return 0;
}

void port_history_add(const char *port, const struct port_point *p)
{
}

void port_history_each(const char *port, void (*fn)(void *ctx, const struct port_point *p),
                       void *ctx)
{
    for (uint64_t i = 1; i <= 2; i++)
        fn(ctx, &(struct port_point){.wall_ns = i * PORT_HISTORY_EVERY_S * NS_PER_SECOND,
                                     .rx_packets = 100 * i,
                                     .rx_bytes = 6000 * i});
}

unsigned port_manager_list(char (*name)[16], unsigned max)
{
    for (unsigned i = 0; i < n_ports && i < max; i++)
        memcpy(name[i], ports[i].name, 16);
    return n_ports;
}

static uint64_t cleared_wall_ns;

void port_manager_restore(const char *name, const struct port_statistics *before)
{
}

int port_manager_clear(const char *name)
{
    cleared_wall_ns = clock_wall_ns();
    return find_port(name) ? 0 : -ENOENT;
}

int port_manager_state(const char *name, struct port_state *s)
{
    const struct port_config *c = find_port(name);

    if (!c)
        return -ENOENT;
    *s = (struct port_state){.config = *c,
                             .driver = "net_null",
                             .started = c->enabled,
                             .link_up = true,
                             .full_duplex = true,
                             .speed_mbps = 10000,
                             .mac = {2, 0, 0, 0, 0, 1},
                             .rss_hf = ~0ull,
                             .rx_offloads = 1,
                             .tx_offloads = 3,
                             .statistics = {.rx_packets = 1ull << 40},
                             .cleared_wall_ns = cleared_wall_ns,
                             .cleared = {.rx_packets = 1ull << 40}};
    s->config.rx_queues = 2;
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void append_sorted(char **line, unsigned n, struct text *t)
{
    qsort(line, n, sizeof *line, compare_lines);
    for (unsigned i = 0; i < n; i++) {
        text_printf(t, "%s\n", line[i]);
        free(line[i]);
    }
}

void fake_state(struct text *t)
{
    char budget[300];
    char *line[256 + 64 + 16 + 64];
    unsigned n = 0;

    for (unsigned i = 0; i < n_ports; i++)
        bug_on(asprintf(&line[n++], "port %s %s ns=%s q=%u/%u d=%u/%u mtu=%u %d%d%d", ports[i].name,
                        ports[i].devargs, ports[i].netns, ports[i].rx_queues, ports[i].tx_queues,
                        ports[i].rx_descriptors, ports[i].tx_descriptors, ports[i].mtu,
                        ports[i].promiscuous, ports[i].has_mac, ports[i].enabled) < 0);
    for (unsigned i = 0; i < n_ifaces; i++)
        bug_on(asprintf(&line[n++],
                        "interface %s of %s tags=%u.%u/%#x mtu=%u vr=%s urpf=%u/%u redirect=%u "
                        "broadcast=%u reroute=%u pcp=%#x",
                        ifaces[i].name, ifaces[i].port, ifaces[i].tags.outer, ifaces[i].tags.vlan,
                        ifaces[i].tags.tpid, ifaces[i].mtu, ifaces[i].vr, ifaces[i].policy.urpf[0],
                        ifaces[i].policy.urpf[1], ifaces[i].policy.redirect,
                        ifaces[i].policy.directed_broadcast, ifaces[i].policy.fast_reroute,
                        ifaces[i].policy.pcp_class) < 0);
    for (unsigned i = 1; i < n_vrs; i++)
        bug_on(asprintf(&line[n++], "vr %s ns=%s table=%u engine=%s flow-hash=%s/%d/%u cpu=%u%s%s",
                        vrs[i].name, vrs[i].netns, vrs[i].table, fib_engine_name(vrs[i].engine),
                        flow_hash_name(vrs[i].flow_hash.mode), vrs[i].flow_hash.label,
                        vrs[i].flow_hash.seed, vrs[i].cpu_weight,
                        vrs[i].stopped ? " stopped" : "",
                        budget_text(&vrs[i].budget, budget, sizeof budget)) < 0);
    for (unsigned i = 0; i < n_multicast; i++)
        bug_on(asprintf(&line[n++], "multicast %s %u.%u from %u in=%s out=%u %s/%u",
                        multicast[i].vr, multicast[i].route.key.group[0],
                        multicast[i].route.key.group[3], multicast[i].route.key.source[0],
                        multicast[i].route.in, multicast[i].route.n_out,
                        multicast[i].route.out[0].iface, multicast[i].route.out[0].ttl) < 0);
    append_sorted(line, n, t);
    text_printf(t, "vr default engine=%s flow-hash=%s/%d/%u cpu=%u%s\n",
                fib_engine_name(vrs[0].engine), flow_hash_name(vrs[0].flow_hash.mode),
                vrs[0].flow_hash.label, vrs[0].flow_hash.seed, vrs[0].cpu_weight,
                budget_text(&vrs[0].budget, budget, sizeof budget));
    text_printf(t, "%s", text_str(&assignments));
    fake_queue_state(t);
}

int tap_test_start(const char *name)
{
    return name && !find_iface(name) ? -ENOENT : 0;
}
