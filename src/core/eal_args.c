// SPDX-License-Identifier: BSD-3-Clause
// eal_args.c - chooses DPDK's arguments
//
//     memory   as configured, else 1/16 of the RAM, within 128..1024 MiB
//     pages    huge pages if enough are free and they are not forbidden: --in-memory, which leaves
//              no files behind, and --single-file-segments, because virtio-user passes at most
//              8 files, and every page would be one. Otherwise --no-huge, which DPDK refuses to
//              combine with these
//     PCI      the allow list has one address that no machine has: the bus scans but probes nothing
//              at start, and rte_dev_probe() can still attach any device later. --no-pci without a
//              bus
//     cores    only the main lcore, floating over all our cores: forwarders are threads of ours
//              that register themselves, which needs --no-shconf (no secondary processes)
#include "core/eal_args.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/cpu.h"
#include "core/thread.h"

#define MEMORY_MIN_MIB 64
#define PCI_NOWHERE "ffff:ff:1f.7"

#define SIMD "--force-max-simd-bitwidth="

// Do the operator's arguments include one that begins with `option`?
static bool asked_for(const struct eal_config *cfg, const char *option)
{
    for (const char *const *x = cfg->extra; x && *x; x++)
        if (!strncmp(*x, option, strlen(option)))
            return true;
    return false;
}

__attribute__((format(printf, 2, 3))) static void add_arg(struct eal_args *a, const char *fmt, ...)
{
    va_list ap;

    if (a->argc >= EAL_ARGS_MAX) {
        a->argc = EAL_ARGS_MAX + 1; // eal_args_choose returns -E2BIG
        return;
    }
    va_start(ap, fmt);
    vsnprintf(a->text[a->argc], sizeof a->text[0], fmt, ap);
    va_end(ap);
    a->argv[a->argc] = a->text[a->argc];
    a->argc++;
}

static unsigned memory_default(unsigned ram_mib)
{
    unsigned mib = ram_mib / 16;

    return mib < 128 ? 128 : mib > 1024 ? 1024 : mib;
}

int eal_args_choose(const struct eal_config *cfg, const struct eal_machine *m, struct eal_args *a,
                    char *err, size_t err_size)
{
    memset(a, 0, sizeof *a);
    a->memory_mib = cfg->memory_mib ? cfg->memory_mib : memory_default(m->ram_mib);
    if (a->memory_mib < MEMORY_MIN_MIB) {
        snprintf(err, err_size, "memory of %u MiB is too small: set memory to %u MiB or more",
                 a->memory_mib, MEMORY_MIN_MIB);
        return -EINVAL;
    }
    a->huge = !cfg->no_huge && m->huge_free_mib >= a->memory_mib;
    if (!a->huge && a->memory_mib > m->ram_mib) {
        snprintf(err, err_size,
                 "memory of %u MiB is more than this machine has (%u MiB): set memory to less",
                 a->memory_mib, m->ram_mib);
        return -ENOMEM;
    }
    add_arg(a, "kamueed");
    add_arg(a, "--lcores=0@(%s)", m->cpus);
    add_arg(a, "-m");
    add_arg(a, "%u", a->memory_mib);
    add_arg(a, "--file-prefix=" EAL_DIR_PREFIX "%s", cfg->name);
    if (a->huge) {
        add_arg(a, "--in-memory");
        add_arg(a, "--single-file-segments");
    } else {
        add_arg(a, "--no-huge");
        add_arg(a, "--no-shconf");
    }
    add_arg(a, "--no-telemetry");
    if (!asked_for(cfg, SIMD)) // DPDK's default is 256 even if the CPU has more
        add_arg(a, SIMD "%u", m->simd_bits);
    add_arg(a, "--log-level=%d", m->log_level);
    if (m->has_pci) {
        add_arg(a, "-a");
        add_arg(a, PCI_NOWHERE);
    } else {
        add_arg(a, "--no-pci");
    }
    for (const char *const *x = cfg->extra; x && *x; x++)
        add_arg(a, "%s", *x);
    if (a->argc > EAL_ARGS_MAX) {
        snprintf(err, err_size, "too many extra DPDK arguments: at most %d in all", EAL_ARGS_MAX);
        return -E2BIG;
    }
    return 0;
}

static unsigned huge_free_mib(void)
{
    DIR *d = opendir("/sys/kernel/mm/hugepages");
    unsigned long kib_all = 0;

    for (struct dirent *e; d && (e = readdir(d));) {
        unsigned long kib, n;
        char path[320];
        if (sscanf(e->d_name, "hugepages-%lukB", &kib) != 1)
            continue;
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/%s/free_hugepages", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%lu", &n) == 1)
            kib_all += kib * n;
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return (unsigned)(kib_all / 1024);
}

void eal_machine_read(struct eal_machine *m)
{
    struct sysinfo si;
    struct stat st;
    size_t n = 0;

    memset(m, 0, sizeof *m);
    if (!sysinfo(&si))
        m->ram_mib = (unsigned)((uint64_t)si.totalram * si.mem_unit >> 20);
    m->huge_free_mib = huge_free_mib();
    m->has_pci = !stat("/sys/bus/pci/devices", &st);
    m->log_level = 5; // log level: warnings
    m->simd_bits = cpu_simd_bits();
    for (int cpu = 0; cpu < 1024 && n < sizeof m->cpus - 8; cpu++)
        if (thread_core_exists(cpu))
            n += (size_t)snprintf(m->cpus + n, sizeof m->cpus - n, "%s%d", n ? "," : "", cpu);
}
