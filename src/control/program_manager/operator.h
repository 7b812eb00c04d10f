// SPDX-License-Identifier: BSD-3-Clause
// operator.h - BPF objects of the operator: checked in a process of their own, then loaded
//
// DPDK's checks walk every way through a program, and read whatever ELF file there is: on some file
// they take for ever, or crash. So kamuee-bpf-check makes them first, with nothing to lose; kamueed
// makes the same ones about the same bytes only when they have ended well there.
#ifndef PROGRAM_MANAGER_OPERATOR_H
#define PROGRAM_MANAGER_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

struct rte_bpf;

#define OPERATOR_CHECK_S 2          // of processor time, and one more of the clock's
#define OPERATOR_CHECK_UNCONFINED 120 // exit status; less: DPDK's error, 0 = none

#define OPERATOR_PACKET "kamuee_packet" // sections, of KAMUEE_EXPORT
#define OPERATOR_PREPARE "kamuee_prepare"

// The function in that section of the ELF file `fd`. NULL with rte_errno.
struct rte_bpf *operator_load(int fd, const char *section);
// A section's bytes in an ELF file of this machine's byte order; NULL: it has none, or is no such
// file. The file may be anything.
const char *operator_section(const uint8_t *file, size_t size, const char *name, size_t *bytes);

// kamueed, control: has kamuee-bpf-check look at the file's bytes, which nobody changes any more.
// Without a starter (benchmarks) nothing is done. 0; -errno with a sentence.
int operator_check(int fd, const char *file, char *err, size_t err_size);
int operator_refuse(const char *file, int why, char *err, size_t err_size); // DPDK's error

#endif
