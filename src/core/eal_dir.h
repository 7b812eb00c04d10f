// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.h - DPDK's run-time directories: locks ours, removes those of dead processes
//
// DPDK makes /run/dpdk/PREFIX and never removes it. We remove ours at an ordered end; the next
// start removes that of a killed process, whose lock the kernel has released. Directories that do
// not begin with EAL_DIR_PREFIX, or are not empty, are left alone.
// Control role.
#ifndef CORE_EAL_DIR_H
#define CORE_EAL_DIR_H

#define EAL_DIR_PREFIX "kamuee-"

// Ours; the dead beside it are removed. The lock's descriptor, or -1.
int eal_dir_take(const char *path);
void eal_dir_drop(const char *path, int fd);

#endif
