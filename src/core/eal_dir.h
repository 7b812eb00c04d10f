// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.h - locks our DPDK run-time directory and removes dead processes' directories
//
// DPDK creates /run/dpdk/PREFIX and never removes it. We remove ours on a clean exit. The next
// start removes the directory of a killed process, whose lock the kernel has released. It ignores
// directories that do not begin with EAL_DIR_PREFIX or are not empty. Control role.
#ifndef CORE_EAL_DIR_H
#define CORE_EAL_DIR_H

#define EAL_DIR_PREFIX "kamuee-"

// Locks ours and removes dead processes' directories beside it. Returns the descriptor or -1.
int eal_dir_take(const char *path);
void eal_dir_drop(const char *path, int fd);

#endif
