// SPDX-License-Identifier: BSD-3-Clause
// metrics_system.c - version, memory, packet buffers
#include <rte_mempool.h>
#include <rte_version.h>

#include "config/revision.h"
#include "core/process.h"
#include "http/http_stats.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "table/exchange.h"
#include "table/fib.h"

static void write_memory(struct metrics *m)
{
    struct process_regions all;

    process_regions(&all);
    metric_family(m, METRIC_GAUGE, "memory_reserved_bytes", "bytes",
                  "Virtual memory reserved for the region; uses no memory until touched.");
    vec_foreach (&all.item, r)
        metric_u64(m, r->bytes, "region", r->name, "pages", r->pages, NULL);
    metric_family(m, METRIC_GAUGE, "memory_used_bytes", "bytes",
                  "Memory of the region in use (resident).");
    vec_foreach (&all.item, r)
        metric_u64(m, r->used, "region", r->name, "pages", r->pages, NULL);
    vec_free(&all.item);
}

static void write_free(struct rte_mempool *pool, void *metrics)
{
    metric_u64(metrics, rte_mempool_avail_count(pool), "pool", pool->name, NULL);
}

static void write_size(struct rte_mempool *pool, void *metrics)
{
    metric_u64(metrics, pool->size, "pool", pool->name, NULL);
}

static void write_buffers(struct metrics *m)
{
    if (!exchange_pool) // nor any other
        return;
    metric_family(m, METRIC_GAUGE, "buffers_free", "", "Free packet buffers in the pool.");
    rte_mempool_walk(write_free, m);
    metric_family(m, METRIC_GAUGE, "buffers", "", "Packet buffers in the pool.");
    rte_mempool_walk(write_size, m);
}

static void write_revision(struct metrics *m)
{
    const struct revision *r = revision_at(0);

    if (!r)
        return;
    metric_family(m, METRIC_GAUGE, "configuration_revision", "",
                  "Number of the latest configuration revision.");
    metric_u64(m, r->id, NULL);
    metric_family(m, METRIC_GAUGE, "configuration_revision_time_seconds", "seconds",
                  "Time of the latest commit, in seconds since 1970.");
    metric_real(m, (double)r->time_ns / 1e9, NULL);
    metric_family(m, METRIC_GAUGE, "configuration_confirmed", "",
                  "0: the latest commit is undone unless it is confirmed.");
    metric_u64(m, r->confirmed, NULL);
}

static void write_api(struct metrics *m)
{
    const struct http_stats *s = http_stats();

    metric_family(m, METRIC_GAUGE, "api_connections", "",
                  "Open connections to the management interface.");
    metric_u64(m, s->connections, NULL);
    metric_family(m, METRIC_GAUGE, "api_body_bytes", "bytes",
                  "Body bytes of requests not yet answered.");
    metric_u64(m, s->body_bytes, NULL);
    metric_family(m, METRIC_COUNTER, "api_refusals", "",
                  "Requests refused and connections closed before any processing.");
    for (unsigned i = 0; i < REFUSED_N; i++)
        metric_u64(m, s->refused[i], "reason", http_refusal_name[i], NULL);
}

void metrics_system(struct metrics *m)
{
    metric_family(m, METRIC_INFO, "build", "",
                  "Version of kamueed, of DPDK, and the FIB lookup code in use.");
    metric_u64(m, 1, "version", KAMUEE_VERSION, "dpdk_version", rte_version(), "lookup_kernel",
               fib_kernel_name(), NULL);
    metric_family(m, METRIC_GAUGE, "uptime_seconds", "seconds", "Time since kamueed started.");
    metric_u64(m, process_uptime(), NULL);
    metric_family(m, METRIC_GAUGE, "resident_bytes", "bytes", "Resident memory of the process.");
    metric_u64(m, process_resident(), NULL);
    write_memory(m);
    write_buffers(m);
    write_revision(m);
    write_api(m);
}
