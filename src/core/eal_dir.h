// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.h - DPDK's run-time directories: ours is locked while we live, those of dead ones removed
//
// DPDK makes /run/dpdk/PREFIX and never removes it. A program that ends in order removes its own;
// that of a killed one is removed by the next one that starts. The kernel releases the lock when
// its owner ends. Directories that do not begin with EAL_DIR_PREFIX, or are not empty, are left
// alone. Control.
#ifndef CORE_EAL_DIR_H
#define CORE_EAL_DIR_H

#define EAL_DIR_PREFIX "kamuee-"

// Ours; the dead beside it are removed. The lock's descriptor, or -1.
int eal_dir_take(const char *path);
void eal_dir_drop(const char *path, int fd);

#endif
