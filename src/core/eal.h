// SPDX-License-Identifier: BSD-3-Clause
// eal.h - starting DPDK's environment
//
// Decides about memory (huge pages when the machine has enough of them, ordinary pages otherwise,
// and the log says which), about PCI (no device is probed at start: ports attach them one by one),
// and about the file prefix (several kamueeds may run on one machine). Control role.
#ifndef CORE_EAL_H
#define CORE_EAL_H

#include <stdbool.h>
#include <stddef.h>

struct eal_config {
    const char *name;      // unique per process on this machine: the file prefix
    unsigned memory_mib;   // DPDK memory; 0 = chosen from the machine
    bool no_huge;          // never use huge pages
    const char *const *extra; // further EAL arguments, NULL-terminated, or NULL
};

// 0, or -errno with a sentence in `err` that names the remedy.
int eal_init(const struct eal_config *cfg, char *err, size_t err_size);
void eal_fini(void);
void eal_leave(void); // the process ends at once: only the run-time directory goes
bool eal_has_hugepages(void);
unsigned eal_memory_mib(void);

// The first error DPDK logged since eal_complaint_clear(), the first warning where there was none,
// or "": often the only reason a driver gives.
const char *eal_complaint(void);
void eal_complaint_clear(void);

#endif
