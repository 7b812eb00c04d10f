// SPDX-License-Identifier: BSD-3-Clause
// eal_args.h - chooses DPDK's arguments: a pure function of the configuration and the machine
//
// Separate from eal.c so that tests need not start DPDK, which a process can do only once. Any
// thread; no state.
#ifndef CORE_EAL_ARGS_H
#define CORE_EAL_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/eal.h"

struct eal_machine {
    unsigned ram_mib;       // MemTotal
    unsigned huge_free_mib; // free huge pages of all sizes
    bool has_pci;           // /sys/bus/pci exists
    unsigned simd_bits;     // cpu_simd_bits()
    int log_level;          // DPDK's: 1 emergency … 8 debug
    char cpus[1024];        // cores that the process may use, as "0,1,5": control floats over them
};

#define EAL_ARGS_MAX 32

struct eal_args {
    int argc;
    char *argv[EAL_ARGS_MAX + 1]; // NULL-terminated, into `text` and the config's `extra`
    char text[EAL_ARGS_MAX][1100];
    bool huge;           // uses huge pages
    unsigned memory_mib; // chosen
};

// 0, or -ENOMEM / -EINVAL / -E2BIG with a sentence that includes the remedy.
int eal_args_choose(const struct eal_config *cfg, const struct eal_machine *m, struct eal_args *a,
                    char *err, size_t err_size);
void eal_machine_read(struct eal_machine *m);

// eal_dir.c: locks our DPDK run-time directory and removes dead processes' directories. DPDK
// creates /run/dpdk/PREFIX and never removes it. We remove ours on a clean exit. The next start
// removes the directory of a killed process, whose lock the kernel has released. It ignores
// directories that do not begin with EAL_DIR_PREFIX or are not empty. Control role.
#define EAL_DIR_PREFIX "kamuee-"

// Locks ours and removes dead processes' directories beside it. Returns the descriptor or -1.
int eal_dir_take(const char *path);
void eal_dir_drop(const char *path, int fd);

#endif
