// SPDX-License-Identifier: BSD-3-Clause
// system.c - the process: version, memory, packet buffers, and its stop
//
// DPDK reads memory and huge pages once, so a commit that changes them takes effect with the next
// start. The log level and netlink's receive buffer apply at once.
#include <limits.h>
#include <rte_mempool.h>
#include <rte_version.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "core/crash.h"
#include "core/eal.h"
#include "core/process.h"
#include "feature/drain.h"
#include "http/http.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/exchange.h"
#include "table/fib.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

static void read_system(struct model *m, const struct lyd_node *tree, const struct model *known,
                        struct errors *e)
{
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};
    struct model_system *s = m->part[FEATURE_system];
    const char *pages = config_value(tree, "huge-pages");
    int level = leaf_word(tree, "log-level", levels, 5);

    s->memory_mib = (unsigned)leaf_number(tree, "memory", 0);
    s->no_huge = pages && !strcmp(pages, "never");
    s->log_level = level < 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR + level;
    s->receive_buffer = (uint32_t)leaf_number(leaf_inside(tree, NULL, "netlink"), "receive-buffer",
                                              268435456);
}

static void check_memory(const struct model *from, const struct model *to, struct errors *e)
{
    unsigned long all = host_memory_mib("MemTotal:");
    unsigned wanted = model_system(to)->memory_mib;

    if (all && wanted > all && wanted != model_system(from)->memory_mib)
        errors_add(e, 0, "'memory' is '%u', expected at most %lu (MiB), the host's memory", wanted,
                   all);
}

static int set_log_level(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    log_set_level(*(const int *)to);
    return 0;
}

static int set_receive_buffer(const struct step *s, const void *from, const void *to, char *err,
                              size_t n)
{
    rib_manager_set_receive_buffer(*(const uint32_t *)to);
    return 0;
}

static const struct feature_config system_config = {
    .part_size = sizeof(struct model_system),
    .read = read_system,
    .check_host = check_memory,
    .values =
        (const struct feature_value[]){
            {PHASE_SETTINGS, {"", set_log_level}, PART_VALUE(struct model_system, log_level)},
            {PHASE_SETTINGS,
             {"", set_receive_buffer},
             PART_VALUE(struct model_system, receive_buffer),
             .begins = true},
            {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column region_columns[] = {
    COLUMN(struct mem_region, name, "name"),
    GAUGE(struct mem_region, bytes, "bytes", "bytes",
          "Virtual memory reserved for the region; uses no memory until touched.",
          .family = "memory_reserved_bytes"),
    GAUGE(struct mem_region, used, "used", "bytes", "Memory of the region in use (resident).",
          .family = "memory_used_bytes"),
    COLUMN(struct mem_region, pages, "pages"),
    {0}};

static void write_region_states(struct jwrite *j)
{
    struct process_regions all;

    process_regions(&all);
    jwrite_begin(j, "region", '[');
    vec_foreach (&all.item, r)
        columns_object(j, NULL, region_columns, r);
    jwrite_end(j, ']');
    vec_free(&all.item);
}

static void write_audit_totals(struct jwrite *j)
{
    uint64_t last_ns = __atomic_load_n(&rib_audit_totals.last_ns, __ATOMIC_RELAXED);

    jwrite_u64(j, "audits", __atomic_load_n(&rib_audit_totals.runs, __ATOMIC_RELAXED));
    if (last_ns)
        jwrite_u64(j, "last-audit", (clock_now_ns() - last_ns) / NS_PER_SECOND);
    jwrite_u64(j, "fib-divergence",
               __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED));
}

static void write_name(struct jwrite *j)
{
    const char *given = getenv("KAMUEE_NAME"); // several routers of a lab share one host
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof host - 1);
    jwrite_string_any(j, "name", given && *given ? given : host);
}

static void write_system(struct jwrite *j)
{
    write_name(j);
    jwrite_string(j, "version", kamuee_version);
    if (*kamuee_commit)
        jwrite_string(j, "commit", kamuee_commit);
    jwrite_string(j, "build", kamuee_build);
    jwrite_string(j, "dpdk-version", rte_version());
    jwrite_string(j, "libyang-version", kamuee_libyang);
    jwrite_int(j, "pid", getpid());
    jwrite_u64(j, "uptime", process_uptime());
    jwrite_string_any(j, "build-id", crash_build_id());
    jwrite_bool(j, "draining", drain_runs());
    jwrite_int(j, "memory", eal_memory_mib());
    jwrite_string(j, "pages", eal_has_hugepages() ? "huge" : "ordinary");
    jwrite_u64(j, "rss", process_resident());
    jwrite_string(j, "lookup-kernel", fib_kernel_name());
    write_audit_totals(j);
    write_region_states(j);
}

static void write_memory_families(struct metrics *m)
{
    struct process_regions all;

    process_regions(&all);
    for (const struct column *c = region_columns; (c = column_family(m, "", c)); c++)
        vec_foreach (&all.item, r)
            column_metric(m, c, r, "region", r->name, "pages", r->pages, NULL);
    vec_free(&all.item);
}

static void write_pool_free(struct rte_mempool *pool, void *metrics)
{
    metric_u64(metrics, rte_mempool_avail_count(pool), "pool", pool->name, NULL);
}

static void write_pool_size(struct rte_mempool *pool, void *metrics)
{
    metric_u64(metrics, pool->size, "pool", pool->name, NULL);
}

static void write_buffer_families(struct metrics *m)
{
    if (!exchange_pool) // then no pool exists
        return;
    metric_family(m, METRIC_GAUGE, "buffers_free", "", "Free packet buffers in the pool.");
    rte_mempool_walk(write_pool_free, m);
    metric_family(m, METRIC_GAUGE, "buffers", "", "Packet buffers in the pool.");
    rte_mempool_walk(write_pool_size, m);
}

static void write_system_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_INFO, "build", "",
                  "Version of kamueed, its commit, of DPDK, and the FIB lookup code in use.");
    metric_u64(m, 1, "version", kamuee_version, "commit", kamuee_commit, "dpdk_version",
               rte_version(), "lookup_kernel", fib_kernel_name(), NULL);
    metric_family(m, METRIC_GAUGE, "uptime_seconds", "seconds", "Time since kamueed started.");
    metric_u64(m, process_uptime(), NULL);
    metric_family(m, METRIC_GAUGE, "resident_bytes", "bytes", "Resident memory of the process.");
    metric_u64(m, process_resident(), NULL);
    write_memory_families(m);
    write_buffer_families(m);
}

static void stop_now(void)
{
    kill(getpid(), SIGTERM); // as systemd does
}

static void run_shutdown(struct http *h, const struct lyd_node *op)
{
    log_notice("main: shutdown: by=%s", LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
    http_after(100, stop_now);
}

const struct feature system_feature = {
    "system",
    .config = &system_config,
    .state = (const struct feature_state[]){{"system", .object = write_system}, {0}},
    .operations = (const struct feature_operation[]){{"shutdown", .run = run_shutdown}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_system_metrics},
};
