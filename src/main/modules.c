// SPDX-License-Identifier: BSD-3-Clause
// modules.c - what kamueed is made of, in the order of starting
//
// One explicit list and no constructors: a module may use only what stands
// above it, and stops before it. Configuration is applied last (mgmt), so that no port
// exists before everything that serves it.
#include "main/modules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "core/eal.h"
#include "core/mailbox.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "export/export.h"
#include "feature/explain.h"
#include "forwarder/forwarder.h"
#include "server/mgmt.h"
#include "port/iface_manager.h"
#include "port/port_manager.h"
#include "port/tap_manager.h"
#include "port/tap_sysctl.h"
#include "port/thread_manager.h"
#include "port/vr_manager.h"
#include "rib/rib_manager.h"
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
#include "table/port.h"
#include "table/vr.h"

// Buffers for injected frames and ICMP errors: 20 MB, or 10 where memory is short. Frames larger
// than one buffer are chained.
#define EXCHANGE_BUFFERS(memory_mib)                                                               \
    ((memory_mib) >= 512 ? 32767 : (memory_mib) >= 256 ? 16383 : (memory_mib) >= 128 ? 8191 : 4095)
#define EXCHANGE_DATA_ROOM (2048 + RTE_PKTMBUF_HEADROOM)

static int start_rcu(const struct start *s, char *err, size_t n)
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

static int start_eal(const struct start *s, char *err, size_t n)
{
    char name[32];

    // The same for each start, so that a killed one leaves nothing behind that the next does not
    // use; the lock of the run directory keeps two from having it.
    char path[PATH_MAX];
    const char *dir = realpath(s->run_dir, path) ? path : s->run_dir;
    snprintf(name, sizeof name, "%016lx", hash_bytes(dir, strlen(dir), 0));
    return eal_init(
        &(struct eal_config){.name = name, .memory_mib = s->memory_mib, .no_huge = s->no_huge}, err,
        n);
}

static int start_tables(const struct start *s, char *err, size_t n)
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
    rcu_barrier(); // nothing retired is outstanding
    acl_log_fini();
    acl_table_fini();
    plan_fini();
    vr_table_fini();
    latency_fini();
    nexthop_count_fini();
    multicast_fini();
    nexthop_table_fini();
    iface_table_fini();
    port_table_fini();
    counter_fini();
}

static int start_exchange(const struct start *s, char *err, size_t n)
{
    int r = exchange_init(EXCHANGE_BUFFERS(eal_memory_mib()), EXCHANGE_DATA_ROOM);

    if (r)
        snprintf(err, n, "no memory for packet buffers (%s): set memory to more than %u MiB",
                 strerror(-r), eal_memory_mib());
    return r;
}

static int start_mailbox(const struct start *s, char *err, size_t n)
{
    return mailbox_open(s->loop);
}

static int start_threads(const struct start *s, char *err, size_t n)
{
    thread_manager_set_forwarder(forwarder_main);
    return thread_manager_init();
}

static int start_tap(const struct start *s, char *err, size_t n)
{
    return tap_manager_start();
}

static int start_rib(const struct start *s, char *err, size_t n)
{
    return rib_manager_start();
}

static int start_acl(const struct start *s, char *err, size_t n)
{
    return acl_manager_start();
}

static int start_vr(const struct start *s, char *err, size_t n)
{
    return vr_manager_init();
}

static int start_iface(const struct start *s, char *err, size_t n)
{
    char path[512];

    snprintf(path, sizeof path, "%s/taps", s->run_dir);
    return iface_manager_init(path);
}

static int start_sysctl(const struct start *s, char *err, size_t n)
{
    return tap_sysctl_init(s->loop);
}

static int start_port(const struct start *s, char *err, size_t n)
{
    return port_manager_init(s->loop);
}

static int start_export(const struct start *s, char *err, size_t n)
{
    return export_start(s->loop);
}

static int start_explain(const struct start *s, char *err, size_t n)
{
    explain_set_dry_run(forwarder_explain);
    return 0;
}

static int start_mgmt(const struct start *s, char *err, size_t n)
{
    int r = mgmt_start(s->loop, s->run_dir, err, n);

    if (!r)
        iface_manager_started();
    return r;
}

static const struct module {
    const char *name;
    int (*init)(const struct start *s, char *err, size_t n);
    void (*fini)(void);
} modules[] = {
    {"rcu", start_rcu, stop_rcu},
    {"eal", start_eal, eal_fini},
    {"tables", start_tables, stop_tables},
    {"exchange", start_exchange, exchange_fini},
    {"mailbox", start_mailbox, mailbox_close},
    {"thread_manager", start_threads, thread_manager_fini},
    {"tap_manager", start_tap, tap_manager_stop},
    {"rib_manager", start_rib, rib_manager_stop},
    {"acl_manager", start_acl, acl_manager_stop},
    {"vr_manager", start_vr, vr_manager_fini},
    {"iface_manager", start_iface, iface_manager_fini},
    {"tap_sysctl", start_sysctl, tap_sysctl_fini},
    {"port_manager", start_port, port_manager_fini},
    {"export", start_export, export_stop},
    {"explain", start_explain, forwarder_explain_fini},
    {"mgmt", start_mgmt, mgmt_stop},
};

#define N_MODULES (sizeof modules / sizeof *modules)
static unsigned n_started;

int modules_start(const struct start *s, char *err, size_t err_size)
{
    struct progress w = {0};

    for (; n_started < N_MODULES; n_started++) {
        const struct module *m = &modules[n_started];
        progress_at(&w, n_started + 1, N_MODULES);
        char why[480] = "";
        uint64_t since = clock_now_ns();
        int r = m->init(s, why, sizeof why);
        if (r) {
            snprintf(err, err_size, "%s: %s", m->name, why[0] ? why : strerror(-r));
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
        const struct module *m = &modules[--n_started];
        progress_at(&w, N_MODULES - n_started, N_MODULES);
        uint64_t since = clock_now_ns();
        m->fini();
        log_debug("main: stopped: module=%s ms=%u", m->name,
                  (unsigned)((clock_now_ns() - since) / NS_PER_MS));
    }
}
