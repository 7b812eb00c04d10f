// SPDX-License-Identifier: BSD-3-Clause
// modules.c - see modules.h
//
// One explicit list, no constructors: a module uses only those before it and stops before them.
// mgmt is last: it applies the configuration when everything that serves a port is running.
#include "main/modules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl_manager/acl_manager.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "core/eal.h"
#include "core/mailbox.h"
#include "core/rcu.h"
#include "device/kernel_link.h"
#include "feature/explain.h"
#include "forwarder/forwarder.h"
#include "interface/iface_manager.h"
#include "interface/iface_tap.h"
#include "interface/vr_manager.h"
#include "lag/lag_manager.h"
#include "main/keep.h"
#include "netlink/netns_own.h"
#include "port/port_manager.h"
#include "port_queue/port_queue_manager.h"
#include "program_manager/program_manager.h"
#include "rib/rib_manager.h"
#include "server/mgmt.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/latency.h"
#include "table/multicast.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"
#include "table/plan.h"
#include "table/policer.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "tap/tap.h"
#include "tap/tap_manager.h"
#include "thread/thread_manager.h"
#include "tunnel/tunnel_linux.h"

// Buffers for injected frames and ICMP errors: 20 MB, or 10 MB if memory is short. Frames larger
// than one buffer are chained.
#define EXCHANGE_BUFFERS(memory_mib)                                                               \
    ((memory_mib) >= 512 ? 32767 : (memory_mib) >= 256 ? 16383 : (memory_mib) >= 128 ? 8191 : 4095)
#define EXCHANGE_DATA_ROOM (2048 + RTE_PKTMBUF_HEADROOM)

static int start_rcu(const struct start_inputs *s, char *err, size_t n)
{
    rcu_init();
    rcu_thread_register();
    rcu_offline(); // control sleeps in its loop
    return 0;
}

static void stop_rcu(void)
{
    rcu_thread_unregister();
    rcu_fini();
}

static int start_eal(const struct start_inputs *s, char *err, size_t n)
{
    char name[32];

    // The same at each start, so that the next kamueed reuses the files of a killed one; the lock
    // of the run directory makes it unique.
    char path[PATH_MAX];
    const char *dir = realpath(s->run_dir, path) ? path : s->run_dir;
    if (geteuid()) // DPDK's own directory: root's is /var/run/dpdk; the unit sets ours
        setenv("RUNTIME_DIRECTORY", dir, 0);
    snprintf(name, sizeof name, "%016lx%s", hash_bytes(dir, strlen(dir), 0), s->second ? "-2" : "");
    return eal_init(
        &(struct eal_config){.name = name, .memory_mib = s->memory_mib, .no_huge = s->no_huge}, err,
        n);
}

static int start_tables(const struct start_inputs *s, char *err, size_t n)
{
    int (*const init[])(void) = {counter_init,   port_table_init,    iface_table_init,
                                 multicast_init, nexthop_table_init, vr_table_init,
                                 plan_init,      acl_table_init,     acl_log_init};

    for (unsigned i = 0; i < sizeof init / sizeof *init; i++) {
        int r = init[i]();
        if (r) {
            snprintf(err, n, "no memory for the tables: %s", strerror(-r));
            return r;
        }
    }
    return 0;
}

static void stop_tables(void)
{
    rcu_barrier(); // no retired object is pending
    program_manager_fini();
    acl_log_fini();
    acl_table_fini();
    plan_fini();
    vr_table_fini();
    latency_fini();
    nexthop_count_fini();
    multicast_fini();
    nexthop_table_fini();
    policer_fini();
    iface_table_fini();
    tunnel_table_fini();
    port_table_fini();
    counter_fini();
}

static int start_exchange(const struct start_inputs *s, char *err, size_t n)
{
    int r = exchange_init(EXCHANGE_BUFFERS(eal_memory_mib()), EXCHANGE_DATA_ROOM);

    if (r)
        snprintf(err, n, "no memory for packet buffers (%s): set memory to more than %u MiB",
                 strerror(-r), eal_memory_mib());
    return r;
}

static int start_threads(const struct start_inputs *s, char *err, size_t n)
{
    thread_manager_set_forwarder(forwarder_main);
    return thread_manager_init();
}

static int start_vr(const struct start_inputs *s, char *err, size_t n)
{
    char path[512];

    netns_name_by(getenv("KAMUEE_NETNS"));
    snprintf(path, sizeof path, "%s/netns", s->run_dir);
    return vr_manager_init(path);
}

static void keep_tap(int fd)
{
    keep_put("tap", fd);
}

