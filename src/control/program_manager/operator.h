// SPDX-License-Identifier: BSD-3-Clause
// operator.h - the operator's BPF objects: checked in a separate process, then loaded
//
// DPDK's checks walk every path through a program and parse arbitrary ELF files; on some files they
// never end or crash. So kamuee-bpf-check, which has nothing to lose, runs them first. kamueed
// repeats them on the same bytes only after they succeeded there.
#ifndef PROGRAM_MANAGER_OPERATOR_H
#define PROGRAM_MANAGER_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

struct rte_bpf;

#define OPERATOR_CHECK_S 2          // of CPU time; plus one of wall-clock time
#define OPERATOR_CHECK_UNCONFINED 120 // exit status; less: DPDK's error, 0 = none

#define OPERATOR_PACKET "kamuee_packet" // section names used by KAMUEE_EXPORT
#define OPERATOR_PREPARE "kamuee_prepare"

// Loads the function in that section of the ELF file `fd`. Returns NULL with rte_errno on failure.
struct rte_bpf *operator_load(int fd, const char *section);
// Finds the bytes of a section in an ELF file of this machine's byte order. Returns NULL if the
// section is missing or the file is not such an ELF file. The file is not trusted.
const char *operator_section(const uint8_t *file, size_t size, const char *name, size_t *bytes);

// kamueed, control: lets kamuee-bpf-check examine the bytes of the file, which must not change any
// more. Does nothing without a starter (benchmarks). Returns 0, or -errno with a message in `err`.
int operator_check(int fd, const char *file, char *err, size_t err_size);
int operator_refuse(const char *file, int why, char *err, size_t err_size); // reports DPDK's error

#endif
