// SPDX-License-Identifier: BSD-3-Clause
// show_system.c - version, process and memory
#include <rte_version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "core/eal.h"
#include "core/mem.h"
#include "manager/rib_manager.h"
#include "mgmt/show.h"
#include "table/fib.h"

// Resident memory in bytes, 0 when /proc does not say.
static uint64_t resident(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return 0;
    if (fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// Seconds since the process started: field 22 of /proc/self/stat is its start in clock ticks since
// boot.
static uint64_t uptime(void)
{
    char line[1024], *p;
    unsigned long long start = 0;
    struct timespec now;
    FILE *f = fopen("/proc/self/stat", "re");

    if (f && fgets(line, sizeof line, f) && (p = strrchr(line, ')')))
        sscanf(p + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &start);
    if (f)
        fclose(f);
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t since = start / (uint64_t)sysconf(_SC_CLK_TCK);
    return start && (uint64_t)now.tv_sec > since ? (uint64_t)now.tv_sec - since : 0;
}

// Several tables may each have a region of one name (a FIB per virtual router and family): shown as
// one, added up.
struct regions {
    VEC(struct mem_region) item;
};

static void add_region(void *ctx, const struct mem_region *r)
{
    struct regions *all = ctx;

    vec_foreach (&all->item, have) {
        if (strcmp(have->name, r->name))
            continue;
        have->bytes += r->bytes;
        have->used += r->used;
        if (strcmp(have->pages, r->pages))
            have->pages = "mixed";
        return;
    }
    *vec_push(&all->item) = *r;
}

static void write_regions(struct jwrite *j)
{
    struct regions all = {0};

    mem_walk(add_region, &all);
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
    jwrite_u64(j, "fib-divergence", __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED));
}

int show_system(struct show *s)
{
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "version", KAMUEE_VERSION);
    jwrite_string(j, "dpdk-version", rte_version());
    jwrite_int(j, "pid", getpid());
    jwrite_u64(j, "uptime", uptime());
    jwrite_int(j, "memory", eal_memory_mib());
    jwrite_string(j, "pages", eal_has_hugepages() ? "huge" : "ordinary");
    jwrite_u64(j, "rss", resident());
    jwrite_string(j, "lookup-kernel", fib_kernel_name());
    write_audits(j);
    write_regions(j);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