static int start_iface(const struct start_inputs *s, char *err, size_t n)
{
    char path[512];

    snprintf(path, sizeof path, "%s/taps", s->run_dir);
    iface_follow_init();
    int r = iface_manager_init(path);
    if (!r)
        r = iface_tap_start_loop(s->loop);
    if (r)
        return r;
    tap_keep_by(keep_tap);
    keep_each("tap", tap_keep_offer);
    return keep_watch(s->loop, iface_tap_keep_again);
}

static int start_found(const struct start_inputs *s, char *err, size_t n)
{
    char path[512];

    snprintf(path, sizeof path, "%s/interfaces-found", s->run_dir);
    kernel_link_found_init(path);
    return 0;
}

static int start_explain(const struct start_inputs *s, char *err, size_t n)
{
    explain_set_dry_run(forwarder_explain);
    return 0;
}

static int start_mgmt(const struct start_inputs *s, char *err, size_t n)
{
    int r = mgmt_start(s->loop, s->run_dir, err, n);

    if (!r)
        iface_manager_started();
    if (!r)
        port_begin();
    return r;
}

static const struct module {
    const char *name;
    int (*init)(const struct start_inputs *s, char *err, size_t n); // or one of the next two
    int (*init_plain)(void);
    int (*init_on_loop)(struct event_base *loop);
    void (*fini)(void);
} module_table[] = {
    {"rcu", .init = start_rcu, .fini = stop_rcu},
    {"eal", .init = start_eal, .fini = eal_fini},
    {"tables", .init = start_tables, .fini = stop_tables},
    {"exchange", .init = start_exchange, .fini = exchange_fini},
    {"mailbox", .init_on_loop = mailbox_open, .fini = mailbox_close},
    {"thread_manager", .init = start_threads, .fini = thread_manager_fini},
    {"tap_manager", .init_plain = tap_manager_start, .fini = tap_manager_stop},
    {"rib_manager", .init_plain = rib_manager_start, .fini = rib_manager_stop},
    {"acl_manager", .init_plain = acl_manager_start, .fini = acl_manager_stop},
    {"vr_manager", .init = start_vr, .fini = vr_manager_fini},
    {"iface_manager", .init = start_iface, .fini = iface_manager_fini},
    {"tunnel_linux", .init_on_loop = tunnel_linux_start, .fini = tunnel_linux_fini},
    {"tap_sysctl", .init_on_loop = tap_sysctl_init, .fini = tap_sysctl_fini},
    {"port_queue_manager", .init_on_loop = port_queue_manager_init,
     .fini = port_queue_manager_fini},
    {"kernel_link_found", .init = start_found, .fini = kernel_link_found_fini},
    {"port_manager", .init_plain = port_manager_init, .fini = port_manager_fini},
    {"port_link", .init_on_loop = port_link_init, .fini = port_link_fini},
    {"lag_manager", .init_on_loop = lag_init, .fini = lag_fini},
    {"port_history", .init_on_loop = port_history_init, .fini = port_history_fini},
    {"port_begin", .init_on_loop = port_begin_init, .fini = port_begin_fini},
    {"explain", .init = start_explain, .fini = forwarder_explain_fini},
    {"mgmt", .init = start_mgmt, .fini = mgmt_stop},
};

#define N_MODULES (sizeof module_table / sizeof *module_table)
static unsigned n_started;

int modules_start(const struct start_inputs *s, char *err, size_t err_size)
{
    struct progress w = {0};

    for (; n_started < N_MODULES; n_started++) {
        const struct module *m = &module_table[n_started];
        progress_at(&w, n_started + 1, N_MODULES);
        char why[480] = "";
        uint64_t since = clock_now_ns();
        int r = m->init           ? m->init(s, why, sizeof why)
                : m->init_on_loop ? m->init_on_loop(s->loop)
                                  : m->init_plain();
        if (r) {
            snprintf(err, err_size, "%s: %s", m->name, why[0] ? why : strerror(-r));
            upgrade_take_fail(EXIT_START, err);
            modules_stop();
            return r;
        }
        log_debug("main: started: module=%s ms=%u", m->name,
                  (unsigned)((clock_now_ns() - since) / NS_PER_MS));
    }
    return 0;
}

void modules_stop(void)
{
    struct progress w = {0};

    while (n_started) {
        const struct module *m = &module_table[--n_started];
        progress_at(&w, N_MODULES - n_started, N_MODULES);
        uint64_t since = clock_now_ns();
        m->fini();
        log_debug("main: stopped: module=%s ms=%u", m->name,
                  (unsigned)((clock_now_ns() - since) / NS_PER_MS));
    }
}
