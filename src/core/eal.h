// SPDX-License-Identifier: BSD-3-Clause
// eal.h - starts DPDK's environment
//
// Decides on memory (huge pages if the machine has enough of them, else ordinary pages; the log
// says which), PCI (no device is probed at start: ports attach them one by one) and the file prefix
// (several kamueeds may run on one machine). Control role.
#ifndef CORE_EAL_H
#define CORE_EAL_H

#include <stdbool.h>
#include <stddef.h>

struct eal_config {
    const char *name;      // unique per process on this machine: the file prefix
    unsigned memory_mib;   // DPDK memory; 0 = chosen for the machine
    bool no_huge;          // never use huge pages
    const char *const *extra; // further EAL arguments, NULL-terminated, or NULL
};

// 0, or -errno with a sentence in `err` that includes the remedy.
int eal_init(const struct eal_config *cfg, char *err, size_t err_size);
void eal_fini(void);
void eal_leave(void); // before an immediate exit: removes only the run-time directory
bool eal_has_hugepages(void);
unsigned eal_memory_mib(void);
bool eal_has_vfio(void); // was its kernel module loaded when DPDK started?

// The first error that DPDK logged since eal_complaint_clear(), or else the first warning, or "".
// Often the only reason that a driver gives.
const char *eal_complaint(void);
void eal_complaint_clear(void);

#endif
