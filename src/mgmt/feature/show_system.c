// SPDX-License-Identifier: BSD-3-Clause
// show_system.c - version, process and memory
#include <rte_version.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/eal.h"
#include "core/process.h"
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/fib.h"

static void write_regions(struct jwrite *j)
{
    struct process_regions all;

    process_regions(&all);
    jwrite_begin(j, "region", '[');
    vec_foreach (&all.item, r) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", r->name);
        jwrite_u64(j, "bytes", r->bytes);
        jwrite_u64(j, "used", r->used);
        jwrite_string(j, "pages", r->pages);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    vec_free(&all.item);
}

static void write_audits(struct jwrite *j)
{
    uint64_t last_ns = __atomic_load_n(&rib_audit_totals.last_ns, __ATOMIC_RELAXED);

    jwrite_u64(j, "audits", __atomic_load_n(&rib_audit_totals.runs, __ATOMIC_RELAXED));
    if (last_ns)
        jwrite_u64(j, "last-audit", (clock_now_ns() - last_ns) / NS_PER_SECOND);
    jwrite_u64(j, "fib-divergence",
               __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED));
}

int show_system(struct show *s)
{
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "version", KAMUEE_VERSION);
    jwrite_string(j, "dpdk-version", rte_version());
    jwrite_int(j, "pid", getpid());
    jwrite_u64(j, "uptime", process_uptime());
    jwrite_int(j, "memory", eal_memory_mib());
    jwrite_string(j, "pages", eal_has_hugepages() ? "huge" : "ordinary");
    jwrite_u64(j, "rss", process_resident());
    jwrite_string(j, "lookup-kernel", fib_kernel_name());
    write_audits(j);
    write_regions(j);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
